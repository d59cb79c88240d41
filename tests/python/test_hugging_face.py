"""examples/hugging_face: policies say when a Trainer saves, its learning rate, its size."""

import sys
import unittest
from types import SimpleNamespace

import torch
from support import SOURCE, ScratchTest

sys.path.insert(0, str(SOURCE / "examples" / "hugging_face"))

import train
import ukemi


class Counted:
    """A clock of which a second passes with each look."""

    def __init__(self):
        self.now = 0

    def __call__(self):
        self.now += ukemi.seconds(1)
        return self.now


class WantsMore(ukemi.Policy):
    knobs = ("workers", "count")

    def after_step(self, view):
        if view.seen.steps_done == 7:
            return ukemi.Decision(workers_max=2, count=2)
        return None


class Callback(ScratchTest):
    def saved(self):
        folders = (self.folder / "run").glob("checkpoint-*")
        return sorted(int(one.name.partition("-")[2]) for one in folders)

    def replays(self):
        log = self.folder / "run" / "decisions.jsonl"
        self.assertEqual(ukemi.replay_log(log).answered_otherwise, 0)
        return log.read_text()

    def run_policies(self, policies, **others):
        return train.main(self.folder / "run", policies=policies, clock=Counted(), **others)

    def test_it_saves_when_the_policy_says_and_slows_down(self):
        policies = [{"name": "periodic_checkpoint", "interval": "100 s"}, train.Patient]
        asked = self.run_policies(policies, steps=250)
        self.assertEqual(asked.loop.steps_done, 250)
        # Of 250 s of training, a second a step.
        self.assertEqual(self.saved()[:2], [100, 200])
        self.assertIn("the loss is below 1", self.replays())
        self.assertEqual(asked.learning_rate, 0.5)
        self.assertIsNone(asked.wanted_workers)

    def test_another_size_is_a_stop_at_a_checkpoint(self):
        asked = self.run_policies([WantsMore], workers_most=2, steps=50)
        self.assertEqual((asked.loop.steps_done, asked.wanted_workers), (7, 2))
        self.assertEqual(self.saved(), [7])
        self.assertEqual(asked.loop.plan.workers_max, 2)
        self.replays()

    def test_the_factor_holds_during_a_step_only(self):
        weight = torch.nn.Parameter(torch.zeros(1))
        optimizer = torch.optim.SGD([weight], lr=0.02)
        scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)  # of the rate it finds
        asked = train.UkemiCallback([])
        asked.scale_rates(optimizer)
        asked.learning_rate = 0.5
        moved = []
        for scheduled in (False, True, False):
            before = weight.item()
            weight.grad = torch.ones(1)
            optimizer.step()
            moved.append(before - weight.item())
            if scheduled:
                scheduler.step()
        for found, expected in zip(moved, (0.01, 0.01, 0.005)):
            self.assertAlmostEqual(found, expected, places=6)
        self.assertAlmostEqual(optimizer.param_groups[0]["lr"], 0.01)

    def test_training_may_begin_again(self):
        weight = torch.nn.Parameter(torch.zeros(1))
        optimizer = torch.optim.SGD([weight], lr=0.02)
        arguments = SimpleNamespace(
            world_size=1, train_batch_size=8, gradient_accumulation_steps=1, process_index=0
        )
        state = SimpleNamespace(max_steps=10, global_step=0)
        control = SimpleNamespace(should_save=False, should_training_stop=False)
        asked = train.UkemiCallback([])
        for _ in range(2):
            asked.on_train_begin(arguments, state, control, optimizer=optimizer)
            self.assertEqual((asked.learning_rate, asked.wanted_workers), (1.0, None))
            self.assertFalse(control.should_training_stop)
            asked.learning_rate, asked.wanted_workers = 0.5, 2
        weight.grad = torch.ones(1)
        optimizer.step()  # by half its rate, not by a quarter
        self.assertAlmostEqual(weight.item(), -0.01, places=6)

    def test_a_rate_that_is_a_tensor_is_the_schedulers_after_a_step(self):
        rate = torch.tensor(0.02)
        weight = torch.nn.Parameter(torch.zeros(1))
        optimizer = torch.optim.SGD([weight], lr=0.02)
        optimizer.param_groups[0]["lr"] = rate
        seen = []
        optimizer.step = lambda: seen.append(float(optimizer.param_groups[0]["lr"]))
        asked = train.UkemiCallback([])
        asked.learning_rate = 0.5
        asked.scale_rates(optimizer)
        optimizer.step()
        optimizer.step()
        for found in seen:
            self.assertAlmostEqual(found, 0.01, places=6)
        self.assertIs(optimizer.param_groups[0]["lr"], rate)
        self.assertAlmostEqual(float(rate), 0.02, places=6)


if __name__ == "__main__":
    unittest.main()
