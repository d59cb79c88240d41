"""`ukemi train --script`: PyTorch under a scenario's policies, as the user types it."""

import csv
import ctypes
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from support import UKEMI, ScratchTest
from torch_rig import SCRIPT, Rig

from ukemi.torch.group import Group, PeersFailed

SCENARIO = {
    "name": "torch_small",
    "seed": 1,
    "job": {
        "samples": 60_000,
        "batch": 60,
        "samples_per_epoch": 600,
        "throughput": {"1": "2000 samples/s"},
        "checkpoint": {"cost": "50 ms", "restore": "50 ms"},
        "spawn": "3 s",
        "restart": "100 ms",
        "resize": "100 ms",
    },
    "cluster": {"count_min": 1, "count_max": 4},
    "market": {
        "spot_price": "0.92 USD/h",
        "on_demand_price": "3.06 USD/h",
        "availability": "market.csv",
        "after_last_row": "repeat",
    },
    "training": {"script": "small.py"},
    "replay": ["follow_capacity+spot_only+checkpoint_on_notice"],
}
HOSTS = Path(__file__).resolve().parents[2] / "examples/hosts/hosts.sh"
# Four machines, two, three, again and again: whenever workers are ready, some are taken soon.
MARKET = "# id=steps duration_s=48\nt_s,instances\n0,4\n18,2\n30,3\n"


def end_with_parent():
    """A run without end does not outlive a test that is killed."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def alive_workers(folder):
    """Processes of workers whose folder is this test's."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            arguments = (entry / "cmdline").read_bytes()
            if b"ukemi.torch.worker" in arguments and os.readlink(entry / "cwd") == str(folder):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


class LiveTest(ScratchTest):
    def setUp(self):
        super().setUp()
        self.folder = self.folder.resolve()
        (self.folder / "small.py").write_text(SCRIPT)
        (self.folder / "market.csv").write_text(MARKET)
        self.write(SCENARIO)

    def write(self, scenario):
        (self.folder / "job.json").write_text(json.dumps(scenario))

    def start(self, *arguments, python=sys.executable, allow=("--allow-plugins",)):
        return subprocess.Popen(
            [UKEMI, *allow, "train", "job.json", "--python", python, *arguments],
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=end_with_parent,
        )  # fmt: skip

    def train(self, *arguments, code=0, **other):
        process = self.start(*arguments, **other)
        out, err = process.communicate(timeout=500)
        self.assertEqual(process.returncode, code, out + err)
        self.assertEqual(alive_workers(self.folder), [])
        return out, err

    def file(self, out, name):
        (found,) = (self.folder / out / "runs").glob(f"*/{name}")
        return found

    def steps(self, out):
        with open(self.file(out, "steps.csv"), newline="") as stream:
            return list(csv.DictReader(stream))

    def live(self, out):
        return json.loads(self.file(out, "live.json").read_text())

    def expect_every_sample_once(self, out, begun=0):
        """Every step is 60 samples further than the one before it, or a step done again."""
        steps = self.steps(out)
        first = begun // 60
        for row in steps:
            self.assertEqual(int(row["samples"]), 60 * (int(row["step"]) + 1))
        self.assertEqual({int(row["step"]) for row in steps}, set(range(first, 1000)))
        return steps

    def expect_equal_decisions(self, out):
        said = self.command("replay-log", str(self.file(out, "decisions.jsonl")))
        self.assertIn(" 0 answered otherwise", said)
        self.assertNotIn(": 0 questions", said)


