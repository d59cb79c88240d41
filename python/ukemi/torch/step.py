"""One step of one worker: its share of the samples, their gradient, the exchange, the update.

The gradient is exchanged by DistributedDataParallel, bucket by bucket, while the backward pass
still runs. A hook sees each bucket before it is summed, so that the noise of the gradient is known
without a second backward pass. Under a codec the hook only measures, and the whole gradient is
exchanged afterwards (codec.py). What can fail comes first: the replica is touched when everything
has arrived.
"""

import time
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from ukemi._core import noise_of_replicas
from ukemi.torch.codec import CodecExchange
from ukemi.torch.group import Group, PeersFailed
from ukemi.torch.messages import WORD, WORD_FIELDS, report_bytes
from ukemi.torch.plan import Plan, share_of
from ukemi.torch.replica import Replica
from ukemi.torch.script import SampleOrder, Task, peer_of, seed_draws

_WORD_AT = {name: place for place, (name, _) in enumerate(WORD_FIELDS)}
# Of synchronous averaging (Crossbow, KungFu), as kernels/replica.hpp has them.
_AVERAGING_RATE = 0.1


class StepDone(NamedTuple):
    """What all ranks know after a step."""

    samples: int
    hold: int
    report: bytes


class PlansDiffer(Exception):
    """Ranks came with different Plans: nothing was applied."""


