"""Policies of a Python file under the command: `ukemi --plugin rule.py COMMAND`."""

import json
import os
import subprocess
import sys
import textwrap

import ukemi
from support import SOURCE, UKEMI, ScratchTest
from test_policy import MyRule

RULES = (SOURCE / "tests" / "python" / "test_policy.py").read_text()
# The rules alone: what that file tests is not theirs.
RULES = RULES[RULES.index("class Spot") : RULES.index("class InRe")]
RULES = "import random\nimport ukemi\n\n\n" + RULES
ASKING = '''

class Asks(ukemi.Policy):
    """Asks the view for all that it can be asked for."""

    knobs = ("market", "checkpoint_interval")

    def before_train(self, view):
        return self.on_event("clock", view)

    def on_event(self, kind, view):
        plan = view.plan
        left = view.seen.samples_total - view.seen.samples_done
        time_ns = view.work_time_ns(left, plan, 1) + view.transition_time_ns(plan, plan)
        time_ns += view.checkpoint_time_ns(plan) + view.restore_time_ns(plan)
        time_ns += view.integer(1, 1000) if view.loses_work() else 0
        time_ns += view.samples_per_epoch + view.instances_max
        market = "spot" if view.uniform() < 0.5 and view.seen.spot_capacity > 0 else "on_demand"
        next_plan = plan.after(ukemi.Decision(market=market))
        wait_ns = max(ukemi.minutes(30), time_ns // 50)
        return ukemi.Decision(market=market, checkpoint_interval_ns=ukemi.minutes(20),
                              ask_again_in_ns=wait_ns, reason=f"on {next_plan.market}")
'''
LIVE = {
    "name": "live",
    "seed": 1,
    "job": {
        "samples": 40_000,
        "batch": 40,
        "throughput": {"1": "4000 samples/s"},
        "checkpoint": {"cost": "10 ms", "restore": "10 ms"},
        "spawn": "1 s",
    },
    "cluster": {"count": 2},
    "market": {"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"},
    "training": {"data": {"kind": "synthetic", "samples": 800, "features": 8, "classes": 4}},
    "replay": ["follow_capacity+spot_only"],
}
BATCHES = '''
import ukemi


class Batches(ukemi.Policy):
    """Doubles the batch at each hundredth step."""

    knobs = ("batch",)
    every_steps = 100

    def __init__(self, most=320, fails_from=10**9):
        self.most = most
        self.fails_from = fails_from

    def after_step(self, view):
        if view.seen.steps_done >= self.fails_from:
            raise ZeroDivisionError("on purpose")
        if view.seen.steps_done % 100 == 0 and view.plan.global_batch < self.most:
            return ukemi.Decision(global_batch=2 * view.plan.global_batch, reason="doubles")
        return None
'''


