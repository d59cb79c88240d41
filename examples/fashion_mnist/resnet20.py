"""ResNet-20 on Fashion-MNIST, on a GPU where there is one: `ukemi train --script resnet20.py`.

With UKEMI_DEVICE=cuda it is an error where there is none. Data as train.py has them.
"""

import torch
from torch import nn
from torch.utils.data import TensorDataset

import train
import ukemi.torch

DEVICE = ukemi.torch.device()


class Block(nn.Module):
    """Two convolutions beside a shortcut, which has no weights (He et al., arXiv:1512.03385)."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.stride = stride
        self.first = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.first_norm, self.second_norm = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)

    def forward(self, inputs):
        found = torch.relu(self.first_norm(self.first(inputs)))
        found = self.second_norm(self.second(found))
        shortcut = inputs[:, :, :: self.stride, :: self.stride]
        more = found.shape[1] - shortcut.shape[1]
        return torch.relu(found + nn.functional.pad(shortcut, (0, 0, 0, 0, 0, more)))


def make():
    count = int(train.os.environ.get("IMAGES", "60000"))
    images = train.read_idx("train-images-idx3-ubyte.gz")[:count].unsqueeze(1)
    labels = train.read_idx("train-labels-idx1-ubyte.gz")[:count].long()
    stages = [(16, 16, 1), (16, 32, 2), (32, 64, 2)]
    blocks = [
        Block(inputs if number == 0 else outputs, outputs, stride if number == 0 else 1)
        for inputs, outputs, stride in stages
        for number in range(3)
    ]
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), *blocks,
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    ).to(DEVICE)  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    return model, optimizer, TensorDataset(images, labels), scheduler


def loss(model, batch):
    images, labels = (one.to(DEVICE) for one in batch)
    scores = model(images.float().div(255).sub(0.286).div(0.353))
    return nn.functional.cross_entropy(scores, labels), (scores.argmax(1) == labels).sum()
