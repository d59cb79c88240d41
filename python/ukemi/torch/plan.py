"""A Plan as the coordinator sends it, its digest, and what a step of it is."""

import json
from typing import Any, Dict, Tuple

from ukemi import _core
from ukemi._core import InputError, bit_hash, codec_refusal


class _Exact(float):
    """A number that remembers how it was written."""

    written: str

    def __new__(cls, text: str) -> "_Exact":
        number = super().__new__(cls, text)
        number.written = text
        return number


def _text(value: Any) -> str:
    if isinstance(value, dict):
        parts = (f"{_text(key)}:{_text(value[key])}" for key in sorted(value))
        return "{" + ",".join(parts) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    if isinstance(value, _Exact):
        return value.written
    return json.dumps(value, ensure_ascii=False)


class PlanError(ValueError):
    """It is no Plan, or one that these workers cannot carry out."""


# The fields that a worker acts on. All others are the coordinator's: machines, markets, saving.
_ACTED_ON: Tuple[Tuple[str, type], ...] = (
    ("version", int),
    ("learners_per_gpu", int),
    ("batch_per_learner", int),
    ("global_batch", int),
    ("accumulation", int),
    ("learning_rate", float),
    ("synchronisation", str),
    ("collective", str),
    ("codec", str),
    ("codec_level", float),
    ("layout", dict),
)
_KNOWN = {name for name in dir(_core.Plan) if not name.startswith("_")}
SYNCHRONISATIONS = ("s_sgd", "synchronous_averaging", "pair_averaging")


class Plan:
    """What a worker does under a committed Plan."""

    version: int
    learners_per_gpu: int
    batch_per_learner: int
    global_batch: int
    accumulation: int
    learning_rate: float
    synchronisation: str
    collective: str
    codec: str
    codec_level: float
    layout: Dict[str, int]

    def __init__(self, text: str) -> None:
        try:
            document = json.loads(text, parse_float=_Exact)
        except ValueError as error:
            raise PlanError(f"a Plan that is no JSON: {error}") from error
        if not isinstance(document, dict):
            raise PlanError("a Plan that is no object")
        for name, kind in _ACTED_ON:
            value = document.get(name)
            if kind is float and isinstance(value, int) and not isinstance(value, bool):
                value = float(value)
            if not isinstance(value, kind) or isinstance(value, bool):
                raise PlanError(f"a Plan without {name}")
            setattr(self, name, value)
        unknown = set(document) - _KNOWN
        if unknown:
            raise PlanError(f"a Plan with {sorted(unknown)[0]}, which this worker does not know")
        # Of what was understood, and not of the text that came.
        self.digest = bit_hash(_text(document).encode())
        refusal = self._refusal()
        if refusal:
            raise PlanError(refusal)

    def _refusal(self) -> str:
        if self.synchronisation not in SYNCHRONISATIONS:
            return f"{self.synchronisation} cannot be trained here"
        if self.codec != "none":
            try:
                refusal = codec_refusal(self.codec, self.codec_level)
            except InputError as error:
                refusal = str(error)
            if refusal:
                return f"codec {self.codec}: {refusal}"
        if self.collective != "automatic":
            return "workers of a script exchange as PyTorch does"
        if any(count != 1 for count in self.layout.values()):
            return "only data parallel layouts can be trained here"
        averages = self.synchronisation != "s_sgd"
        if averages and (self.learners_per_gpu != 1 or self.codec != "none"):
            return f"{self.synchronisation} takes one learner a worker and no codec"
        counts = (self.learners_per_gpu, self.batch_per_learner, self.accumulation)
        if any(count < 1 for count in counts) or self.global_batch < 0:
            return "a step without samples"
        return ""

    def samples(self, workers: int) -> int:
        """Of one step of so many workers together."""
        if self.global_batch > 0:
            return self.global_batch
        return self.batch_per_learner * self.learners_per_gpu * self.accumulation * workers

    def parts(self) -> int:
        """Micro-batches that a worker makes of its share."""
        return self.accumulation * self.learners_per_gpu


def share_of(samples: int, rank: int, size: int) -> Tuple[int, int]:
    """Where a rank's part of n samples begins, and how many it has."""
    each, more = divmod(samples, size)
    return each * rank + min(rank, more), each + (1 if rank < more else 0)