class ByTheCommand(ScratchTest):
    def setUp(self):
        super().setUp()
        self.write("rules.py", RULES + textwrap.dedent(ASKING))

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def ukemi(self, *arguments, code=0, **environment):
        ran = subprocess.run(
            [UKEMI, *arguments], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env={**os.environ, "UKEMI_PYTHON": sys.executable, **environment},
        )  # fmt: skip
        self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr)
        return ran.stdout if code == 0 else ran.stderr

    def test_decides_as_it_does_in_the_module(self):
        namespace = {"ukemi": ukemi, "__name__": "asks"}
        exec(textwrap.dedent(ASKING), namespace)  # as a notebook has it
        for policy, spoken in ((MyRule, "my_rule"), (namespace["Asks"], "asks")):
            inside = ukemi.replay("demo", policies=[(policy, "greedy")[:1]], seeds=[1, 2])
            told = self.ukemi("--plugin", "rules.py", "replay", "demo", "--seeds", "1..2",
                              "--policies", spoken, "--json", "--no-files")  # fmt: skip
            outside = [run["event_hash"] for run in json.loads(told)["runs"]]
            self.assertEqual(outside, [run["event_hash"] for run in inside.rows], spoken)

    def test_a_list_may_set_a_parameter_in_short(self):
        hashes = []
        for spoken in ("my_rule:4", "my_rule:wait_h=4", "my_rule"):
            told = self.ukemi("--plugin", "rules.py", "replay", "demo", "--seeds", "1..2",
                              "--policies", spoken, "--json", "--no-files")  # fmt: skip
            hashes.append([run["event_hash"] for run in json.loads(told)["runs"]])
        self.assertEqual(hashes[0], hashes[1])
        self.assertNotEqual(hashes[0], hashes[2])
        said = self.ukemi("--plugin", "rules.py", "replay", "demo", "--policies", "fickle:4",
                          "--no-files", code=2)  # fmt: skip
        self.assertIn('"fickle" has no parameter that is set like "fickle:4"', said)
        self.assertEqual(len(said.strip().splitlines()), 1)

    def test_a_log_of_it_is_reproduced_and_a_fickle_one_is_caught(self):
        for policy, code in (("asks", 0), ("fickle", 1)):
            self.ukemi("--plugin", "rules.py", "replay", "demo", "--seeds", "1", "--policies",
                       policy, "--log-observations", "--out", policy)  # fmt: skip
            (log,) = sorted((self.folder / policy).glob("runs/*/decisions.jsonl"))[:1]
            said = self.ukemi("--plugin", "rules.py", "replay-log", str(log), code=code)
            if code == 0:
                self.assertIn(" 0 answered otherwise", said)
        said = self.ukemi("replay-log", str(log), code=2)
        self.assertIn('no policy "fickle"', said)

    def test_an_exception_ends_the_run_with_its_traceback_and_the_scenarios_time(self):
        said = self.ukemi("--plugin", "rules.py", "replay", "demo", "--seeds", "1", "--policies",
                          "raises", "--no-files", code=2)  # fmt: skip
        self.assertIn("Traceback (most recent call last)", said)
        last = said.strip().splitlines()[-1]
        self.assertRegex(
            last, r"policy raises, on_event about \w+ at .* of scenario time: "
                  r"rules.py:\d+: KeyError: 'nothing here'$"
        )  # fmt: skip

    def test_in_a_live_run(self):
        self.write("batches.py", BATCHES)
        self.write("live.json", json.dumps(LIVE))
        policies = "follow_capacity+spot_only+batches"
        self.ukemi("--plugin", "batches.py", "train", "live.json", "--policies", policies,
                   "--workers", "2", "--out", "run")  # fmt: skip
        (log,) = (self.folder / "run").glob("runs/*/decisions.jsonl")
        self.assertIn('"reason":"doubles"', log.read_text())
        said = self.ukemi("--plugin", "batches.py", "replay-log", str(log))
        self.assertIn(" 0 answered otherwise", said)
        # One that fails: the model is saved, and the run says when it was and how to go on.
        said = self.ukemi("--plugin", "batches.py", "train", "live.json", "--policies",
                          policies, "--set", '/policy_parameters={"batches": {"fails_from": 200}}',
                          "--workers", "2", "--out", "failed", code=2)  # fmt: skip
        self.assertIn("Traceback (most recent call last)", said)
        self.assertIn("stopped before step 200: ", said)
        self.assertIn("policy batches, after_step at ", said)
        self.assertIn("the model is saved, all 200 steps of it", said)
        self.assertIn("batches.py:17: ZeroDivisionError: on purpose", said)

    def test_what_cannot_be_asked_is_said_at_once(self):
        self.write("none.py", "import ukemi\nfrom rules import MyRule\n")
        self.write("taken.py", "import ukemi\nclass Greedy(ukemi.Policy):\n    knobs = ()\n")
        self.write("broken.py", "import ukemi\n1 / 0\n")
        self.write("slow.py", "import ukemi\nclass Slow(ukemi.Policy):\n    knobs = ()\n"
                   "    def on_event(self, kind, view):\n        while True: pass\n")  # fmt: skip
        for file, why in (
            ("none.py", "has no class derived from ukemi.Policy"),
            ("taken.py", 'has a policy "greedy", and there is one already'),
            ("broken.py", "broken.py:2: ZeroDivisionError: division by zero"),
            ("missing.py", "missing.py: cannot be opened: No such file or directory"),
        ):
            self.assertIn(why, self.ukemi("--plugin", file, "list", "policies", code=2))
        said = self.ukemi("--plugin", "slow.py", "replay", "demo", "--seeds", "1", "--policies",
                          "slow", "--no-files", code=2)  # fmt: skip
        self.assertIn("gave no answer within 5 s", said)
        said = self.ukemi("--plugin", "rules.py", "list", "policies", code=2, UKEMI_PYTHON="none")
        self.assertIn("there is no program none (UKEMI_PYTHON names another)", said)
        said = self.ukemi("--plugin", "rules.py", "replay", "demo", "--policies",
                          "my_rule:colour=1", "--no-files", code=2)  # fmt: skip
        self.assertIn("unexpected keyword argument 'colour'", said)
        self.assertNotIn("Traceback", said)
        told = self.ukemi("--plugin", "rules.py", "list", "policies", "my_rule")
        self.assertIn("my_rule: Spot while there is some; on demand", told)
        self.assertIn("parameters are those of its constructor", told)
