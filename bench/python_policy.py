"""What a question costs more where the policy is in Python: PYTHONPATH=… python3 bench/python_policy.py

The same rule twice, in C++ (spot_only) and in Python, on the same 400 markets, one thread; the best
of five, each way in turn, over more than 10^5 questions.
"""

import time

import ukemi


class SpotInPython(ukemi.Policy):
    """spot_only, word for word."""

    knobs = ("market",)
    asked = 0

    def before_train(self, view):
        return self.on_event("clock", view)

    def on_event(self, kind, view):
        SpotInPython.asked += 1
        seen = view.seen
        if seen.samples_done >= seen.samples_total:
            return ukemi.Decision(market="none", reason="done")
        if max(seen.spot_capacity, seen.spot_held) >= seen.workers_min:
            return ukemi.Decision(market="spot", reason="spot is there")
        return ukemi.Decision(market="none", reason="wait for spot")


def seconds_of(policy):
    begun = time.perf_counter()
    runs = ukemi.replay("demo", policies=policy, seeds="1..400", threads=1, details="none",
                        progress=False)  # fmt: skip
    return time.perf_counter() - begun, runs.event_hashes


ROUNDS = 5
pairs = [(seconds_of(SpotInPython), seconds_of("spot_only")) for _ in range(ROUNDS)]
assert all(mine[1] == theirs[1] for mine, theirs in pairs)
mine, theirs = (min(pair[way][0] for pair in pairs) for way in (0, 1))
questions = SpotInPython.asked // ROUNDS
print(f"{questions} questions: {mine:.3f} s in Python, {theirs:.3f} s in C++, "
      f"{(mine - theirs) / questions * 1e6:.2f} us more a question; equal event hashes")  # fmt: skip