class TrainingStep:
    """Steps of one group. A step that failed is its last one."""

    def __init__(
        self,
        task: Task,
        replica: Replica,
        group: Group,
        seed: int,
        bucket_bytes: int,
        error_feedback: bool = True,
    ) -> None:
        self._task = task
        self._replica = replica
        self._group = group
        self._seed = seed
        self._bucket_bytes = bucket_bytes
        self._order = SampleOrder(seed, len(task.dataset))
        self._parallel: Optional[DistributedDataParallel] = None
        self._error_feedback = error_feedback
        self._encoder: Optional[CodecExchange] = None  # of the last codec
        self._exposed_ns = 0  # of the step before
        # Of the step under way:
        self._word: List[Any] = []
        self._buckets: List[torch.Tensor] = []
        self._summed: List[Any] = []  # of the buckets: the work, what is sent, where it belongs
        self._places: Dict[torch.Tensor, int] = {}
        at = 0
        for one in task.model.parameters():
            self._places[one] = at
            at += one.numel()
        self._weight = 1.0
        self._encodes = False
        self._kept: Optional[torch.Tensor] = None  # of a codec that is no longer, to be said now
        self._words_out = torch.zeros(WORD.size, dtype=torch.uint8)
        self._words_in = [torch.zeros(WORD.size, dtype=torch.uint8) for _ in range(group.size)]
        self._words_work: Any = None
        self._begun = 0
        self._exchange: Optional["_Exchange"] = None

    def close(self) -> None:
        """Its hooks leave the model."""
        if self._parallel is not None:
            # Both refer to each other; the model is free of them now and not when that is found.
            self._parallel.reducer = None
            self._parallel.logger = None
            self._parallel = None

    def run(self, plan: Plan, step: int, position: int, hold_seen: int) -> StepDone:
        """Raises PeersFailed or PlansDiffer; then nothing was applied."""
        self._replica.begin()
        self._exchange = None
        try:
            return self._run(plan, step, position, hold_seen)
        except BaseException as error:
            if self._exchange is not None:
                self._exchange.put_back()
            self._replica.call_off()
            peers_failed = isinstance(error, RuntimeError) and self._group.is_failure(error)
            if peers_failed and not isinstance(error, PeersFailed):
                raise self._group.failure(f"step {step}", error) from error
            raise

    def _run(self, plan: Plan, step: int, position: int, hold_seen: int) -> StepDone:
        group = self._group
        self._begun = time.perf_counter_ns()
        samples = plan.samples(group.size)
        begin, count = share_of(samples, group.rank, group.size)
        indices = self._order.take(position + begin, count)
        self._word = [plan.version, plan.digest, step, hold_seen, group.rank, count]
        self._word += [0.0, 0.0, 0.0, 0.0, 0, 0, self._exposed_ns, 0, 0, 0, 0.0, 0.0]
        self._word += [0, 0, 0, 0.0]  # links between hosts are not measured here
        seed_draws(f"{self._seed}/step/{step}/{group.rank}")
        restart = self._restart(plan)
        exchange = self._exchange = _Exchange(self, plan, step, restart)
        input_ns = self._gradient(plan, indices, samples)
        computed = time.perf_counter_ns()
        if self._encodes:
            self._average_by_codec(plan, step)
        with group.collective("gradients"):
            for work, sent, buffer in self._summed:
                group.finish(work)
                if sent is not buffer:
                    buffer.copy_(sent)
        exchange.finish()
        words = self._finish_words()
        arrived = time.perf_counter_ns()
        self._exposed_ns = arrived - computed
        self._set("exposed_ns", self._exposed_ns)
        self._set("input_ns", input_ns)
        self._set("compute_ns", computed - self._begun - input_ns)
        average = sum((_squared_norm(one) for one in self._buckets), 0.0)
        self._set("average_squared_norm", average)
        return self._apply(plan, words, samples, average, exchange, position)

    # ---- the gradient ----

    def _gradient(self, plan: Plan, indices: List[int], samples: int) -> int:
        """Of the share, in micro-batches; the last one is exchanged. Returns the wait for data."""
        task = self._task
        task.model.train()
        task.optimizer.zero_grad(set_to_none=True)
        together = plan.synchronisation == "s_sgd" and self._group.size > 1
        self._encodes = together and plan.codec != "none"
        remembered = self._replica.codec
        self._kept = None
        if remembered is not None and len(remembered.kept) > 0 and not self._encodes:
            self._kept = remembered.kept if plan.synchronisation == "s_sgd" else None
        model: Any = self._distributed() if together else task.model
        # A rank without samples takes part with a gradient of nothing.
        weighed = len(indices) > 0
        indices = indices or self._order.take(0, 1)
        own = samples / self._group.size if together else float(len(indices))
        self._weight = own / len(indices)  # of the mean over its share; what is summed is ÷ size
        self._buckets, self._summed = [], []
        parts = min(plan.parts(), len(indices))
        input_ns = 0
        for part in range(parts):
            at, count = share_of(len(indices), part, parts)
            asked = time.perf_counter_ns()
            batch = task.batch(indices[at : at + count])
            input_ns += time.perf_counter_ns() - asked
            factor = count / own if weighed else 0.0
            last = part + 1 == parts
            if together and not last:
                with model.no_sync():
                    self._backward(model, batch, count, factor, weighed)
            else:
                self._backward(model, batch, count, factor, weighed)
        if not together:
            self._note_gradient()
        return input_ns

    def _backward(
        self, model: Any, batch: Any, count: int, factor: float, weighed: bool
    ) -> None:
        loss, right = self._task.loss(model, batch)
        if weighed:
            self._add("loss_sum", float(loss.detach()) * count)
            self._add("correct", right)
        (loss * factor).backward()

    def _note_gradient(self) -> None:
        """Of a rank that exchanges none."""
        gradients = [one.grad for one in self._task.model.parameters() if one.grad is not None]
        norm = sum((_squared_norm(one) for one in gradients), 0.0)
        self._set("local_squared_norm", norm)
        parameters = self._task.model.parameters()
        self._join_kept([(one, one.grad) for one in parameters if one.grad is not None])
        if self._group.size == 1:
            self._buckets = gradients
        self._send_words()

    def _join_kept(self, gradients: List[Tuple[torch.Tensor, torch.Tensor]]) -> None:
        """What a codec kept, and no codec is there to say any more."""
        if self._kept is None:
            return
        for parameter, gradient in gradients:
            at = self._places[parameter]
            part = self._kept[at : at + parameter.numel()].view_as(gradient)
            gradient.add_(part.to(gradient.device))

    def _average_by_codec(self, plan: Plan, step: int) -> None:
        """Of the gradients that the backward pass left; then the words, which tell of it."""
        encoder = self._encoder
        if encoder is None or (encoder.codec, encoder.level) != (plan.codec, plan.codec_level):
            encoder = self._encoder = CodecExchange(
                plan,
                self._error_feedback,
                list(self._task.model.parameters()),
                self._group,
                self._seed,
                self._bucket_bytes,
            )
        begun = time.perf_counter_ns()
        codec_ns, sent, lost, whole = encoder.average(step, self._replica.codec)
        self._set("codec_ns", codec_ns)
        self._set("communication_ns", max(0, time.perf_counter_ns() - begun - codec_ns))
        self._set("sent_bytes", sent)
        self._set("codec_lost", lost)
        self._set("codec_whole", whole)
        self._send_words()

    def _distributed(self) -> DistributedDataParallel:
        if self._parallel is None:
            with self._group.collective("building the buckets"):
                settings: Any = {
                    "process_group": self._group.gradients,
                    "bucket_cap_mb": self._bucket_bytes / (1 << 20),
                    "gradient_as_bucket_view": True,
                    "find_unused_parameters": self._task.find_unused_parameters,
                }
                self._parallel = DistributedDataParallel(self._task.model, **settings)
            self._parallel.register_comm_hook(self, _bucket_hook)
        return self._parallel

    # ---- what ranks tell each other ----

    def _set(self, field: str, value: Any) -> None:
        self._word[_WORD_AT[field]] = value

    def _add(self, field: str, value: float) -> None:
        self._word[_WORD_AT[field]] += value

    def _send_words(self) -> None:
        """With what is known before the exchange ends; the rest is the rank's own."""
        self._set("compute_ns", time.perf_counter_ns() - self._begun)
        if self._group.size == 1:
            return
        packed = bytearray(WORD.pack(*self._word))
        self._words_out.copy_(torch.frombuffer(packed, dtype=torch.uint8))
        assert self._group.process_group is not None
        with self._group.collective("words"):
            self._words_work = self._group.issue(
                self._group.process_group.allgather([self._words_in], [self._words_out])
            )

    def _finish_words(self) -> List[Tuple[Any, ...]]:
        if self._group.size == 1:
            return [tuple(self._word)]
        with self._group.collective("words"):
            self._group.finish(self._words_work)
        return [WORD.unpack(one.numpy().tobytes()) for one in self._words_in]

    # ---- the update ----

    def _apply(
        self,
        plan: Plan,
        words: List[Tuple[Any, ...]],
        samples: int,
        average: float,
        exchange: "_Exchange",
        position: int,
    ) -> StepDone:
        first = words[0]
        for rank, word in enumerate(words):
            if word[:3] != first[:3] or word[_WORD_AT["rank"]] != rank:
                raise PlansDiffer()
        if sum(word[_WORD_AT["samples"]] for word in words) != samples:
            raise PlansDiffer()
        words[self._group.rank] = tuple(self._word)
        replica = self._replica
        noise = None
        # Of a codec's mean too much is missing, as in ukemi's own workers.
        if plan.synchronisation == "s_sgd" and plan.codec in ("none", "fp16"):
            at = (_WORD_AT["samples"], _WORD_AT["local_squared_norm"])
            noise = noise_of_replicas([(word[at[0]], word[at[1]]) for word in words], average)
        exchange.put_back()
        replica.keep()
        if noise is not None:
            replica.noise.add(*noise)
        exchange.apply()
        encoder = self._encoder if self._encodes else None
        replica.codec = encoder.memory() if encoder is not None else None
        self._schedule(position, samples)
        replica.synchronisation = plan.synchronisation
        replica.learning_rate = plan.learning_rate
        replica.steps += 1
        holds = {word[_WORD_AT["wants_hold"]] for word in words}
        hold = first[_WORD_AT["wants_hold"]] if len(holds) == 1 else 0
        loss = sum(word[_WORD_AT["loss_sum"]] for word in words) / samples
        right = sum(word[_WORD_AT["correct"]] for word in words) / samples
        lost = sum(word[_WORD_AT["codec_lost"]] for word in words)
        whole = sum(word[_WORD_AT["codec_whole"]] for word in words)
        report = report_bytes(
            b"".join(WORD.pack(*word) for word in words),
            samples,
            loss,
            right,
            noise,
            replica.noise.scale(),
            average if plan.synchronisation == "s_sgd" else 0.0,
            (lost / whole) ** 0.5 if whole > 0 else 0.0,
            hold,
        )
        return StepDone(samples, hold, report)

    def update(self, factor: float) -> None:
        """The script's optimizer, at so many times the rate that the script gave it."""
        optimizer = self._task.optimizer
        rates = [group["lr"] for group in optimizer.param_groups]
        for group, rate in zip(optimizer.param_groups, rates):
            group["lr"] = rate * factor
        try:
            optimizer.step()
        finally:
            for group, rate in zip(optimizer.param_groups, rates):
                group["lr"] = rate

    def _schedule(self, position: int, samples: int) -> None:
        scheduler = self._task.scheduler
        if scheduler is None:
            return
        count = len(self._task.dataset)
        epochs = (position + samples) // count - position // count
        for _ in range(1 if self._task.scheduler_every == "step" else epochs):
            scheduler.step()

    def _restart(self, plan: Plan) -> str:
        """The one model from which all begin anew with this step."""
        before = self._replica.synchronisation
        if self._replica.steps == 0:
            return "none"
        if before == plan.synchronisation:
            dropped = plan.learning_rate < self._replica.learning_rate
            return "central" if dropped and before == "synchronous_averaging" else "none"
        return {"synchronous_averaging": "central", "pair_averaging": "rank_0"}.get(before, "own")


