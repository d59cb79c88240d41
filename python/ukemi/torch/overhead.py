"""What a step costs under ukemi, beside plain DistributedDataParallel.

Two processes on this machine train one model both ways, a stretch of steps in turn, so that what
else runs here disturbs both alike. What is compared is the median of the stretches' ratios, of the
wall's time and of the processor's, which says the same on a machine that is busy otherwise.
"""

import argparse
import os
import statistics
import sys
import time
from typing import Any, List, Tuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import TensorDataset

from ukemi.torch.group import MEETING, Group
from ukemi.torch.messages import encode
from ukemi.torch.plan import Plan
from ukemi.torch.replica import Replica
from ukemi.torch.script import SampleOrder, Task
from ukemi.torch.step import TrainingStep

_PLAN = (
    '{"version":1,"fleet":[],"workers_max":2,"learners_per_gpu":1,"batch_per_learner":%d,'
    '"global_batch":0,"accumulation":1,"learning_rate":1.0,"synchronisation":"s_sgd",'
    '"collective":"automatic","codec":"none","codec_level":0.0,"checkpoint_interval_ns":1,'
    '"layout":{"data":1,"pipeline":1,"tensor":1},"checkpoint_on_notice":false}'
)


class _Link:
    """A connection to nobody: what is said is written down, and goes nowhere."""

    collectives = 0
    in_flight = 0

    def __init__(self) -> None:
        self._nowhere = os.open("/dev/null", os.O_WRONLY)

    def watch(self, one: Any) -> None: ...
    def forget(self, one: Any) -> None: ...

    def send(self, name: str, /, **fields: Any) -> None:
        os.write(self._nowhere, encode(name, **fields))


class _Small:
    """A perceptron: the worst that can be measured, for little is computed beside what is kept."""

    __name__ = "overhead"

    def __init__(self, width: int) -> None:
        self._width = width

    def make(self) -> Tuple[nn.Module, torch.optim.Optimizer, TensorDataset]:
        width = self._width
        inputs = torch.randn(4096, 64)
        wanted = torch.randint(0, 10, (4096,))
        model = nn.Sequential(
            nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
            nn.Linear(width, 10),
        )  # fmt: skip
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        return model, optimizer, TensorDataset(inputs, wanted)

    def loss(self, model: nn.Module, batch: Any) -> torch.Tensor:
        inputs, wanted = batch
        return nn.functional.cross_entropy(model(inputs), wanted)


def _now() -> Tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _group(rank: int, size: int, epoch: int, path: str) -> Group:
    group = Group(_Link(), epoch, epoch, rank, size, 60.0)  # type: ignore[arg-type]
    if group._memory >= 0:
        os.close(group._memory)
        group._memory = -1
    group.connect([f"cpu {path}".encode()] * size)
    return group


def _measure(rank: int, size: int, paths: List[str], options: argparse.Namespace) -> List[Any]:
    plain_group = _group(rank, size, 1, paths[0])
    own_group = _group(rank, size, 2, paths[1])
    module: Any = _Small(options.width)
    plain, own = Task(module, 1), Task(module, 1)
    settings: Any = {
        "process_group": plain_group.process_group,
        "gradient_as_bucket_view": True,
    }
    parallel = DistributedDataParallel(plain.model, **settings)
    order = SampleOrder(1, 4096)
    plan = Plan(_PLAN % options.batch)
    step = TrainingStep(own, Replica(own, 0.9), own_group, 1, 25 << 20)
    link = _Link()
    at = 0

    def plain_steps(count: int) -> Tuple[float, ...]:
        begun = _now()
        for number in range(at, at + count):
            place = (number * size + rank) * options.batch
            batch = plain.batch(order.take(place, options.batch))
            plain.optimizer.zero_grad(set_to_none=True)
            plain.loss(parallel, batch)[0].backward()
            plain.optimizer.step()
        return tuple((now - then) / count for now, then in zip(_now(), begun))

    def own_steps(count: int) -> Tuple[float, ...]:
        begun = _now()
        for number in range(at, at + count):
            done = step.run(plan, number, number * options.batch * size, 0)
            report = done.report if rank == 0 else None
            link.send("StepFinished", epoch=1, step=number, position=0, report=report)
        return tuple((now - then) / count for now, then in zip(_now(), begun))

    times = []
    for stretch in range(options.stretches + 1):
        pair = {}
        for way in (plain_steps, own_steps) if stretch % 2 else (own_steps, plain_steps):
            own_group.broadcast(torch.zeros(1), 0, "together")
            pair[way.__name__] = way(options.steps)
        at += options.steps
        if stretch > 0:  # the first warms up
            times.append((pair["plain_steps"], pair["own_steps"]))
    return times


def main() -> None:
    """Prints the medians, and exits 0 whatever they are: a time passes or fails nothing."""
    parser = argparse.ArgumentParser(prog="python3 -m ukemi.torch.overhead", description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64, help="of each worker")
    parser.add_argument("--width", type=int, default=1024, help="units of the two hidden layers")
    parser.add_argument("--steps", type=int, default=50, help="of a stretch")
    parser.add_argument("--stretches", type=int, default=20)
    options = parser.parse_args()
    memories = [os.memfd_create(MEETING) for _ in range(2)]
    paths = [f"/proc/{os.getpid()}/fd/{memory}" for memory in memories]
    rank, children = 0, []
    for number in range(1, options.workers):
        child = os.fork()
        if child == 0:
            rank = number
            break
        children.append(child)
    times = _measure(rank, options.workers, paths, options)
    if rank > 0:
        os._exit(0)
    for child in children:
        os.waitpid(child, 0)
    print(f"{options.workers} workers, batch {options.batch}, width {options.width}, "
          f"{len(times)} stretches of {options.steps} steps each way; medians, rank 0")  # fmt: skip
    print(f"{'ms a step':<12}{'plain':>10}{'ukemi':>10}{'more':>10}{'10 %':>10}{'90 %':>10}")
    for at, name in enumerate(("wall", "processor")):
        plain, own = ([one[way][at] * 1e3 for one in times] for way in (0, 1))
        ratios = sorted(100 * (more / less - 1) for less, more in zip(plain, own))
        tenth = len(ratios) // 10
        print(f"{name:<12}{statistics.median(plain):>10.3f}{statistics.median(own):>10.3f}"
              f"{statistics.median(ratios):>8.2f} %{ratios[tenth]:>8.2f} %"
              f"{ratios[-1 - tenth]:>8.2f} %")  # fmt: skip
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
