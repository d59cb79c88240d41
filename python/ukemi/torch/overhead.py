"""What a step costs under ukemi, beside plain DistributedDataParallel.

One script is trained both ways in turn, each by as many processes: by `ukemi train` as a user
starts it, with nothing adapted, and by a loop around DistributedDataParallel. What is compared is
the median time from one step's end to the next, and of the pairs of runs the median ratio. The
clock is the wall's: on a machine that is busy otherwise it says little.
"""

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List

# A perceptron: the worst that can be measured, for little is computed beside what is kept.
_SCRIPT = '''
import torch
from torch import nn
from torch.utils.data import TensorDataset


def make():
    inputs, wanted = torch.randn(4096, 64), torch.randint(0, 10, (4096,))
    model = nn.Sequential(
        nn.Linear(64, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return model, optimizer, TensorDataset(inputs, wanted)


def loss(model, batch):
    inputs, wanted = batch
    return nn.functional.cross_entropy(model(inputs), wanted)
'''
_WARM_UP = 0.2  # of a run's steps, which are not counted


def _plain_rank(arguments: argparse.Namespace) -> None:
    """One rank of the loop that a script of one's own would have; prints when each step ended."""
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    from ukemi.torch.gpus import carrier_of
    from ukemi.torch.script import SampleOrder, Task, load_script

    rank, size, batch = arguments.rank, arguments.workers, arguments.batch
    task = Task(load_script(arguments.script), 1)
    is_on_gpu = next(task.model.parameters()).is_cuda
    places = [
        f"cuda:{of_rank % torch.cuda.device_count()}" if is_on_gpu else "cpu"
        for of_rank in range(size)
    ]
    dist.init_process_group(
        carrier_of(places, dist.is_nccl_available()),
        init_method=f"file://{arguments.meeting}", rank=rank, world_size=size,
    )  # fmt: skip
    order = SampleOrder(1, len(task.dataset))
    model = DistributedDataParallel(task.model, gradient_as_bucket_view=True)
    ends = []
    for step in range(arguments.steps):
        chosen = task.batch(order.take((step * size + rank) * batch, batch))
        task.optimizer.zero_grad(set_to_none=True)
        task.loss(model, chosen)[0].backward()
        task.optimizer.step()
        ends.append(time.perf_counter())
    if rank == 0:
        json.dump(ends, sys.stdout)


def _step_s(ends: List[float]) -> float:
    counted = ends[int(_WARM_UP * len(ends)) :]
    return statistics.median(after - before for before, after in zip(counted, counted[1:]))


def _environment() -> Dict[str, str]:
    return {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", **os.environ}


def _plain(options: argparse.Namespace, folder: Path) -> float:
    meeting = folder / "meeting"
    ranks = [
        subprocess.Popen(
            [
                sys.executable, "-m", "ukemi.torch.overhead", "--rank", str(rank),
                "--meeting", str(meeting), "--script", options.script,
                "--workers", str(options.workers), "--batch", str(options.batch),
                "--steps", str(options.steps),
            ],
            stdout=subprocess.PIPE, text=True,
            env={**_environment(), "UKEMI_SLOT": str(rank)},  # the GPU that a worker would have
        )
        for rank in range(options.workers)
    ]  # fmt: skip
    said = [rank.communicate()[0] for rank in ranks]
    if any(rank.returncode != 0 for rank in ranks):
        raise SystemExit("overhead: a rank of plain DistributedDataParallel failed")
    meeting.unlink(missing_ok=True)
    ends: List[float] = json.loads(said[0])
    return _step_s(ends)


def _scenario(options: argparse.Namespace) -> Dict[str, Any]:
    return {
        "name": "overhead",
        "seed": 1,
        "job": {
            "samples": options.steps * options.batch * options.workers,
            "batch_per_worker": options.batch,
            "throughput": {"1": "1000 samples/s"},
            "spawn": "4 s",
            "checkpoint": {"cost": "1 s", "restore": "1 s"},
        },
        "cluster": {"count": options.workers},
        "market": {"spot_price": "1 USD/h", "on_demand_price": "1 USD/h"},
        "training": {"script": options.script},
        "replay": ["on_demand"],
    }


def _own(options: argparse.Namespace, folder: Path) -> float:
    scenario = folder / "overhead.json"
    scenario.write_text(json.dumps(_scenario(options)))
    ran = subprocess.run(
        [
            options.command, "train", str(scenario), "--script", options.script,
            "--python", sys.executable, "--workers", str(options.workers),
            "--out", str(folder / "run"), "--force",
        ],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=_environment(), text=True,
    )  # fmt: skip
    if ran.returncode != 0:
        raise SystemExit(f"overhead: ukemi train failed: {ran.stdout.strip()}")
    (steps,) = (folder / "run" / "runs").glob("*/steps.csv")
    with open(steps, newline="") as stream:
        return _step_s([float(row["t_s"]) for row in csv.DictReader(stream)])


def main() -> None:
    """Prints the medians, and exits 0 whatever they are: a time passes or fails nothing."""
    parser = argparse.ArgumentParser(prog="python3 -m ukemi.torch.overhead", description=__doc__)
    parser.add_argument("--script", default="", help="as of ukemi train (default: a perceptron)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64, help="of each worker")
    parser.add_argument("--steps", type=int, default=150, help="of a run")
    parser.add_argument("--pairs", type=int, default=8, help="of runs, one each way")
    parser.add_argument("--command", default="ukemi", help="the ukemi that trains")
    parser.add_argument("--rank", type=int, default=-1, help=argparse.SUPPRESS)
    parser.add_argument("--meeting", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank >= 0:
        _plain_rank(options)
        return
    if min(options.workers, options.batch, options.pairs) < 1 or options.steps < 10:
        parser.error("expected at least one worker, sample and pair, and ten steps")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not options.script:
            options.script = str(folder / "perceptron.py")
            Path(options.script).write_text(_SCRIPT)
        times: Dict[Any, List[float]] = {_plain: [], _own: []}
        for pair in range(options.pairs):
            for way in (_plain, _own) if pair % 2 else (_own, _plain):
                times[way].append(way(options, folder))
    plain, own = times[_plain], times[_own]
    ratios = sorted(100 * (more / less - 1) for less, more in zip(plain, own))
    tenth = len(ratios) // 10
    print(f"{options.workers} workers, batch {options.batch}, {options.pairs} pairs of runs of "
          f"{options.steps} steps; medians by the wall's clock")  # fmt: skip
    print(f"{'plain':>10}{'ukemi':>10}{'more':>10}{'10 %':>10}{'90 %':>10}")
    print(f"{statistics.median(plain) * 1e3:>7.2f} ms{statistics.median(own) * 1e3:>7.2f} ms"
          f"{statistics.median(ratios):>8.2f} %{ratios[tenth]:>8.2f} %"
          f"{ratios[-1 - tenth]:>8.2f} %")  # fmt: skip


if __name__ == "__main__":
    main()