def _squared_norm(tensor: torch.Tensor) -> float:
    # Five times as fast as a dot product where that is a reference BLAS's.
    return float(torch.linalg.vector_norm(tensor.detach())) ** 2


def _bucket_hook(
    step: TrainingStep, bucket: dist.GradBucket
) -> torch.futures.Future[torch.Tensor]:
    """Its sum over this rank's samples is complete: measured before it becomes everybody's."""
    buffer = bucket.buffer()
    group = step._group
    # What is summed is ÷ size; the rank's own mean is that divided by its weight.
    step._add("local_squared_norm", _squared_norm(buffer) * step._weight**2)
    step._buckets.append(buffer)
    # The backward pass goes on; what is under way is waited for after it, and not
    # by a callback on a thread of Gloo's, which would need the interpreter's lock.
    handed_in: torch.futures.Future[torch.Tensor] = torch.futures.Future()
    handed_in.set_result(buffer)
    if step._encodes:
        return handed_in
    step._join_kept(list(zip(bucket.parameters(), bucket.gradients())))
    buffer.div_(group.size)
    step._add("sent_bytes", buffer.numel() * buffer.element_size())
    with group.collective("gradients"):
        sent = buffer.cpu() if group.on_host else buffer
        step._summed.append((group.issue(group.gradients.allreduce([sent])), sent, buffer))
    if bucket.is_last():
        step._send_words()
    return handed_in


