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


class Chaos(LiveTest):
    def test_nothing_committed_is_lost_and_no_process_left(self):
        disturbances = int(os.environ.get("UKEMI_TORCH_CHAOS", "12"))
        # Work without end, which is told to stop.
        job = {**SCENARIO["job"], "samples": 600_000_000}
        market = {**SCENARIO["market"], "after_last_row": "hold"}
        self.write({**SCENARIO, "job": job, "market": market,
                    "policy_parameters": {"periodic_checkpoint": {"interval": "3 s"}},
                    "replay": ["follow_capacity+spot_only+periodic_checkpoint"]})  # fmt: skip
        (self.folder / "market.csv").write_text("# id=calm duration_s=100000\nt_s,instances\n0,3\n")
        (self.folder / "small.py").write_text(SCRIPT)
        process = self.start("--workers", "3", "--revocations", "scenario", "--out", "run")
        draw = random.Random(int(os.environ.get("UKEMI_TORCH_SEED", "1")))
        done = 0
        try:
            end = time.monotonic() + 60 + 20 * disturbances
            while done < disturbances and process.poll() is None and time.monotonic() < end:
                time.sleep(draw.uniform(0.0, 2.0))
                workers = alive_workers(self.folder)
                if not workers:
                    continue
                kind = signal.SIGKILL if draw.random() < 0.8 else signal.SIGSTOP
                try:
                    os.kill(draw.choice(workers), kind)
                    done += 1
                except ProcessLookupError:
                    pass
                # Somebody must win a step between, or the run gives up, and rightly.
                time.sleep(draw.uniform(2.0, 6.0))
            self.assertIsNone(process.poll(), "the run ended by itself")
            time.sleep(12)
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=120)
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
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
        print(f"{done} signals, {len(steps)} steps, {len(self.live('run')['incidents'])} incidents",
              file=sys.stderr)  # fmt: skip


if __name__ == "__main__":
    unittest.main()
