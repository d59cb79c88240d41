"""Gradients averaged by a codec: the product's own code encodes them, the group carries messages.

A codec takes the model's tensors in their order, in buckets of its own, when the backward pass is
over. So what arrives is what it would be among ukemi's own workers, error feedback and warm starts
included; but nothing of it is hidden behind the backward pass, and it computes on the processor.
"""

from typing import Any, List, NamedTuple, Optional, Tuple

import torch
import torch.distributed as dist

from ukemi._core import GradientExchange
from ukemi.torch.group import Group
from ukemi.torch.plan import Plan


class CodecMemory(NamedTuple):
    """What lasts from step to step, as kernels/replica.hpp has it."""

    codec: str
    level: float
    shared: torch.Tensor  # a warm start, the same on all ranks
    kept: torch.Tensor  # what of this rank's gradients has not arrived: its own


def _row(data: bytearray) -> torch.Tensor:
    return torch.frombuffer(data, dtype=torch.float32) if data else torch.empty(0)


class _Peers:
    """Carries what GradientExchange asks for, in place, on memory of its own."""

    def __init__(self, group: Group) -> None:
        self._group = group
        assert group.process_group is not None
        self._carrier: Any = group.process_group

    def all_reduce(self, memory: memoryview, kind: str, how: str) -> None:
        if not memory:
            return
        row = torch.frombuffer(memory, dtype=getattr(torch, kind))
        carried = row.int() if row.dtype == torch.int16 else row  # Gloo has no 16 bits
        options = dist.AllreduceOptions()
        options.reduceOp = dist.ReduceOp.MAX if how == "max" else dist.ReduceOp.SUM
        with self._group.collective("gradients"):
            self._group.finish(self._group.issue(self._carrier.allreduce([carried], options)))
        if carried is not row:
            row.copy_(carried)

    def all_gather(self, own: bytes, everybody: memoryview) -> None:
        if not own:
            return
        one = torch.frombuffer(bytearray(own), dtype=torch.uint8)
        all_of_them = list(torch.frombuffer(everybody, dtype=torch.uint8).split(len(own)))
        with self._group.collective("gradients"):
            self._group.finish(self._group.issue(self._carrier.allgather([all_of_them], [one])))

    def broadcast(self, memory: memoryview, root: int) -> None:
        if memory:
            self._group.broadcast(torch.frombuffer(memory, dtype=torch.uint8), root, "gradients")


class CodecExchange:
    """One codec in one group."""

    def __init__(
        self,
        plan: Plan,
        error_feedback: bool,
        parameters: List[torch.nn.Parameter],
        group: Group,
        seed: int,
        bucket_bytes: int,
    ) -> None:
        self.codec = plan.codec
        self.level = plan.codec_level
        self._parameters = parameters
        self._peers = _Peers(group)
        self._exchange = GradientExchange(
            codec=plan.codec,
            level=plan.codec_level,
            error_feedback=error_feedback,
            seed=seed,
            shapes=[_shape_of(one) for one in parameters],
            bucket_bytes=bucket_bytes,
            rank=group.rank,
            ranks=group.size,
        )

    def average(
        self, step: int, memory: Optional[CodecMemory]
    ) -> Tuple[int, int, float, float]:
        """In place of each parameter's gradient. Returns codec_ns, bytes, lost and whole."""
        shared = kept = torch.empty(0)
        if memory is not None:
            kept = memory.kept  # whatever codec left it
            if (memory.codec, memory.level) == (self.codec, self.level):
                shared = memory.shared
        self._exchange.begin(step, shared.numpy(), kept.numpy())
        gradient = flat_gradient(self._parameters).cpu()
        self._exchange.average(self._peers, gradient.numpy())
        at = 0
        for one in self._parameters:
            if one.grad is not None:
                one.grad.copy_(gradient[at : at + one.numel()].view_as(one))
            at += one.numel()
        measured: Tuple[int, int, float, float] = self._exchange.measures
        return measured

    def memory(self) -> CodecMemory:
        """After the step."""
        shared, kept = self._exchange.memory()
        return CodecMemory(self.codec, self.level, _row(shared), _row(kept))


def _shape_of(parameter: torch.Tensor) -> Tuple[int, int]:
    """As a matrix: outputs by the rest of a weight."""
    if parameter.dim() < 2 or parameter.numel() == 0:
        return parameter.numel(), 1
    return parameter.shape[0], parameter.numel() // parameter.shape[0]


def flat_gradient(parameters: List[torch.nn.Parameter]) -> torch.Tensor:
    """Of all parameters in one row, copied; nothing where there is none."""
    rows = [
        (torch.zeros_like(one) if one.grad is None else one.grad).detach().reshape(-1)
        for one in parameters
    ]
    return torch.cat(rows)
