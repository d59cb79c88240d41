"""PyTorch training under ukemi's policies: `ukemi train SCENARIO --script train.py`.

A script has a function `make()` that returns a model, its optimizer and a data set (and, if there
is one, a scheduler as a fourth), and `loss(model, batch)`, the mean over a batch, alone or with how
many of it were right. It may have `batch(dataset, indices)`, where default_collate does not fit;
`scheduler_every = "step"`, where a scheduler steps once a step and not once an epoch; and
`find_unused_parameters = True`, for DistributedDataParallel. docs/pytorch.md tells all of it.

Nothing here imports torch: the workers do.
"""

from ukemi.torch.calibration import calibrate
from ukemi.torch.gpus import device

__all__ = ["calibrate", "device"]
