#!/usr/bin/env python3
"""What a question costs that a policy in Python answers, beside the same rule in C++.

    PYTHONPATH=build/release/python python3 bench/python_question.py [RUNS]

Replays one market with `spot_only` and with the same rule in Python, in turn, on one thread; the
runs are equal, event for event, so what is more is the questions'. Prints microseconds of processor time a question:
the median of the rounds, and their least and most. Never passes or fails by a time.
"""

import statistics
import sys
import time

import ukemi

ROUNDS = 7


class SpotOnly(ukemi.Policy):
    """spot_only in Python: the same looks, and a Decision made for each answer."""

    name = "spot_only_in_python"
    knobs = ("market",)
    asked = 0

    def before_train(self, view):
        return self.on_event("clock", view)

    def on_event(self, kind, view):
        seen = view.seen
        if seen.samples_done >= seen.samples_total:
            return ukemi.Decision(market="none", reason="done")
        if max(seen.spot_capacity, seen.spot_held) >= seen.workers_min:
            return ukemi.Decision(market="spot", reason="spot is there")
        return ukemi.Decision(market="none", reason="wait for spot")


class SpotOnlyKept(ukemi.Policy):
    """The same with Decisions that were made once."""

    name = "spot_only_with_kept_decisions"
    knobs = ("market",)
    done = ukemi.Decision(market="none", reason="done")
    spot = ukemi.Decision(market="spot", reason="spot is there")
    wait = ukemi.Decision(market="none", reason="wait for spot")

    def before_train(self, view):
        return self.on_event("clock", view)

    def on_event(self, kind, view):
        seen = view.seen
        if seen.samples_done >= seen.samples_total:
            return self.done
        there = max(seen.spot_capacity, seen.spot_held) >= seen.workers_min
        return self.spot if there else self.wait


class Counting(SpotOnly):
    name = "counting"

    def on_event(self, kind, view):
        Counting.asked += 1
        return super().on_event(kind, view)


def seconds(policy, runs):
    begun = time.process_time()
    made = ukemi.replay(
        "demo", policies=policy, seeds=range(1, runs + 1), threads=1, details="none", progress=False
    )
    return time.process_time() - begun, made.event_hashes


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    seconds(Counting, runs)
    questions = Counting.asked
    print(f"{runs} runs, {questions} questions, one thread")
    for policy in (SpotOnly, SpotOnlyKept):
        more = []
        for _ in range(ROUNDS):
            cpp_s, cpp = seconds("spot_only", runs)
            python_s, python = seconds(policy, runs)
            if cpp != python:
                sys.exit(f"{policy.name}: the runs differ")
            more.append((python_s - cpp_s) / questions * 1e6)
        print(
            f"{policy.name}: {statistics.median(more):.2f} us a question more than in C++ "
            f"({min(more):.2f} to {max(more):.2f} in {ROUNDS} rounds)"
        )


main()
