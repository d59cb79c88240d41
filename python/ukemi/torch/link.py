"""A worker's tie to its coordinator: orders in, reports out, sign of life.

A thread reads the socket. Orders wait for the training thread, but what must not wait is done at
once: the sockets of a group that is abandoned or discarded are shut, so that the training thread
comes back from whatever it waits in.
"""

import ctypes
import math
import os
import re
import select
import socket
import threading
import time
from collections import deque
from types import SimpleNamespace
from typing import Any, Deque, List, NamedTuple, Optional, Protocol, Tuple

from ukemi.torch.messages import (
    OUTCOMES,
    PHASES,
    PROTOCOL_VERSION,
    ProtocolError,
    encode,
    take_frames,
)

Order = Tuple[str, SimpleNamespace]

_WELCOME_S = 30.0
_HEARTBEATS_PER_DEADLINE = 5
_EVERY = (1 << 64) - 1
# Should an aborted collective wait on, it would do so for its whole deadline. A worker that waits so
# holds the others up, or nobody needs it any more: it ends.
_ALONE_S = 5.0  # without a coordinator; and, at least, in a step that was called off
_FIRST_STEP_S = 30.0  # the same in a step of a length that is not known yet
NO_ATTEMPT = _EVERY
ABORTED = OUTCOMES.index("aborted")


class InvitationError(Exception):
    """The environment does not say whose worker this is."""


class Invitation(NamedTuple):
    """Where the coordinator listens, which worker this is, and the secret that shows it."""

    port: int
    worker: int
    secret: bytes


def _wipe(name: str) -> None:
    """From the block that the process was started with, which others of this user can read."""
    library = ctypes.CDLL(None)
    library.getenv.restype = ctypes.c_void_p
    at = library.getenv(name.encode())
    if at:
        ctypes.memset(at, 0, len(os.environ.get(name, "")))
    os.environ.pop(name, None)


def take_invitation() -> Invitation:
    """Takes it out of the environment: nothing that the script starts shall find it."""
    rendezvous = os.environ.get("UKEMI_RENDEZVOUS", "")
    worker = os.environ.get("UKEMI_WORKER", "")
    secret = os.environ.get("UKEMI_SECRET", "")
    _wipe("UKEMI_SECRET")
    if not re.fullmatch(r"[0-9a-f]{64}", secret):
        raise InvitationError("UKEMI_SECRET: expected 64 hexadecimal digits")
    port = re.fullmatch(r"127\.0\.0\.1:([0-9]{1,5})", rendezvous)
    if port is None or int(port.group(1)) > 65535:
        raise InvitationError("UKEMI_RENDEZVOUS: expected 127.0.0.1:port")
    if not re.fullmatch(r"[0-9]{1,10}", worker):
        raise InvitationError("UKEMI_WORKER: expected a worker's number")
    return Invitation(int(port.group(1)), int(worker), bytes.fromhex(secret))


class Abortable(Protocol):
    """What an order may break off from another thread."""

    epoch: int
    attempt: int

    def abort(self) -> None: ...


