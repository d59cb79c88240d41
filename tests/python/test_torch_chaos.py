"""Workers of a script are killed and stopped at random: nothing that is committed is lost.

UKEMI_TORCH_CHAOS is how many (12): ./dev python has time for those, a release for 200.
"""

import os
import random
import signal
import subprocess
import sys
import time
import unittest

from support import UKEMI
from test_torch_live import SCENARIO, LiveTest, alive_workers
from torch_rig import SCRIPT


# Each worker says after each batch that it has trained one.
TELLING = SCRIPT.replace(
    "    out =", "    import os; open(f'trained-{os.getpid()}', 'a').write('.')\n    out ="
)


class Chaos(LiveTest):
    def wait_until_all_train(self, process, workers):
        """Until each has trained since now. A run whose workers die and win nothing gives up."""
        end = time.monotonic() + 300
        before = {one: self.trained(one) for one in alive_workers(self.folder)}
        while process.poll() is None and time.monotonic() < end:
            alive = alive_workers(self.folder)
            if len(alive) == workers and all(
                self.trained(one) > before.get(one, 0) for one in alive
            ):
                return
            time.sleep(0.2)
        self.assertIsNone(process.poll(), "the run ended by itself")
        self.fail("the workers do not train again")

    def trained(self, worker):
        file = self.folder / f"trained-{worker}"
        return file.stat().st_size if file.exists() else 0

    def disturb(self, process, draw, disturbances):
        """Random signals to random workers, at most three before all train again."""
        counts = {signal.SIGKILL: 0, signal.SIGSTOP: 0}
        hasty = 0
        while sum(counts.values()) < disturbances and process.poll() is None:
            if hasty == 3 or draw.random() < 0.5:
                self.wait_until_all_train(process, 3)
                hasty = 0
            hasty += 1
            time.sleep(draw.uniform(0.0, 1.0))
            workers = alive_workers(self.folder)
            kind = signal.SIGKILL if draw.random() < 0.8 else signal.SIGSTOP
            try:
                os.kill(draw.choice(workers), kind)
                counts[kind] += 1
            except (ProcessLookupError, IndexError):
                continue
        return counts

    def test_nothing_committed_is_lost_and_no_process_left(self):
        disturbances = int(os.environ.get("UKEMI_TORCH_CHAOS", "12"))
        # Work without end, which is told to stop.
        job = {**SCENARIO["job"], "samples": 600_000_000}
        market = {**SCENARIO["market"], "after_last_row": "hold"}
        self.write({**SCENARIO, "job": job, "market": market,
                    "policy_parameters": {"periodic_checkpoint": {"interval": "3 s"}},
                    "replay": ["follow_capacity+spot_only+periodic_checkpoint"]})  # fmt: skip
        (self.folder / "market.csv").write_text("# id=calm duration_s=100000\nt_s,instances\n0,3\n")
        (self.folder / "small.py").write_text(TELLING)
        process = self.start("--workers", "3", "--revocations", "scenario", "--out", "run")
        draw = random.Random(int(os.environ.get("UKEMI_TORCH_SEED", "1")))
        begun = time.monotonic()
        try:
            counts = self.disturb(process, draw, disturbances)
            if process.poll() is None:
                self.wait_until_all_train(process, 3)
                process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=120)
        except BaseException:
            process.kill()
            print(*process.communicate(), file=sys.stderr)
            raise
        done = sum(counts.values())
        self.assertIn("told to stop", err)
        self.assertEqual(done, disturbances)
        self.assertEqual(alive_workers(self.folder), [], out + err)
        steps = self.steps("run")
        self.assertGreater(len(steps), 0, err)
        for row in steps:
            self.assertEqual(int(row["samples"]), 60 * (int(row["step"]) + 1))
        # One after the other, but where all were lost and a checkpoint was the last that there was.
        numbers = [int(row["step"]) for row in steps]
        for before, after in zip(numbers, numbers[1:]):
            self.assertLessEqual(after, before + 1)
        self.assertEqual(set(numbers), set(range(max(numbers) + 1)))
        self.expect_equal_decisions("run")
        left = [one.name for one in (self.folder / "run-checkpoints").glob("*.tmp-*")]
        self.assertEqual(left, [])
        live = self.live("run")
        print(f"{counts[signal.SIGKILL]} SIGKILL and {counts[signal.SIGSTOP]} SIGSTOP in "
              f"{time.monotonic() - begun:.0f} s, {len(steps)} steps, {live['torn_steps']} torn, "
              f"{len(live['incidents'])} incidents", file=sys.stderr)  # fmt: skip


if __name__ == "__main__":
    unittest.main()
