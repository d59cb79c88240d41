"""The policies for a world and for a training loop that are written in Python."""

import json

import ukemi
from support import ScratchTest
from test_policy import MyRule


class Worlds(ScratchTest):
    def test_answers_are_those_of_the_run_that_was_recorded(self):
        for policies in ("greedy+daly", MyRule):
            runs = ukemi.replay("demo", policies=policies, seeds=3, log_observations=True)
            recorded = runs.decisions(0).splitlines(keepends=True)
            world = ukemi.Controller("demo", policies=policies, seed=3)
            asked = 0
            for line in map(json.loads, recorded[1:]):
                if line["record"] == "question":
                    plan = world.ask(**line["event"], **line["seen"])
                    self.assertEqual(plan is not None, "proposed" in line)
                    asked += 1
                elif line["record"] == "committed":
                    world.committed()
                else:
                    world.discarded(line["why"])
            self.assertGreater(asked, 20)
            self.assertEqual(world.decisions.splitlines(keepends=True)[1:], recorded[1:])

    def test_what_is_wrong_is_refused(self):
        world = ukemi.Controller("demo", policies=["greedy", "daly"])
        with self.assertRaisesRegex(ukemi.InputError, "unknown key|now"):
            world.ask("before_train", now=3)
        with self.assertRaisesRegex(RuntimeError, "no Plan to be settled"):
            world.committed()
        with self.assertRaisesRegex(ukemi.InputError, "oracle"):
            ukemi.Controller("demo", policies="ideal_no_overhead")


def plan_of(workers):
    fleet = [{"zone": 0, "market": "on_demand", "count": workers}]
    return ukemi.Plan(fleet=fleet, workers_max=workers, batch_per_learner=32)


class Loops(ScratchTest):
    def loop(self, policies, **others):
        return ukemi.TrainingLoop(
            policies=policies,
            plan=plan_of(2),
            knobs=["workers", "count", "checkpoint_interval"],
            instances_max=8,
            samples_total=64 * 100,
            **others,
        )

    def test_trains_to_the_end_and_its_log_replays(self):
        loop = self.loop([{"name": "periodic_checkpoint", "interval": "5 s"}])
        now = saved = 0
        plan = loop.start(now)
        while True:
            while plan is not None:
                plan = loop.committed(now)
            if loop.finished:
                break
            now += ukemi.seconds(1)
            plan = loop.step(now_ns=now, duration_ns=ukemi.seconds(1), workers=2, loss=1.0)
            if loop.checkpoint_due:
                saved += 1
                loop.saved()
        loop.stop(now)
        self.assertEqual((loop.steps_done, loop.samples_done), (100, 6400))
        self.assertEqual(saved, 20)
        self.assertEqual(loop.plan.checkpoint_interval_ns, ukemi.seconds(5))
        log = self.folder / "decisions.jsonl"
        log.write_text(loop.decisions)
        self.assertEqual(ukemi.replay_log(log).answered_otherwise, 0)

    def test_a_policy_in_python_resizes(self):
        epochs = []

        class Grows(ukemi.Policy):
            knobs = ("workers", "count")
            every_steps = 10

            def after_step(self, view):
                epochs.append(view.samples_per_epoch)
                more = view.plan.workers_max + 1
                if view.seen.loss < 0.5 or more > view.instances_max:
                    return None
                return ukemi.Decision(workers_max=more, count=more)

        loop = self.loop([Grows], samples_per_epoch=640)
        self.assertIsNone(loop.start(0))
        for step in range(1, 10):
            self.assertIsNone(loop.step(now_ns=step, duration_ns=1, workers=2, loss=2.0))
        plan = loop.step(now_ns=10, duration_ns=1, workers=2, loss=2.0)
        self.assertEqual((plan.workers_max, plan.count, plan.version), (3, 3, 1))
        self.assertEqual(loop.plan.workers_max, 2)
        self.assertEqual(epochs, [640])
        self.assertIsNone(loop.discarded("no machine", 10))
        self.assertEqual(loop.plan.workers_max, 2)

    def test_calls_out_of_turn_are_exceptions(self):
        loop = self.loop(["periodic_checkpoint"])
        with self.assertRaisesRegex(RuntimeError, "start"):
            loop.step(now_ns=1, duration_ns=1)
        with self.assertRaisesRegex(RuntimeError, "settled"):
            loop.committed(0)
        plan = loop.start(5)
        with self.assertRaisesRegex(RuntimeError, "before"):
            loop.start(6)
        if plan is not None:
            with self.assertRaisesRegex(RuntimeError, "committed"):
                loop.step(now_ns=7, duration_ns=1)
            loop.committed(7)
        for wrong in (
            dict(now_ns=1, duration_ns=1),
            dict(now_ns=9, duration_ns=-1),
            dict(now_ns=9, duration_ns=2**62),
            dict(now_ns=9, duration_ns=1, workers=9),
            dict(now_ns=9, duration_ns=1, samples=-1),
            dict(now_ns=9, duration_ns=1, exchange={"bytes": -1}),
        ):
            with self.subTest(wrong), self.assertRaises(ValueError):
                loop.step(**wrong)
        with self.assertRaisesRegex(ValueError, "the loop keeps it itself"):
            loop.see(samples_total=3)
        with self.assertRaises(ValueError):
            loop.see(spot_capacity=-1)
        with self.assertRaisesRegex(ValueError, "kind: expected one of"):
            loop.event("loss", 9)
        loop.see(notices=[{"instance": 0, "zone": 0, "lost_at_ns": 50}])
        loop.event("revocation_notice", 9)

    def test_setups_that_cannot_be_are_input_errors(self):
        with self.assertRaisesRegex(ukemi.InputError, "deadline"):
            self.loop(["greedy"])
        with self.assertRaisesRegex(ukemi.InputError, "no policy"):
            self.loop(["gredy"])
        with self.assertRaises(ValueError):
            self.loop(["periodic_checkpoint"], workers_min=9)