class _Exchange:
    """What else goes round in a step: nothing for S-SGD, models for those that average."""

    def __init__(self, step: TrainingStep, plan: Plan, number: int, restart: str) -> None:
        self._step = step
        self._plan = plan
        self._works: List[Any] = []
        self._row = torch.empty(0)
        self._own = torch.empty(0)
        replica, group = step._replica, step._group
        self._restarted: Optional[torch.Tensor] = None
        if restart == "central":
            self._restarted = replica.central
        elif restart == "rank_0":
            self._restarted = replica.flat()
            group.broadcast(self._restarted, 0, "restart")
        elif restart == "own" and plan.synchronisation != "s_sgd":
            self._restarted = replica.flat()
        self._present: Optional[torch.Tensor] = None
        if self._restarted is not None:  # the gradient is taken there; certain in the end only
            self._present = replica.flat()
            replica.set_flat(self._restarted)
        if plan.synchronisation == "synchronous_averaging":
            self._begin_averaging()
        elif plan.synchronisation == "pair_averaging":
            self._begin_pairing(number)

    def put_back(self) -> None:
        """The replica is as before the step."""
        if self._present is not None:
            self._step._replica.set_flat(self._present)
            self._present = None

    def _begin_averaging(self) -> None:
        model = self._step._replica.flat()
        central = self._step._replica.central
        if self._restarted is not None or central is None:
            central = model
        self._own = (model - central).mul_(_AVERAGING_RATE)
        self._row = self._own.clone()
        group = self._step._group
        if group.size > 1:
            assert group.process_group is not None
            with group.collective("corrections"):
                self._works = [group.issue(group.process_group.allreduce([self._row]))]

    def _begin_pairing(self, number: int) -> None:
        step = self._step
        self._own = step._replica.flat()
        self._row = torch.empty_like(self._own)
        peer = peer_of(step._seed, number, step._group.rank, step._group.size)
        if peer == step._group.rank:
            self._row.copy_(self._own)
            return
        process_group = step._group.process_group
        assert process_group is not None
        with step._group.collective("pair"):
            self._works = [
                process_group.send([self._own], peer, number & 0x7FFFFFFF),  # no thread's work
                process_group.recv([self._row], peer, number & 0x7FFFFFFF),
            ]

    def finish(self) -> None:
        """Everything has arrived. Raises PeersFailed."""
        with self._step._group.collective("models"):
            for work in self._works:
                self._step._group.finish(work)

    def apply(self) -> None:
        """The step's update. Cannot fail."""
        step, plan, replica = self._step, self._plan, self._step._replica
        if self._restarted is not None:
            replica.restart_from(self._restarted)
        if plan.synchronisation == "synchronous_averaging":
            central = replica.central if replica.central is not None else replica.flat()
            step.update(plan.learning_rate)
            replica.add_flat(self._own, -1.0)
            replica.central_previous = central
            replica.central = central + self._row
            return
        if plan.synchronisation == "pair_averaging":
            # (w + peer) ÷ 2, then the gradient that was taken at w.
            replica.add_flat((self._row - self._own).mul_(0.5))
        step.update(plan.learning_rate)
