"""One worker's copy of the model and what its optimizer remembers: undone, saved, sent whole."""

import copy
import hashlib
import io
import json
import struct
from collections import Counter
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import torch

from ukemi._core import add_noise, noise_scale
from ukemi.torch.codec import CodecMemory
from ukemi.torch.script import Task

# Torch writes and reads a tensor in one go, and lets no other thread run meanwhile.
_PIECE_BYTES_MAX = 16 << 20


class StateError(Exception):
    """Bytes that are no state of this model."""


class NoiseAverages:
    """Moving averages of |G|² and tr Σ, corrected for their beginning (gradient_noise.hpp)."""

    def __init__(self, smoothing: float) -> None:
        self.smoothing = smoothing
        self.values: Tuple[float, float, int] = (0.0, 0.0, 0)

    def add(self, squared_norm: float, covariance_trace: float) -> None:
        """One step's estimates; what is not finite is ignored."""
        self.values = add_noise(self.values, squared_norm, covariance_trace, self.smoothing)

    def scale(self) -> float:
        """tr Σ ÷ |G|², in samples; 0 while it has no meaning."""
        return noise_scale(self.values)


def _packed(value: Any, tensors: List[torch.Tensor]) -> Any:
    """As JSON has it; tensors go to the list, and stand as their number, or as those of pieces."""
    if torch.is_tensor(value):
        first, piece = len(tensors), max(1, _PIECE_BYTES_MAX // value.element_size())
        if value.layout != torch.strided or value.numel() <= piece:
            tensors.append(value.detach().cpu().clone())
            return {"tensor": first}
        row = value.detach().reshape(-1)
        tensors.extend(one.cpu().clone() for one in row.split(piece))
        return {"pieces": [first, len(tensors) - first, list(value.shape)]}
    if isinstance(value, (Counter, dict)):
        kind = "counter" if isinstance(value, Counter) else "map"
        return {kind: [[_packed(k, tensors), _packed(v, tensors)] for k, v in value.items()]}
    if isinstance(value, (list, tuple)):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_packed(one, tensors) for one in value]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise StateError(f"holds a {type(value).__name__}, which cannot be saved")


def _unpacked(value: Any, tensors: List[torch.Tensor]) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, inside),) = value.items()
    if kind == "tensor":
        return tensors[inside]
    if kind == "pieces":
        first, count, shape = inside
        return torch.cat(tensors[first : first + count]).reshape(shape)
    if kind in ("map", "counter"):
        items = [(_unpacked(k, tensors), _unpacked(v, tensors)) for k, v in inside]
        return dict(items) if kind == "map" else Counter(dict(items))
    row = [_unpacked(one, tensors) for one in inside]
    return tuple(row) if kind == "tuple" else row


def pack(state: Dict[str, Any]) -> bytes:
    """Plain values and tensors, in a form from which nothing can be run."""
    tensors: List[torch.Tensor] = []
    text = json.dumps(_packed(state, tensors)).encode()
    into = io.BytesIO()
    into.write(struct.pack("<Q", len(text)) + text)
    torch.save(tensors, into)
    return into.getvalue()


class _Memory(io.RawIOBase):
    """A file of what lies in memory already; io.BytesIO would copy it first."""

    def __init__(self, data: memoryview) -> None:
        super().__init__()
        self._data = data
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = max(0, (0, self._at, len(self._data))[whence] + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, into: Any) -> int:
        part = self._data[self._at : self._at + len(into)]
        memoryview(into).cast("B")[: len(part)] = part
        self._at += len(part)
        return len(part)


def unpack(data: Union[bytes, memoryview]) -> Dict[str, Any]:
    """What pack() was given."""
    (size,) = struct.unpack_from("<Q", data)
    whole = memoryview(data)
    tensors = torch.load(_Memory(whole[8 + size :]), map_location="cpu", weights_only=True)
    state = _unpacked(json.loads(bytes(whole[8 : 8 + size])), tensors)
    assert isinstance(state, dict)
    return state


def _copied(state: Dict[str, Any]) -> Dict[str, Any]:
    return {
        key: value.clone() if torch.is_tensor(value) else copy.deepcopy(value)
        for key, value in state.items()
    }


