"""examples/fashion_mnist in a short form: few images, paced, so that the market has its say."""

import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from support import SOURCE, UKEMI
from test_torch_live import LiveTest

EXAMPLE = SOURCE / "examples" / "fashion_mnist"
IMAGES = Path("/usr/share/datasets/fashion-mnist")
PACED = "\n\nfast = loss\n\n\ndef loss(model, batch):\n    import time\n\n    time.sleep(0.04)\n"
PACED += "    return fast(model, batch)\n"


@unittest.skipUnless(IMAGES.is_dir(), "dataset-fashion-mnist is not installed")
class Example(LiveTest):
    def test_the_loss_is_that_of_an_undisturbed_run(self):
        for file in ("job.json", "market.csv", "compare.py"):
            shutil.copy(EXAMPLE / file, self.folder / file)
        (self.folder / "train.py").write_text((EXAMPLE / "train.py").read_text() + PACED)
        os.environ["IMAGES"] = "1200"
        self.addCleanup(os.environ.pop, "IMAGES")
        short = ["--workers", "4", "--time-scale", "150", "--set", "/job/samples=36000", "--set",
                 "/job/samples_per_epoch=1200", "--set", "/job/batch=60", "--set",
                 "/market/after_last_row=repeat"]  # fmt: skip
        self.train(*short, "--out", "calm")
        self.train(*short, "--revocations", "scenario", "--out", "taken")
        self.expect_equal_decisions("taken")
        said = subprocess.run(
            [sys.executable, "compare.py", "taken", "calm", "--loss", "loss.svg"], check=True,
            cwd=self.folder, stdout=subprocess.PIPE, text=True,
        ).stdout  # fmt: skip
        self.assertIn("samples: 36000 and 36000, each once an epoch", said)
        self.assertRegex(said, r"workers: \d+( -> \d+)+; ")
        self.assertIn("</svg>", (self.folder / "loss.svg").read_text())
        # A step is the mean over the same 60 samples, however many workers share them.
        calm = {row["step"]: float(row["loss"]) for row in self.steps("calm")}
        for row in self.steps("taken"):
            self.assertAlmostEqual(float(row["loss"]), calm[row["step"]], delta=0.05)
        self.assertLess(float(self.steps("taken")[-1]["loss"]), 1.0)

    def test_what_a_step_costs_beside_plain_training(self):
        said = subprocess.run(
            [sys.executable, "-m", "ukemi.torch.overhead", "--steps", "12", "--pairs", "2",
             "--command", UKEMI], check=True, cwd=self.folder, stdout=subprocess.PIPE, text=True,
        ).stdout  # fmt: skip
        self.assertIn("2 workers, batch 64, 2 pairs of runs of 12 steps", said)
        plain, own = (float(ms) for ms in re.findall(r"([\d.]+) ms", said))
        self.assertGreater(min(plain, own), 0)

    def test_who_asks_for_a_gpu_in_a_line(self):
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "UKEMI_DEVICE": "cuda"}
        for wanted, code, line in (
            ("cuda", 2, r"\Aukemi: UKEMI_DEVICE: PyTorch \S+ finds no GPU here\n\Z"),
            ("tpu", 2, r"\Aukemi: UKEMI_DEVICE: expected cpu or cuda, found tpu\n\Z"),
            ("cpu", 0, r"\APyTorch \S+: cpu; gradients by .*Gloo\n\Z"),
        ):
            environment["UKEMI_DEVICE"] = wanted
            ran = subprocess.run(
                [sys.executable, "-m", "ukemi.torch"], env=environment, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip
            self.assertEqual(ran.returncode, code)
            self.assertRegex(ran.stdout, line)

    def test_resnet20_trains_while_machines_are_taken(self):
        for file in ("job.json", "market.csv", "train.py", "resnet20.py"):
            shutil.copy(EXAMPLE / file, self.folder / file)
        os.environ.update(IMAGES="600", UKEMI_DEVICE="cpu")
        for name in ("IMAGES", "UKEMI_DEVICE"):
            self.addCleanup(os.environ.pop, name)
        self.train("--script", "resnet20.py", "--workers", "4", "--time-scale", "150",
                   "--revocations", "scenario", "--out", "taken", "--set", "/job/samples=6000",
                   "--set", "/job/samples_per_epoch=600", "--set", "/job/batch=60", "--set",
                   "/market/after_last_row=repeat")  # fmt: skip
        self.expect_equal_decisions("taken")
        for row in self.steps("taken"):
            self.assertEqual(int(row["samples"]), 60 * (int(row["step"]) + 1))
        self.assertEqual(int(self.steps("taken")[-1]["samples"]), 6000)


if __name__ == "__main__":
    unittest.main()
