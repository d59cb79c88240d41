"""A Trainer with UkemiCallback: train.py FOLDER. torchrun starts it with several processes."""

import os
import sys
from pathlib import Path

import torch
from callback import UkemiCallback
from torch import nn
from transformers import Trainer, TrainingArguments

import ukemi


class Classifier(nn.Module):
    """Any model that returns its loss; one of transformers' does."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10))

    def forward(self, inputs, labels):
        scores = self.layers(inputs)
        return {"loss": nn.functional.cross_entropy(scores, labels), "logits": scores}


class Patient(ukemi.Policy):
    """Halves the learning rate once the loss is below 1."""

    knobs = ("learning_rate",)

    def after_step(self, view):
        if 0 < view.seen.loss < 1 and view.plan.learning_rate == 1:
            return ukemi.Decision(learning_rate=0.5, reason="the loss is below 1")
        return None


def samples(count):
    draw = torch.Generator().manual_seed(1)
    inputs = torch.randn(count, 32, generator=draw)
    labels = (inputs @ torch.randn(32, 10, generator=draw)).argmax(1)
    return [{"inputs": one, "labels": label} for one, label in zip(inputs, labels)]


POLICIES = [{"name": "periodic_checkpoint", "interval": "2 s"}, Patient]


def main(folder, policies=POLICIES, steps=400, **others):
    asked = UkemiCallback(policies, **others)
    here = {}
    if not torch.cuda.is_available():  # the option has had two names
        newer = "use_cpu" in TrainingArguments.__dataclass_fields__
        here = {"use_cpu" if newer else "no_cuda": True}
        if "WORLD_SIZE" in os.environ:
            here["ddp_backend"] = "gloo"
    arguments = TrainingArguments(
        output_dir=str(folder), max_steps=steps, per_device_train_batch_size=64, learning_rate=0.02,
        save_strategy="no", logging_steps=5, disable_tqdm=True, report_to=[], **here,
    )  # fmt: skip
    torch.manual_seed(1)
    trainer = Trainer(Classifier(), arguments, train_dataset=samples(4096), callbacks=[asked])
    trainer.train()
    if asked.loop is not None:
        (Path(folder) / "decisions.jsonl").write_text(asked.loop.decisions)
        print(f"{asked.loop.steps_done} steps, loss {asked.loss:.3f}, learning rate × "
              f"{asked.learning_rate}, wanted workers: {asked.wanted_workers}")  # fmt: skip
    return asked


if __name__ == "__main__":
    main(Path(sys.argv[1]))
