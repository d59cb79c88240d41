"""The training thread of a worker: obeys orders one after the other, and steps."""

import hashlib
import hmac
import struct
import time
import warnings
from collections import deque
from types import SimpleNamespace
from typing import Any, Deque, Dict, Optional, Tuple

import torch

from ukemi._core import Checkpoint, InputError, bit_hash
from ukemi.torch.group import Group, PeersFailed
from ukemi.torch.link import ABORTED, Link, Order
from ukemi.torch.messages import FRAME_BYTES_MAX, OUTCOMES, WORD
from ukemi.torch.plan import Plan, PlanError
from ukemi.torch.replica import Kept, Replica, StateError
from ukemi.torch.script import Task, load_script
from ukemi.torch.step import PlansDiffer, TrainingStep

# Step, position, bytes of the state, and a code over it with the group's secret: what is read
# comes from a member, and from nobody else on this machine.
_HEADER = struct.Struct("<qqQ32s")


def _row_of(state: bytes) -> torch.Tensor:
    """The same memory, which is only read: torch warns that it could be written to."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.frombuffer(state, dtype=torch.uint8)


class _NextGroup:
    """What is about to be entered."""

    def __init__(self, order: SimpleNamespace, plan: Plan) -> None:
        self.order = order
        self.plan = plan
        self.group: Optional[Group] = None
        self.ahead: Optional[Kept] = None  # what was undone for it
        self.step = 0
        self.position = 0
        self.rendezvous_ns = 0


class Trainer:
    """Holds at most two groups: the one it is a member of, and one it is about to enter."""

    def __init__(self, link: Link, training: Dict[str, Any]) -> None:
        self._link = link
        self._training = training
        self._job = bit_hash(link.welcome.training.encode())
        self._seed = int(training["step_seed"])
        self._bucket_bytes = int(str(training["bucket"]).split()[0])
        self._next: Optional[_NextGroup] = None
        self._group: Optional[Group] = None
        self._steps: Optional[TrainingStep] = None
        self._plan: Optional[Plan] = None
        self._failed = False
        self._has_state = False
        self._step = 0
        self._position = 0
        self._position_before = 0
        self._past: Deque[Tuple[int, int, bytes]] = deque()
        self._run: Optional[SimpleNamespace] = None

    def run(self) -> None:
        """Until told to leave or the coordinator is gone. Raises what the script does."""
        link = self._link
        link.at("loading")
        self._script = load_script(self._training["script"])
        self._make()
        link.at("idle")
        link.send(
            "Ready",
            parameters=self._replica.parameter_count(),
            samples_per_epoch=len(self._task.dataset),
        )
        while True:
            order = link.next_order()
            if order is None or order[0] == "Leave":
                return
            self._obey(order)
            self._train()

    def _make(self) -> None:
        self._task = Task(self._script, int(self._training["seed"]))
        self._replica = Replica(self._task, float(self._training["noise_smoothing"]))

    def _obey(self, order: Order) -> None:
        name, message = order
        acts = {
            "Transition": self._begin,
            "Peers": self._connect,
            "Commit": self._commit,
            "Discard": self._discard,
            "Abandon": self._abandon,
            "Run": self._start,
            "Save": self._save,
        }
        if name in acts:
            acts[name](message)
        if self._next is None:
            standing = self._group is not None
            self._link.at("standing" if standing else "idle", self._step if standing else 0)

    # ---- entering a group ----

    def _refuse(self, why: str, failed: Optional[PeersFailed] = None) -> None:
        assert self._next is not None
        self._link.send(
            "NotEntered",
            attempt=self._next.order.attempt,
            why=why,
            peers_failed=failed is not None,
            suspect=-1,
        )
        self._drop_next()

    def _drop_next(self) -> None:
        dropped, self._next = self._next, None
        if dropped is None:
            return
        if dropped.group is not None and dropped.group is not self._group:
            dropped.group.close()
        if dropped.ahead is not None:
            self._replica.redo(dropped.ahead)

    def _discard(self, message: SimpleNamespace) -> None:
        if self._next is not None and self._next.order.attempt == message.attempt:
            self._drop_next()

    def _begin(self, order: SimpleNamespace) -> None:
        self._drop_next()
        link = self._link
        size = len(order.members)
        try:
            if size == 0 or len(order.holders) != size or order.rank >= size:
                raise PlanError("an order that contradicts itself")
            plan = Plan(order.plan)
            if plan.digest != order.plan_digest:
                raise PlanError(
                    f"it reads a Plan with digest {plan.digest:016x}, "
                    f"expected {order.plan_digest:016x}"
                )
            if plan.codec != "none" and not self._replica.single_precision():
                raise PlanError(f"codec {plan.codec}: expected weights of single precision")
            if order.holders[order.rank] and not self._has_state:
                raise PlanError("it has no state")
            of_epoch = self._group is not None and self._group.epoch == order.epoch
            if not order.group_changed and (not of_epoch or self._failed):
                raise PlanError(f"it is not a member of epoch {order.epoch}")
        except PlanError as error:
            link.send(
                "NotEntered", attempt=order.attempt, why=str(error), peers_failed=False, suspect=-1
            )
            return
        self._next = _NextGroup(order, plan)
        if not order.group_changed:
            self._next.group = self._group
            self._enter()
            return
        link.at("connecting")
        begun = time.perf_counter_ns()
        try:
            self._next.group = Group(
                link,
                order.epoch,
                order.attempt,
                order.rank,
                size,
                link.welcome.collective_ns * 1e-9,
                self._replica.place(),
                order.group_secret,
            )
        except OSError as error:  # of descriptors, threads
            self._refuse(f"there is no place to meet: {error}")
            return
        self._next.rendezvous_ns = time.perf_counter_ns() - begun
        link.send("OwnAddress", attempt=order.attempt, address=self._next.group.address())

    def _connect(self, peers: SimpleNamespace) -> None:
        upcoming = self._next
        if upcoming is None or upcoming.order.attempt != peers.attempt:
            return
        if len(peers.addresses) != len(upcoming.order.members):
            self._refuse("not every rank's address")
            return
        assert upcoming.group is not None
        begun = time.perf_counter_ns()
        try:
            upcoming.group.connect(peers.addresses)
        except PeersFailed as failed:
            self._refuse(str(failed), failed)
            return
        upcoming.rendezvous_ns += time.perf_counter_ns() - begun
        self._enter()

    def _enter(self) -> None:
        """Gets or gives the state, and tells the coordinator what it would go on from."""
        upcoming = self._next
        assert upcoming is not None
        order, link = upcoming.order, self._link
        begun = time.perf_counter_ns()
        link.at("receiving_state")
        upcoming.step, upcoming.position = self._step, self._position
        holds = bool(order.holders[order.rank])
        if holds and order.step == self._step - 1 and self._replica.can_undo:
            upcoming.ahead = self._replica.undo()
            upcoming.step, upcoming.position = self._step - 1, self._position_before
        if not all(order.holders):
            try:
                self._exchange_state(upcoming)
            except StateError as error:
                self._refuse(str(error))
                return
            except PeersFailed as failed:
                self._refuse(f"the state's transfer: {failed}", failed)
                return
        link.send(
            "Entered",
            attempt=order.attempt,
            plan_version=upcoming.plan.version,
            plan_digest=upcoming.plan.digest,
            replica_digest=self._replica.digest(),
            replicas_equal=self._replica.synchronisation == "s_sgd",
            step=upcoming.step,
            position=upcoming.position,
            rendezvous_ns=upcoming.rendezvous_ns,
            state_transfer_ns=time.perf_counter_ns() - begun,
            exchange=upcoming.group.carrier if upcoming.group is not None else "",
        )

    def _exchange_state(self, upcoming: _NextGroup) -> None:
        order, group = upcoming.order, upcoming.group
        assert group is not None
        source = order.holders.index(1) if 1 in order.holders else 0
        gives = order.rank == source
        state = b""
        header = torch.zeros(_HEADER.size, dtype=torch.uint8)
        if gives:
            if not order.holders[order.rank]:
                upcoming.step, upcoming.position = self._make_first_state(order.checkpoint)
            state = self._replica.state()
            code = hmac.new(order.group_secret, state, hashlib.sha256).digest()
            packed = _HEADER.pack(upcoming.step, upcoming.position, len(state), code)
            header = torch.frombuffer(bytearray(packed), dtype=torch.uint8)
        if group.size == 1:
            return
        group.broadcast(header, source, "state/header")
        step, position, size, code = _HEADER.unpack(header.numpy().tobytes())
        if size > Checkpoint.state_bytes_max:
            raise StateError("a state that is larger than any")
        row = _row_of(state) if gives else torch.empty(size, dtype=torch.uint8)
        group.broadcast(row, source, "state")
        upcoming.step, upcoming.position = step, position
        if gives or order.holders[order.rank]:
            return
        came = memoryview(row.numpy())
        if not hmac.compare_digest(
            code, hmac.new(order.group_secret, came, hashlib.sha256).digest()
        ):
            raise StateError("the state that came was not sent by a member")
        # A newcomer has nothing that it could lose, so nothing need stand beside it.
        self._has_state = False
        self._replica.restore(came)

    def _make_first_state(self, checkpoint: str) -> Tuple[int, int]:
        """From the job's beginning or its checkpoint: its step and position."""
        if not checkpoint:
            if self._replica.steps > 0:  # of a group that is gone
                self._make()
            return 0, 0
        self._link.at("reading_checkpoint")
        try:
            saved = Checkpoint.read(checkpoint)
        except InputError as error:
            raise StateError(str(error)) from error
        if saved.job != self._job:
            raise StateError(f"{checkpoint}: a checkpoint of another job")
        try:
            self._replica.restore(saved.state)
        except StateError as error:
            raise StateError(f"{checkpoint}: {error}") from error
        self._link.at("receiving_state")
        return saved.step, saved.position

    def _commit(self, message: SimpleNamespace) -> None:
        upcoming = self._next
        if upcoming is None or upcoming.order.attempt != message.attempt:
            return
        self._next = None
        if upcoming.ahead is not None or not all(upcoming.order.holders):
            self._past.clear()
        self._has_state = True
        self._step, self._position = upcoming.step, upcoming.position
        self._plan = upcoming.plan
        self._run = None
        self._failed = False
        if not upcoming.order.group_changed:
            return
        self._leave_group()
        group = upcoming.group
        assert group is not None
        group.committed()
        self._group = group
        self._steps = TrainingStep(
            self._task,
            self._replica,
            group,
            self._seed,
            self._bucket_bytes,
            bool(self._training["error_feedback"]),
        )

    def _leave_group(self) -> None:
        if self._steps is not None:
            self._steps.close()
            self._steps = None
        if self._group is not None:
            self._group.close()
            self._group = None

    def _abandon(self, message: SimpleNamespace) -> None:
        had = self._group is not None and self._group.epoch <= message.epoch
        self._link.send(
            "Status",
            inquiry=message.inquiry,
            has_state=self._has_state,
            step=self._step,
            position=self._position,
            can_undo=self._has_state and self._replica.can_undo,
            replica_digest=self._replica.digest() if self._has_state else 0,
            epoch=0,
            past=[one for one in self._past if message.past_from <= one[0] < self._step],
        )
        # After the answer: taking leave of peers that are gone takes its time.
        if had:
            self._leave_group()
        self._run = None

    # ---- training ----

    def _start(self, message: SimpleNamespace) -> None:
        if self._group is not None and self._group.epoch == message.epoch:
            self._run = message

    def _train(self) -> None:
        """Until the limit, a hold, a failure, or an order that is not merely to run further."""
        link = self._link
        while self._run is not None and not self._failed and not link.over:
            if link.has_order():
                return  # the caller comes back
            if self._step < self._run.limit and not self._step_once(self._run):
                continue
            if self._failed:
                return
            link.at("standing", self._step)
            link.send(
                "Standing", epoch=self._run.epoch, order=self._run.order, step=self._step
            )
            self._run = None

    def _step_once(self, run: SimpleNamespace) -> bool:
        """Whether it stands now."""
        link, plan, group = self._link, self._plan, self._group
        assert plan is not None and group is not None and self._steps is not None
        link.at("computing", self._step)
        seen = link.hold_seen
        wants = seen if seen > run.holds_done else 0
        begun = time.perf_counter()
        try:
            done = self._steps.run(plan, self._step, self._position, wants)
        except PeersFailed as failed:
            self._step_failed(run, plan, OUTCOMES.index(failed.outcome), False)
            return False
        except PlansDiffer:
            self._step_failed(run, plan, ABORTED, True)
            return False
        link.step_s = time.perf_counter() - begun
        self._position_before = self._position
        self._position += done.samples
        report = done.report if group.rank == 0 else None
        self._past.append((self._step, self._position, done.report))
        kept = FRAME_BYTES_MAX // 2 // (128 + group.size * WORD.size)
        while len(self._past) > min(kept, 4096):
            self._past.popleft()
        finished = self._step
        self._step += 1
        link.send(
            "StepFinished",
            epoch=run.epoch,
            step=finished,
            position=self._position,
            report=report,
        )
        return done.hold != 0

    def _step_failed(
        self, run: SimpleNamespace, plan: Plan, outcome: int, disagreement: bool
    ) -> None:
        self._failed = True
        self._link.send(
            "StepFailed",
            epoch=run.epoch,
            step=self._step,
            outcome=outcome,
            suspect=-1,
            plan_disagreement=disagreement,
            plan_version=plan.version,
            plan_digest=plan.digest,
        )

    def _save(self, message: SimpleNamespace) -> None:
        link = self._link
        if not self._has_state:
            link.send("NotSaved", number=message.number, why="it has no state")
            return
        link.at("saving", self._step)
        begun = time.perf_counter_ns()
        version = self._plan.version if self._plan is not None else 0
        try:
            size = Checkpoint(
                self._job, self._step, self._position, version, self._replica.state()
            ).write(message.file)
        except (OSError, InputError, StateError, MemoryError) as error:
            link.send("NotSaved", number=message.number, why=str(error))
            return
        link.send(
            "Saved",
            number=message.number,
            step=self._step,
            position=self._position,
            bytes=size,
            time_ns=time.perf_counter_ns() - begun,
        )