class Link:
    """The connection, the thread that serves it, and the orders that have come."""

    def __init__(self, invitation: Invitation) -> None:
        self._socket = socket.create_connection(("127.0.0.1", invitation.port), timeout=_WELCOME_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sending = threading.Lock()
        self._changed = threading.Condition()
        self._orders: Deque[Order] = deque()
        self._watched: List[Abortable] = []
        self._abandoned = 0  # epochs up to this one
        self._discarded = 0  # attempts up to this one
        self._phase = PHASES.index("loading")
        self._step = 0
        self.collectives = 0
        self.in_flight = 0
        self.hold_seen = 0
        self.step_s = 0.0  # the last step of this process took so long; 0 before the first
        self._leaves_by = math.inf  # the step that an order ended must have been left
        self.over = False
        self._unread = bytearray()
        self.send(
            "Hello",
            protocol=PROTOCOL_VERSION,
            worker=invitation.worker,
            process=os.getpid(),
            secret=invitation.secret,
        )
        self.welcome = self._await_welcome()
        self._socket.settimeout(None)
        threading.Thread(target=self._serve, daemon=True, name="ukemi-control").start()

    def _await_welcome(self) -> SimpleNamespace:
        end = time.monotonic() + _WELCOME_S
        while time.monotonic() < end:
            received = self._socket.recv(65536)
            if not received:
                break
            self._unread += received
            messages = take_frames(self._unread)
            if messages:
                name, welcome = messages[0]
                if name != "Welcome":
                    break
                self._orders.extend(messages[1:])
                return welcome
        raise ConnectionError("the coordinator does not answer")

    # ---- the control thread ----

    def _serve(self) -> None:
        interval = self.welcome.heartbeat_ns * 1e-9 / _HEARTBEATS_PER_DEADLINE
        silence_max = self.welcome.coordinator_ns * 1e-9
        heard = looked = next_beat = time.monotonic()
        try:
            while not self.over:
                now = time.monotonic()
                # Time in which this process was stopped is not the coordinator's silence.
                if now - looked > silence_max / 4:
                    heard = now
                    self._leaves_by += now - looked
                looked = now
                if now > self._leaves_by:
                    os._exit(1)
                if now >= next_beat:
                    self._beat()
                    next_beat = now + interval
                if now - heard > silence_max:
                    break
                wait = max(0.0, next_beat - time.monotonic())
                if not select.select([self._socket], [], [], wait)[0]:
                    continue
                received = self._socket.recv(65536)
                if not received:
                    break
                heard = time.monotonic()
                self._unread += received
                for order in take_frames(self._unread):
                    self._obey(order)
        except (OSError, ProtocolError):
            pass
        self.end()
        time.sleep(_ALONE_S)
        os._exit(1)

    def _beat(self) -> None:
        phase = self._phase
        if phase == PHASES.index("computing") and self.in_flight > 0:
            phase = PHASES.index("exchanging")
        self.send("Heartbeat", activity=(phase, self._step, self.collectives))

    def _obey(self, order: Order) -> None:
        name, message = order
        if name in ("Ping", "Inject"):
            return
        if name == "Hold":
            self.hold_seen = max(self.hold_seen, message.number)
            return
        if name == "Abandon":
            if self._phase == PHASES.index("computing"):
                patience = max(_ALONE_S, 4 * self.step_s) if self.step_s else _FIRST_STEP_S
                self._leaves_by = time.monotonic() + patience
            self._abort_where(epoch=message.epoch)
        elif name == "Discard":
            self._abort_where(attempt=message.attempt)
        elif name == "Leave":
            self._abort_where(epoch=_EVERY)
        with self._changed:
            self._orders.append(order)
            self._changed.notify_all()

    def _abort_where(self, epoch: int = 0, attempt: int = 0) -> None:
        with self._changed:
            self._abandoned = max(self._abandoned, epoch)
            self._discarded = max(self._discarded, attempt)
            aborted = [one for one in self._watched if self._is_over(one)]
        for one in aborted:
            one.abort()

    def _is_over(self, one: Abortable) -> bool:
        return one.epoch <= self._abandoned or one.attempt <= self._discarded

    def end(self) -> None:
        """Nothing more is to come, or wanted."""
        with self._changed:
            self.over = True
            self._changed.notify_all()
        self._abort_where(epoch=_EVERY)

    # ---- the training thread ----

    def next_order(self) -> Optional[Order]:
        """Waits; None when it is over."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._orders) or self.over)
            return None if self.over else self._orders.popleft()

    def has_order(self) -> bool:
        """Whether one waits."""
        return bool(self._orders)

    def watch(self, one: Abortable) -> None:
        """An order may abort it from now on; at once, if that order has come already."""
        with self._changed:
            self._watched.append(one)
            late = self._is_over(one)
        if late:
            one.abort()

    def forget(self, one: Abortable) -> None:
        """No order may abort it any more."""
        with self._changed:
            self._watched = [other for other in self._watched if other is not one]

    # ---- any thread ----

    def send(self, name: str, /, **fields: Any) -> None:
        """A connection that failed shows when it is read from."""
        frame = encode(name, **fields)
        try:
            with self._sending:
                self._socket.sendall(frame)
        except OSError:
            pass

    def at(self, phase: str, step: int = 0) -> None:
        """What heartbeats tell from now on."""
        if phase != "computing":
            self._leaves_by = math.inf
        self._phase = PHASES.index(phase)
        self._step = step