class Live(LiveTest):
    def test_a_market_that_takes_and_gives(self):
        # Paced, so that the market has its say whatever this machine is busy with.
        slow = SCRIPT.replace("    out =", "    import time; time.sleep(0.04)\n    out =")
        # At once and as one write: a worker that is lost ends with what it has not yet written.
        said = "place {UKEMI_SLOT} of {UKEMI_WORKER}\n"
        says_place = f"\nimport os\nprint({said!r}.format_map(os.environ), end='', flush=True)\n"
        (self.folder / "small.py").write_text(slow + says_place)
        out, err = self.train("--workers", "4", "--revocations", "scenario", "--out", "run")
        self.assertIn("losses", out)
        # Who comes takes a place that is free: GPUs and cores are given by it.
        places = re.findall(r"place (\d+) of (\d+)", out + err)
        self.assertEqual({place for place, _ in places}, {"0", "1", "2", "3"})
        self.assertGreater(max(int(worker) for _, worker in places), 3)
        steps = self.expect_every_sample_once("run")
        sizes = [int(row["workers"]) for row in steps]
        self.assertGreater(len(set(sizes)), 1, sizes)
        self.assertLess(float(steps[-1]["loss"]), 0.5 * float(steps[0]["loss"]))
        self.assertEqual(self.live("run")["incidents"], [])
        self.expect_equal_decisions("run")

    def test_codecs_with_levels_while_machines_come_and_go(self):
        slow = SCRIPT.replace("    out =", "    import time; time.sleep(0.01)\n    out =")
        (self.folder / "small.py").write_text(slow)
        for codec in ("power_sgd:2", "top_k:0.1"):
            self.write({**SCENARIO, "training": {"script": "small.py", "codec": codec}})
            name = codec.partition(":")[0]
            self.train("--workers", "4", "--revocations", "scenario", "--out", name)
            steps = self.expect_every_sample_once(name)
            self.assertGreater(len({row["workers"] for row in steps}), 1)
            self.assertLess(float(steps[-1]["loss"]), 0.5 * float(steps[0]["loss"]))
            self.assertEqual(self.live(name)["incidents"], [])
            self.expect_equal_decisions(name)

    def test_told_to_stop_it_saves_and_goes_on(self):
        # Always two: the bits of a step depend on how many share it.
        self.write({**SCENARIO, "cluster": {"count": 2},
                    "policy_parameters": {"periodic_checkpoint": {"interval": "1 s"}},
                    "replay": ["follow_capacity+spot_only+periodic_checkpoint"]})  # fmt: skip
        process = self.start("--workers", "2", "--out", "first")
        checkpoints = self.folder / "first-checkpoints"
        end = time.monotonic() + 200
        while not list(checkpoints.glob("*.ukemi")) and time.monotonic() < end:
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=200)
        self.assertEqual(alive_workers(self.folder), [])
        self.assertEqual(process.returncode, 1, err)
        self.assertIn("told to stop", err)
        self.assertIn("goes on from it", err)
        done = len(self.steps("first"))
        last = str(max(checkpoints.glob("*.ukemi")))
        self.assertIn(f"{done:012}", last)  # all of it
        self.train("--workers", "2", "--resume", last, "--out", "second")
        self.expect_every_sample_once("second", begun=60 * done)
        self.expect_equal_decisions("second")
        # The model is that of a run that nobody stopped.
        self.train("--workers", "2", "--out", "whole")
        losses = {int(row["step"]): row["loss"] for row in self.steps("whole")}
        for row in self.steps("second"):
            self.assertEqual(row["loss"], losses[int(row["step"])], row["step"])
        # A checkpoint is of its script: another one's is refused before anything starts.
        (self.folder / "other.py").write_text(SCRIPT)
        _, err = self.train("--script", "other.py", "--resume", last, "--out", "no", code=2)
        self.assertIn("is of another training: script", err)

    def test_what_cannot_be_trained_is_said_before_anything_starts(self):
        for key, value, why in (
            ("script", "missing.py", "/training/script: expected a Python file, found none"),
            ("data", {"kind": "synthetic"}, "/training/data: is for the script to say"),
            ("collective", "ring", "expected the collective automatic"),
            ("codec", "top_k:2", "expected a number (share of the elements that is kept)"),
        ):
            self.write({**SCENARIO, "training": {"script": "small.py", key: value}})
            _, err = self.train("--out", "run", code=2)
            self.assertIn(why, err)
            self.assertFalse((self.folder / "run").exists())
        self.write(SCENARIO)
        _, err = self.train("--out", "run", code=2, python="no-such-python")
        self.assertIn("--python: expected a program, found none named no-such-python", err)
        _, err = self.train("--out", "run", "--backend", "cuda", code=2)
        self.assertIn("--backend: a script says itself on what it computes", err)

    def test_a_scenario_alone_may_not_run_a_script(self):
        _, err = self.train("--out", "no", code=2, allow=())
        self.assertIn("/training/script: a scenario may be somebody else's", err)
        self.assertFalse((self.folder / "no").exists())

    def test_a_script_that_fails_ends_the_run_and_says_where(self):
        (self.folder / "small.py").write_text("import torch\nraise ValueError('not today')\n")
        _, err = self.train("--workers", "1", "--out", "run", code=1)
        self.assertIn("small.py:2: ValueError: not today", err)


