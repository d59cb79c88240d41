"""Where a worker computes, and what carries its gradients."""

import os
from typing import TYPE_CHECKING, List

if TYPE_CHECKING:
    import torch


def device() -> "torch.device":
    """A script's model goes there: a GPU, by the worker's place on its machine, or the processor.

    UKEMI_DEVICE says which, cuda or cpu; RuntimeError for cuda where PyTorch finds no GPU.
    """
    import torch

    wanted = os.environ.get("UKEMI_DEVICE", "")
    if wanted not in ("", "cpu", "cuda"):
        raise RuntimeError(f"UKEMI_DEVICE: expected cpu or cuda, found {wanted}")
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if wanted == "cuda" and count == 0:
        raise RuntimeError(f"UKEMI_DEVICE: PyTorch {torch.__version__} finds no GPU here")
    if wanted == "cpu" or count == 0:
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("UKEMI_SLOT", "0")) % count)


def carrier_of(places: List[str], has_nccl: bool) -> str:
    """"nccl" where each rank's model is on a GPU of its own, else "gloo", by way of the host."""
    apart = len(set(places)) == len(places) > 1
    return "nccl" if has_nccl and apart and all(one != "cpu" for one in places) else "gloo"