class Kept(NamedTuple):
    """A whole replica beside the present one."""

    weights: List[torch.Tensor]
    buffers: List[torch.Tensor]
    optimizer: Dict[Any, Dict[str, Any]]
    rest: Dict[str, Any]


class Replica:
    """The script's model and optimizer, with the state before the last step beside them."""

    def __init__(self, task: Task, noise_smoothing: float) -> None:
        self._task = task
        self._weights = list(task.model.parameters())
        self._buffers = list(task.model.buffers())
        self.noise = NoiseAverages(noise_smoothing)
        self.synchronisation = "s_sgd"
        self.learning_rate = 0.0  # of the last step
        self.steps = 0
        # Of synchronous averaging: the average model, and that before the last step.
        self.central: Optional[torch.Tensor] = None
        self.central_previous: Optional[torch.Tensor] = None
        self.codec: Optional[CodecMemory] = None
        self.can_undo = False
        self._before_weights = [torch.empty_like(one) for one in self._weights]
        self._before_buffers = [torch.empty_like(one) for one in self._buffers]
        self._begun_buffers = [torch.empty_like(one) for one in self._buffers]
        self._before_optimizer: Dict[Any, Dict[str, Any]] = {}
        self._before_rest: Dict[str, Any] = {}

    # ---- a step ----

    def begin(self) -> None:
        """A step is computed: the model's own buffers (running means) may change in it."""
        with torch.no_grad():
            for kept, one in zip(self._begun_buffers, self._buffers):
                kept.copy_(one)

    def call_off(self) -> None:
        """The step came to nothing."""
        with torch.no_grad():
            for kept, one in zip(self._begun_buffers, self._buffers):
                one.copy_(kept)

    def keep(self) -> None:
        """Before the update: from here undo() comes back."""
        with torch.no_grad():
            for kept, one in zip(self._before_weights, self._weights):
                kept.copy_(one)
            self._before_buffers, self._begun_buffers = self._begun_buffers, self._before_buffers
            self._keep_optimizer()
        self._before_rest = self._rest()
        self.can_undo = True

    def _rest(self) -> Dict[str, Any]:
        scheduler = self._task.scheduler
        return {
            "scheduler": copy.deepcopy(scheduler.state_dict()) if scheduler else None,
            "groups": [
                {key: value for key, value in group.items() if key != "params"}
                for group in self._task.optimizer.param_groups
            ],
            "noise": self.noise.values,
            "synchronisation": self.synchronisation,
            "learning_rate": self.learning_rate,
            "steps": self.steps,
            "central": self.central,
            "central_previous": self.central_previous,
            "codec": self.codec,
        }

    def _keep_optimizer(self) -> None:
        optimizer = self._task.optimizer
        kept_all = self._before_optimizer
        for gone in [one for one in kept_all if one not in optimizer.state]:
            del kept_all[gone]
        for parameter, state in optimizer.state.items():
            kept = kept_all.setdefault(parameter, {})
            for gone in [key for key in kept if key not in state]:
                del kept[gone]
            for key, value in state.items():
                if not torch.is_tensor(value):
                    kept[key] = copy.deepcopy(value)
                elif key in kept and kept[key].shape == value.shape:
                    kept[key].copy_(value)
                else:
                    kept[key] = value.clone()

    def undo(self) -> "Kept":
        """The last step. What is returned is what redo() takes."""
        assert self.can_undo
        self.can_undo = False
        ahead = Kept(
            [one.detach().clone() for one in self._weights],
            [one.clone() for one in self._buffers],
            {one: _copied(state) for one, state in self._task.optimizer.state.items()},
            self._rest(),
        )
        self._put(
            Kept(
                self._before_weights,
                self._before_buffers,
                self._before_optimizer,
                self._before_rest,
            )
        )
        return ahead

    def redo(self, ahead: "Kept") -> None:
        """As before undo(), which may be called again."""
        for kept, one in zip(self._begun_buffers, self._buffers):
            kept.copy_(one)
        self.keep()
        self._put(ahead)

    def _put(self, kept: "Kept") -> None:
        optimizer = self._task.optimizer
        with torch.no_grad():
            for saved, one in zip(kept.weights, self._weights):
                one.copy_(saved)
            for saved, one in zip(kept.buffers, self._buffers):
                one.copy_(saved)
        for gone in [one for one in optimizer.state if one not in kept.optimizer]:
            del optimizer.state[gone]
        for parameter, state in kept.optimizer.items():
            optimizer.state[parameter] = _copied(state)
        for group, before in zip(optimizer.param_groups, kept.rest["groups"]):
            group.update(before)
        self._restore_rest(kept.rest)

    def _restore_rest(self, rest: Dict[str, Any]) -> None:
        if self._task.scheduler is not None and rest["scheduler"] is not None:
            self._task.scheduler.load_state_dict(rest["scheduler"])
        norm, trace, count = rest["noise"]
        self.noise.values = (norm, trace, count)
        self.synchronisation = rest["synchronisation"]
        self.learning_rate = rest["learning_rate"]
        self.steps = rest["steps"]
        self.central = rest["central"]
        self.central_previous = rest["central_previous"]
        codec = rest["codec"]
        self.codec = None if codec is None else CodecMemory(*codec)

    # ---- averaging ----

    def flat(self) -> torch.Tensor:
        """All weights in one row of the host's memory, copied."""
        with torch.no_grad():
            return torch.cat([one.detach().reshape(-1) for one in self._weights]).cpu()

    def add_flat(self, row: torch.Tensor, factor: float = 1.0) -> None:
        """w ← w + factor · row."""
        at = 0
        with torch.no_grad():
            for one in self._weights:
                part = row[at : at + one.numel()].view_as(one).to(one.device)
                one.add_(part, alpha=factor)
                at += one.numel()

    def set_flat(self, row: torch.Tensor) -> None:
        """w ← row."""
        at = 0
        with torch.no_grad():
            for one in self._weights:
                one.copy_(row[at : at + one.numel()].view_as(one))
                at += one.numel()

    def restart_from(self, row: torch.Tensor) -> None:
        """From one common model, with nothing that the optimizer remembers."""
        self.set_flat(row)
        self._task.optimizer.state.clear()
        self.central = self.central_previous = None
        self.codec = None

    # ---- whole ----

    def parameter_count(self) -> int:
        return sum(one.numel() for one in self._weights)

    def place(self) -> str:
        """Where the model is: "cpu", "cuda:1"."""
        return str(self._weights[0].device)

    def single_precision(self) -> bool:
        """Whether all weights are: codecs take no others."""
        return all(one.dtype == torch.float32 for one in self._weights)

    def digest(self) -> int:
        """64 bits over what the next step depends on.

        Not over the model's own buffers: each rank has those of its samples until the next step,
        for which all take rank 0's.
        """
        total = hashlib.blake2b(digest_size=8)
        total.update(struct.pack("<q", self.steps))
        for one in self._weights:
            total.update(_bytes_of(one))
        for parameter in self._weights:
            state = self._task.optimizer.state.get(parameter, {})
            for key in sorted(state):
                value = state[key]
                total.update(_bytes_of(value) if torch.is_tensor(value) else repr(value).encode())
        shared = None if self.codec is None else self.codec.shared
        for row in (self.central, self.central_previous, shared):
            if row is not None:
                total.update(_bytes_of(row))
        return int.from_bytes(total.digest(), "little")

    def state(self) -> bytes:
        """All of it; restore() takes it."""
        task = self._task
        rest = self._rest()
        del rest["groups"]  # the optimizer's own state has them
        if self.codec is not None:  # a newcomer does not say again what was kept here
            rest["codec"] = self.codec._replace(kept=torch.empty(0))
        return pack(
            {
                "model": dict(task.model.state_dict()),
                "optimizer": task.optimizer.state_dict(),
                **rest,
            }
        )

    def restore(self, data: Union[bytes, memoryview]) -> None:
        """Raises StateError, in one line; then the replica must not be used."""
        try:
            state = unpack(data)
            self._task.model.load_state_dict(state["model"])
            self._task.optimizer.load_state_dict(state["optimizer"])
            self._restore_rest(state)
        except Exception as error:  # whatever pickle and torch make of foreign bytes
            text = " ".join(str(error).split())[:300]
            raise StateError(f"is no state of this script's model: {text}") from error
        self.can_undo = False


def _bytes_of(tensor: torch.Tensor) -> Any:
    row = tensor.detach().cpu().contiguous().reshape(-1)
    return memoryview(row.view(torch.uint8).numpy())