def own_address():
    """Of this machine, towards others; none where it is alone."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        try:
            way.connect(("192.0.2.1", 9))  # says nothing to anybody
        except OSError:
            return ""
        return way.getsockname()[0]


def listeners_at(address):
    """As /proc/net/tcp writes them."""
    at = socket.inet_aton(address)[::-1].hex().upper()
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
    return {line[1] for line in lines if line[1].startswith(at) and line[3] == "0A"}


class Addresses(LiveTest):
    """Members that reach each other by an address of the machine, as those on several hosts do."""

    def setUp(self):
        super().setUp()
        self.address = own_address()

    def run(self, result=None):
        if own_address() in ("", "127.0.0.1"):
            print("left out: this machine has no address")
            return result
        return super().run(result)

    def expect_listeners(self, expected):
        """None but these, in a moment."""
        end = time.monotonic() + 10
        while not listeners_at(self.address) <= expected:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def test_they_meet_at_rank_0_and_nobody_listens_any_more(self):
        before = listeners_at(self.address)
        with Rig(self.folder / "small.py") as rig:
            for worker in range(3):
                rig.start(worker, UKEMI_HOST=self.address)
            for _ in range(3):
                rig.greet()
            rig.wait("Ready", range(3))
            rig.enter([0, 1, 2])
            self.assertEqual(len(rig.train(2)), 2)
            self.expect_listeners(before)
            rig.enter([2, 0], holders=[2, 0], step=2)
            self.assertEqual(len(rig.train(4)), 2)
            self.expect_listeners(before)

    def test_an_abort_ends_the_wait_for_rank_0(self):
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        link = SimpleNamespace(collectives=0, in_flight=0, watch=id, forget=id)
        with mock.patch.dict(os.environ, UKEMI_HOST=self.address):
            group = Group(link, 1, 1, 1, 2, 60.0, "cpu", b"s" * 32)
        self.addCleanup(group.close)
        threading.Timer(0.3, group.abort).start()
        begun = time.monotonic()
        with self.assertRaises(PeersFailed) as caught:
            group.connect([f"cpu 127.0.0.1 {silent.getsockname()[1]}".encode(), b"cpu "])
        self.assertEqual(caught.exception.outcome, "aborted")
        self.assertLess(time.monotonic() - begun, 5)


class Hosts(LiveTest):
    """Agents on this machine stand for those of others: the workers' way is the same."""

    SECRET = "mUcn0sgLpOU4Hv1DdCcsC3f4Hk1rYcsPvIY4P3bQ9mA="

    def setUp(self):
        super().setUp()
        secret = self.folder / "secret"
        secret.write_text(self.SECRET + "\n")
        secret.chmod(0o600)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.address = f"127.0.0.1:{free.getsockname()[1]}"

    def test_agents_have_workers_of_a_script(self):
        self.write({**SCENARIO, "cluster": {"count": 2}})
        train = self.start("--agents", self.address, "--secret-file", "secret", "--out", "run",
                           "--trusted-network")  # fmt: skip
        agents = [
            subprocess.Popen(
                [UKEMI, "agent", "--join", self.address, "--secret-file", "secret", "--name", name,
                 "--trusted-network", "--python", sys.executable],
                cwd=self.folder, stderr=subprocess.DEVNULL, preexec_fn=end_with_parent,
            )
            for name in ("one", "two")
        ]  # fmt: skip
        out, err = train.communicate(timeout=500)
        self.assertEqual(train.returncode, 0, out + err)
        self.assertEqual([agent.wait(30) for agent in agents], [0, 0])
        self.assertEqual(alive_workers(self.folder), [])
        steps = self.expect_every_sample_once("run")
        self.assertEqual({row["workers"] for row in steps}, {"2"})
        self.assertLess(float(steps[-1]["loss"]), 0.5 * float(steps[0]["loss"]))

    def test_hosts_with_addresses_of_their_own_have_workers_of_a_script(self):
        made = subprocess.run([HOSTS, "up", "2"], capture_output=True, text=True)
        if made.returncode != 0:
            print(f"left out: no network namespaces here: {made.stderr.strip()}")
            return
        self.addCleanup(subprocess.run, [HOSTS, "down"], capture_output=True)
        self.write({**SCENARIO, "cluster": {"count": 2}})
        out, err = self.train("--hosts", "1:1,2:1", "--address", "10.77.1.1", "--out", "run",
                              "--remote-shell", str(HOSTS), "--remote-program", UKEMI,
                              "--trusted-network")  # fmt: skip
        steps = self.expect_every_sample_once("run")
        self.assertEqual({row["workers"] for row in steps}, {"2"})
        self.assertLess(float(steps[-1]["loss"]), 0.5 * float(steps[0]["loss"]))

    def test_a_network_must_be_said_to_be_trusted(self):
        for where in (("--agents", self.address, "--secret-file", "secret"),
                      ("--hosts", "a:2,b:2", "--address", "127.0.0.1")):  # fmt: skip
            _, err = self.train(*where, code=2)
            self.assertIn("Gloo, which authenticates and encrypts nothing", err)
            self.assertEqual(err.count("\n"), 1, err)


if __name__ == "__main__":
    unittest.main()
