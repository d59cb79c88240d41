"""An ordinary script for torchrun: a small model by DistributedDataParallel, which goes on from its
last snapshot however many processes there are.

torchrun … train.py SNAPSHOT SAMPLES
"""

import os
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

BATCH = 48  # of all processes together
STEPS_A_SNAPSHOT = 5
PACE_S = float(os.environ.get("PACE_S", "0.02"))  # a step takes as long as this at least


def make():
    torch.manual_seed(1)
    inputs = torch.randn(4800, 16)
    wanted = (inputs @ torch.randn(16, 4)).argmax(1)
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    return model, torch.optim.SGD(model.parameters(), lr=0.1), inputs, wanted


def main(snapshot, total):
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    rank, size = dist.get_rank(), dist.get_world_size()
    model, optimizer, inputs, wanted = make()
    done, loss = 0, torch.zeros(())
    if os.path.exists(snapshot):
        saved = torch.load(snapshot)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        done = saved["samples_done"]
    parallel = DistributedDataParallel(model)
    while done < total:
        begun = time.monotonic()
        for _ in range(STEPS_A_SNAPSHOT):
            share = [place % len(inputs) for place in range(done + rank, done + BATCH, size)]
            out = parallel(inputs[share])
            # The sum over all ÷ the batch, for DistributedDataParallel takes the mean of them.
            loss = nn.functional.cross_entropy(out, wanted[share], reduction="sum") * size / BATCH
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            done += BATCH
            time.sleep(PACE_S)
        if rank == 0:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            state.update(samples_done=done, workers=size, loss=loss.item(),
                         step_s=(time.monotonic() - begun) / STEPS_A_SNAPSHOT)  # fmt: skip
            torch.save(state, snapshot + ".new")
            os.replace(snapshot + ".new", snapshot)
        dist.barrier()  # nobody is ahead of the snapshot by more than its steps
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
