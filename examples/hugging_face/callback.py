"""ukemi's policies in a Hugging Face Trainer: they say when it saves, its learning rate, its size.

A Trainer cannot change its number of processes: where the policies want another one, the training
is saved and stops, and `wanted_workers` says what to start it again with.
"""

import functools
import time

import torch.distributed as dist
from transformers import TrainerCallback

import ukemi


def from_rank_0(value):
    """Times differ between processes, so one of them asks and all do what it was answered."""
    if not (dist.is_available() and dist.is_initialized()):
        return value
    said = [value]
    dist.broadcast_object_list(said, 0)
    return said[0]


class UkemiCallback(TrainerCallback):
    """Asks after each step; `loop.decisions` is the log that `ukemi replay-log` takes."""

    KNOBS = ("checkpoint_interval", "learning_rate", "workers", "count")

    def __init__(self, policies, workers_most=1, clock=time.monotonic_ns):
        self.policies, self.workers_most, self.clock = policies, workers_most, clock
        self.loop = None  # of rank 0
        self.scaled = None  # the optimizer whose steps are
        self.begin()

    def begin(self):
        self.wanted_workers = None  # where the training stopped for it
        self.learning_rate = 1.0  # a factor on what the scheduler says
        self.loss = 0.0

    def on_train_begin(self, args, state, control, optimizer=None, **_):
        self.begin()
        self.scale_rates(optimizer)
        self.workers = args.world_size
        self.samples = args.train_batch_size * args.gradient_accumulation_steps * self.workers
        if args.process_index == 0:
            fleet = [{"zone": 0, "market": "on_demand", "count": self.workers}]
            plan = ukemi.Plan(
                fleet=fleet,
                workers_max=self.workers,
                batch_per_learner=args.train_batch_size,
                accumulation=args.gradient_accumulation_steps,
                learning_rate=1.0,
            )
            self.loop = ukemi.TrainingLoop(
                policies=self.policies,
                plan=plan,
                knobs=self.KNOBS,
                instances_max=max(self.workers, self.workers_most),
                # A Trainer that goes on from a checkpoint has this much left.
                samples_total=self.samples * (state.max_steps - state.global_step),
            )
            self.begun = self.step_begun = self.clock()
            self.asked_ns = 0
            self.carry_out(self.loop.start(0), control)
        self.agree(control)

    def on_log(self, args, state, control, logs=None, **_):
        self.loss = (logs or {}).get("loss", self.loss)

    def on_step_end(self, args, state, control, **_):
        if self.loop is not None and not self.loop.finished:
            now = self.clock()
            self.asked_ns, took_ns = now - self.begun, now - self.step_begun
            self.step_begun = now
            plan = self.loop.step(
                now_ns=self.asked_ns, duration_ns=took_ns, workers=self.workers,
                samples=self.samples, loss=self.loss,
            )  # fmt: skip
            self.carry_out(plan, control)
            control.should_save = control.should_save or self.loop.checkpoint_due
        self.agree(control)

    def on_save(self, args, state, control, **_):
        if self.loop is not None:
            self.loop.saved()

    def scale_rates(self, optimizer):
        """During a step only: before and after it the rates are the scheduler's."""
        if optimizer is self.scaled:  # a second train() has the same
            return
        self.scaled = optimizer
        plain = optimizer.step

        @functools.wraps(plain)
        def step(*args, **others):
            rates = [group["lr"] for group in optimizer.param_groups]
            for group, rate in zip(optimizer.param_groups, rates):
                group["lr"] = rate * self.learning_rate  # a new one, also of a tensor
            try:
                return plain(*args, **others)
            finally:
                for group, rate in zip(optimizer.param_groups, rates):
                    group["lr"] = rate

        optimizer.step = step

    def carry_out(self, plan, control):
        """What a Trainer can do at once, or by stopping."""
        while plan is not None:
            self.learning_rate = plan.learning_rate
            if plan.workers_max != self.workers:
                self.wanted_workers = plan.workers_max
                control.should_save = control.should_training_stop = True
            plan = self.loop.committed(self.asked_ns)

    def agree(self, control):
        mine = (self.learning_rate, self.wanted_workers, control.should_save)
        self.learning_rate, self.wanted_workers, control.should_save = from_rank_0(mine)
        control.should_training_stop |= self.wanted_workers is not None
