"""LeNet-5 on Fashion-MNIST, as `ukemi train --script` takes it.

The images are those of Debian's package dataset-fashion-mnist, or of the folder FASHION_MNIST;
IMAGES, if it is set, is how many of the 60,000 are trained on.
"""

import gzip
import os
import struct
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import TensorDataset

FOLDER = Path(os.environ.get("FASHION_MNIST", "/usr/share/datasets/fashion-mnist"))


def read_idx(name):
    """A file of the form IDX: its last dimensions are those that its header says."""
    with gzip.open(FOLDER / name) as stream:
        data = stream.read()
    dimensions = data[3]
    shape = struct.unpack_from(f">{dimensions}I", data, 4)
    values = torch.frombuffer(bytearray(data[4 + 4 * dimensions :]), dtype=torch.uint8)
    return values.reshape(shape)


def make():
    count = int(os.environ.get("IMAGES", "60000"))
    images = read_idx("train-images-idx3-ubyte.gz")[:count].unsqueeze(1)
    labels = read_idx("train-labels-idx1-ubyte.gz")[:count].long()
    model = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(),
        nn.Linear(120, 84), nn.ReLU(),
        nn.Linear(84, 10),
    )  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    return model, optimizer, TensorDataset(images, labels), scheduler


def loss(model, batch):
    images, labels = batch
    scores = model(images.float().div(255).sub(0.286).div(0.353))
    return nn.functional.cross_entropy(scores, labels), (scores.argmax(1) == labels).sum()
