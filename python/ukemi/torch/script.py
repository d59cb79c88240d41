"""The user's script: what it must have, and what is taken where it says nothing."""

import random
import sys
from types import ModuleType
from typing import Any, Callable, List, Tuple

import torch
from torch.utils.data import TensorDataset, default_collate

from ukemi.user_file import load_user_file


class ScriptError(Exception):
    """It lacks what a training needs."""


def seed_draws(text: str) -> None:
    """Everything that draws begins anew from the text: torch, Python and, if it is there, NumPy."""
    seed = int.from_bytes(_digest(text), "little") >> 1
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed & 0xFFFFFFFF)


def _digest(text: str) -> bytes:
    import hashlib

    return hashlib.blake2b(text.encode(), digest_size=8).digest()


def load_script(path: str) -> ModuleType:
    """Runs the file as a module; what stands beside it can be imported."""
    module = load_user_file(path)
    for name in ("make", "loss"):
        if not callable(getattr(module, name, None)):
            raise ScriptError(f"{path}: expected a function {name}")
    return module


class Task:
    """What the script makes: a model, its optimizer, a data set, and perhaps a scheduler."""

    def __init__(self, module: ModuleType, seed: int) -> None:
        seed_draws(f"{seed}/make")
        made = module.make()
        if not isinstance(made, tuple) or len(made) not in (3, 4):
            raise ScriptError(
                "make: expected (model, optimizer, dataset) or (model, optimizer, dataset, "
                f"scheduler), found {type(made).__name__}"
            )
        self.model: torch.nn.Module = made[0]
        self.optimizer: torch.optim.Optimizer = made[1]
        self.dataset: Any = made[2]
        self.scheduler: Any = made[3] if len(made) == 4 else None
        if not isinstance(self.model, torch.nn.Module):
            raise ScriptError(f"make: expected a Module first, found {type(made[0]).__name__}")
        if not isinstance(self.optimizer, torch.optim.Optimizer):
            raise ScriptError(f"make: expected an Optimizer second, found {type(made[1]).__name__}")
        if len(self.dataset) < 1:
            raise ScriptError("make: expected samples in the data set")
        if not any(one.requires_grad for one in self.model.parameters()):
            raise ScriptError("make: expected a model with parameters to train")
        self.scheduler_every = getattr(module, "scheduler_every", "epoch")
        if self.scheduler_every not in ("epoch", "step"):
            raise ScriptError('scheduler_every: expected "epoch" or "step"')
        self.find_unused_parameters = bool(getattr(module, "find_unused_parameters", False))
        self._loss: Callable[[torch.nn.Module, Any], Any] = module.loss
        self._batch = getattr(module, "batch", None)

    def batch(self, indices: List[int]) -> Any:
        """Samples of the data set together."""
        if self._batch is not None:
            return self._batch(self.dataset, indices)
        if type(self.dataset) is TensorDataset:
            return self.dataset[torch.tensor(indices)]
        return default_collate([self.dataset[index] for index in indices])

    def loss(self, model: torch.nn.Module, batch: Any) -> Tuple[torch.Tensor, float]:
        """The mean over the batch, and how many of it were right (0 if the script does not say)."""
        value = self._loss(model, batch)
        right = 0.0
        if isinstance(value, tuple):
            value, counted = value
            right = float(counted)
        if not torch.is_tensor(value) or value.dim() != 0:
            raise ScriptError("loss: expected the mean over the batch, a tensor of one number")
        return value, right


class SampleOrder:
    """Which sample stands at which place of the training: a permutation of its own each epoch."""

    def __init__(self, seed: int, count: int) -> None:
        self._seed = seed
        self._count = count
        self._epoch = -1
        self._permutation: List[int] = []

    def take(self, begin: int, count: int) -> List[int]:
        """The samples at places begin, begin + 1, … counted from the job's start."""
        taken: List[int] = []
        while len(taken) < count:
            epoch, place = divmod(begin + len(taken), self._count)
            if epoch != self._epoch:
                generator = torch.Generator()
                seed = _digest(f"{self._seed}/data/epoch/{epoch}")
                generator.manual_seed(int.from_bytes(seed, "little") >> 1)
                self._permutation = torch.randperm(self._count, generator=generator).tolist()
                self._epoch = epoch
            taken += self._permutation[place : place + count - len(taken)]
        return taken


def peer_of(seed: int, step: int, rank: int, size: int) -> int:
    """Who averages with `rank` in this step; itself for the one that is left over."""
    order = list(range(size))
    random.Random(f"{seed}/pairs/{step}").shuffle(order)
    place = order.index(rank) ^ 1
    return order[place] if place < size else rank
