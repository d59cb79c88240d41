"""Where the members of a group on several hosts say where they listen: a place of rank 0's.

It listens at the one address that it is given, and who has not the group's secret can neither read
nor write there. PyTorch's TCPStore listens on all addresses, and greets everybody.

A member keeps one connection. The place sends 16 random bytes, and the member 16 of its own; then
go lines to and fro, each a code, a blank and JSON. The code (HMAC-SHA-256 with the group's secret)
of a question is over both numbers, the question's place in the row and the JSON; that of an answer
is over the question's code as well, so that neither can be sent a second time.

The first question is ["hello", rank], which is short, and must have come within 2 s: so much room
and time has somebody who is not known yet. Where too many such wait, who has waited longest goes.
Then come ["set", key, value], ["get", key], which is answered once the key is there, and ["leave"].
When all have left, the place is closed.
"""

import hashlib
import hmac
import json
import os
import selectors
import socket
import threading
import time
from contextlib import ExitStack, suppress
from typing import Dict, List, Optional, Set, Union

_HELLO_S = 2.0  # from its coming until a connection has shown the secret
_HELLO_BYTES_MAX = 256
_UNKNOWN_MAX = 64  # connections that have not, beside those of members that come all at once
_NONCE_BYTES = 16
_SECRET_BYTES_MIN = 16
_RECEIVE_BYTES = 1 << 16
_PAUSE_S = 0.02  # after an attempt that failed, before the next
_LOOK_S = 5.0  # so often a thread that waits looks round by itself


class MeetingError(Exception):
    """The meeting came to nothing, and asking again does not help."""


def line_bytes_max(size: int) -> int:
    """A member says where it listens for each other one: some 300 bytes (of Gloo)."""
    return (64 << 10) + size * (4 << 10)


def _expect_short(line: Union[bytes, bytearray], size: int) -> None:
    most = line_bytes_max(size)
    if len(line) > most:
        raise MeetingError(f"too long: a line of {len(line)} bytes, expected at most {most}")


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


class _Codes:
    """What both sides of one connection put before their lines."""

    def __init__(self, secret: bytes, nonces: bytes) -> None:
        if len(secret) < _SECRET_BYTES_MIN:
            raise ValueError(f"expected a secret of at least {_SECRET_BYTES_MIN} bytes")
        self._secret = secret
        self._nonces = nonces
        self._questions = 0

    def _code(self, rest: bytes) -> bytes:
        return hmac.new(self._secret, self._nonces + rest, hashlib.sha256).hexdigest().encode()

    def question(self, body: bytes) -> bytes:
        """Of the next one."""
        self._questions += 1
        return self._code(b"question" + self._questions.to_bytes(8, "little") + body)

    def answer(self, question: bytes, body: bytes) -> bytes:
        """To the question that has this code."""
        return self._code(b"answer" + question + body)


def _as_line(code: bytes, body: bytes) -> bytes:
    return code + b" " + body + b"\n"


class _Guest:
    """A connection at the place; only the place's thread touches it."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection = connection
        self.nonce = os.urandom(_NONCE_BYTES)
        self.codes: Optional[_Codes] = None  # once its own number has come
        self.rank = -1  # once it has shown the secret
        self.ends = time.monotonic() + _HELLO_S  # if it has not
        self.unread = bytearray()
        self.unsent = bytearray(self.nonce)
        self.asked = b""  # the code of the question that waits for its answer
        self.awaited = ""  # the key that it asks for


class MeetingPlace:
    """Rank 0's, in a group of so many. Of what is said of a key the last counts."""

    def __init__(self, host: str, secret: bytes, size: int) -> None:
        _Codes(secret, b"")
        self._secret = secret
        self._size = size
        self._said: Dict[str, str] = {}
        self._left: Set[int] = set()
        self._changed = threading.Condition()
        self._closed = False
        self._guests: List[_Guest] = []  # by the time of their coming
        with ExitStack() as made:
            listener = socket.create_server((host, 0), family=_family(host), backlog=1024)
            self._listener = made.enter_context(listener)
            self._woken, self._waker = socket.socketpair()
            self._ready = made.enter_context(selectors.DefaultSelector())
            for one in (self._listener, self._woken, self._waker):
                made.enter_context(one)
                one.setblocking(False)
            self.port: int = self._listener.getsockname()[1]
            self._ready.register(self._listener, selectors.EVENT_READ)
            self._ready.register(self._woken, selectors.EVENT_READ)
            self._open = made.pop_all()
        try:
            threading.Thread(target=self._serve, daemon=True, name="ukemi-meeting").start()
        except RuntimeError as error:  # there are too many
            self._open.close()
            raise OSError(str(error)) from error

    # ---- rank 0's own thread, and whichever aborts it ----

    def say(self, key: str, value: str, end: float) -> None:
        """As a member does. Raises MeetingError."""
        del end
        _expect_short(_as_line(b"0" * 64, json.dumps(["set", key, value]).encode()), self._size)
        self._keep(key, value)
        self._wake()

    def hear(self, key: str, end: float) -> str:
        """Waits for it until the moment `end` of the monotonic clock. Raises MeetingError."""
        with self._changed:
            while key not in self._said:
                if self._closed:
                    raise MeetingError("aborted")
                left_s = end - time.monotonic()
                if left_s <= 0:
                    raise MeetingError("timed out: not everybody came")
                self._changed.wait(min(left_s, _LOOK_S))
            return self._said[key]

    def leave(self) -> None:
        """Rank 0 has heard all: the place is closed when the others have, too."""
        self._leaves(0)

    def abort(self) -> None:
        """From any thread: who asks comes back at once."""
        self.close()

    def close(self) -> None:
        """At once, for all; from any thread too."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._wake()

    def _wake(self) -> None:
        with self._changed, suppress(OSError):  # full: it will wake; or let go of already
            self._waker.send(b"w")

    def _keep(self, key: str, value: str) -> None:
        with self._changed:
            self._said[key] = value
            self._changed.notify_all()

    def _leaves(self, rank: int) -> None:
        with self._changed:
            self._left.add(rank)
            over = len(self._left) == self._size
        if over:
            self.close()

    # ---- the place's thread ----

    def _serve(self) -> None:
        try:
            while not self._closed:
                for key, events in self._ready.select(self._wait_s()):
                    if key.fileobj is self._listener:
                        self._accept()
                    elif key.fileobj is self._woken:
                        with suppress(OSError):
                            self._woken.recv(_RECEIVE_BYTES)
                    elif key.data in self._guests:  # not sent away meanwhile
                        self._attend(key.data, events)
                self._answer_waiting()
                self._send_late_away()
        finally:
            self.close()
            self._let_go()

    def _let_go(self) -> None:
        for guest in self._guests:
            guest.connection.close()
        self._guests = []
        with self._changed:  # nobody wakes it just now
            self._open.close()

    def _unknown(self) -> List[_Guest]:
        return [one for one in self._guests if one.rank < 0]

    def _wait_s(self) -> float:
        unknown = self._unknown()
        return max(0.0, unknown[0].ends - time.monotonic()) if unknown else _LOOK_S

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except BlockingIOError:
            return
        except OSError:  # who came has gone again, or there are no more descriptors just now
            time.sleep(_PAUSE_S)
            return
        try:
            guest = _Guest(connection)
            self._ready.register(connection, selectors.EVENT_READ, guest)
        except OSError:
            connection.close()
            return
        self._guests.append(guest)
        self._send(guest)
        unknown = self._unknown()
        if len(unknown) > _UNKNOWN_MAX + self._size:
            self._send_away(unknown[0])

    def _send_away(self, guest: _Guest) -> None:
        if guest in self._guests:
            self._guests.remove(guest)
            self._ready.unregister(guest.connection)
            guest.connection.close()

    def _send_late_away(self) -> None:
        now = time.monotonic()
        for guest in self._unknown():
            if now >= guest.ends:
                self._send_away(guest)

    def _attend(self, guest: _Guest, events: int) -> None:
        try:
            if events & selectors.EVENT_READ:
                room = line_bytes_max(self._size) if guest.rank >= 0 else _HELLO_BYTES_MAX
                some = guest.connection.recv(min(_RECEIVE_BYTES, room - len(guest.unread) + 1))
                guest.unread += some
                if not some or len(guest.unread) > room:
                    raise OSError("it hung up, or says too much")
            self._hear(guest)
            if events & selectors.EVENT_WRITE:
                self._send(guest)
        except BlockingIOError:
            pass
        except (OSError, ValueError, KeyError, IndexError, TypeError, RecursionError):
            self._send_away(guest)  # a stranger, or somebody who is gone

    def _hear(self, guest: _Guest) -> None:
        if guest.codes is None:
            if len(guest.unread) < _NONCE_BYTES:
                return
            guest.codes = _Codes(self._secret, guest.nonce + bytes(guest.unread[:_NONCE_BYTES]))
            del guest.unread[:_NONCE_BYTES]
        while b"\n" in guest.unread and not guest.asked:
            line, _, rest = bytes(guest.unread).partition(b"\n")
            guest.unread[:] = rest
            code, _, body = line.partition(b" ")
            if not hmac.compare_digest(code, guest.codes.question(body)):
                raise OSError("it does not have the group's secret")
            guest.asked = code
            self._obey(guest, json.loads(body))

    def _obey(self, guest: _Guest, question: List[str]) -> None:
        name, given = question[0], question[1:]
        if guest.rank < 0:
            if name != "hello" or not 0 < int(given[0]) < self._size:
                raise ValueError("expected a rank")
            guest.rank = int(given[0])
        elif name == "get":
            guest.awaited = str(given[0])
            return  # it is answered with those that waited already
        elif name == "set":
            self._keep(str(given[0]), str(given[1]))
        elif name == "leave":
            self._leaves(guest.rank)
        else:
            raise ValueError("no question")
        self._answer(guest, "")

    def _answer(self, guest: _Guest, said: str) -> None:
        assert guest.codes is not None
        body = json.dumps(said).encode()
        guest.unsent += _as_line(guest.codes.answer(guest.asked, body), body)
        guest.asked = b""
        guest.awaited = ""
        self._send(guest)

    def _answer_waiting(self) -> None:
        for guest in list(self._guests):
            while guest.awaited and guest.awaited in self._said:
                self._answer(guest, self._said[guest.awaited])
                self._attend(guest, 0)

    def _send(self, guest: _Guest) -> None:
        if guest not in self._guests:
            return
        try:
            while guest.unsent:
                del guest.unsent[: guest.connection.send(guest.unsent)]
        except BlockingIOError:
            pass
        except OSError:
            self._send_away(guest)
            return
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if guest.unsent else 0)
        self._ready.modify(guest.connection, events, guest)


class Member:
    """Another rank's way to the place. One thread asks; any may abort."""

    def __init__(self, host: str, port: int, secret: bytes, rank: int, size: int) -> None:
        _Codes(secret, b"")
        self._at = (host, port)
        self._secret = secret
        self._rank = rank
        self._size = size
        self._lock = threading.Lock()
        self._aborted = threading.Event()
        self._connection: Optional[socket.socket] = None
        self._codes: Optional[_Codes] = None
        self._unread = bytearray()

    def say(self, key: str, value: str, end: float) -> None:
        """By the moment `end` of the monotonic clock. Raises MeetingError, as hear() does."""
        self._ask(["set", key, value], end)

    def hear(self, key: str, end: float) -> str:
        """Waits for it."""
        return self._ask(["get", key], end)

    def leave(self) -> None:
        """This rank has heard all, and waits for no answer."""
        with suppress(OSError):
            if self._connection is not None and self._codes is not None:
                body = json.dumps(["leave"]).encode()
                self._connection.setblocking(False)
                self._connection.sendall(_as_line(self._codes.question(body), body))
        self._hang_up()

    def abort(self) -> None:
        """From any thread: who asks comes back at once."""
        self._aborted.set()
        with self._lock:
            if self._connection is not None:
                with suppress(OSError):
                    self._connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """By the thread that asks: nothing more."""
        self._aborted.set()
        self._hang_up()

    def _ask(self, question: List[str], end: float) -> str:
        """The place may be full, or a connection lost: until `end` it is asked again."""
        why = ""
        while True:
            try:
                if self._connection is None:
                    self._connect(end)
                return self._ask_once(question, end)
            except (OSError, ValueError) as error:
                self._hang_up()
                if self._aborted.is_set():
                    raise MeetingError("aborted") from error
                if isinstance(error, ConnectionRefusedError):
                    raise MeetingError("rank 0 is gone: nobody listens at its place") from error
                if not why or not isinstance(error, (TimeoutError, socket.timeout)):
                    why = str(error)
                if time.monotonic() + _PAUSE_S >= end:
                    raise MeetingError(f"timed out at rank 0's place: {why}") from error
            self._aborted.wait(_PAUSE_S)

    def _connect(self, end: float) -> None:
        connection = socket.socket(_family(self._at[0]), socket.SOCK_STREAM)
        with self._lock:
            self._connection = connection
        self._limit(end)
        connection.connect(self._at)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while len(self._unread) < _NONCE_BYTES:
            self._receive(end)
        nonce = os.urandom(_NONCE_BYTES)
        self._codes = _Codes(self._secret, bytes(self._unread[:_NONCE_BYTES]) + nonce)
        del self._unread[:_NONCE_BYTES]
        self._limit(end).sendall(nonce)
        self._ask_once(["hello", str(self._rank)], end)

    def _ask_once(self, question: List[str], end: float) -> str:
        assert self._codes is not None
        body = json.dumps(question).encode()
        code = self._codes.question(body)
        line = _as_line(code, body)
        _expect_short(line, self._size)
        self._limit(end).sendall(line)
        while b"\n" not in self._unread:
            _expect_short(self._unread, self._size)
            self._receive(end)
        answer, _, rest = bytes(self._unread).partition(b"\n")
        self._unread[:] = rest
        answered, _, body = answer.partition(b" ")
        if not hmac.compare_digest(answered, self._codes.answer(code, body)):
            raise OSError("who answers does not have the group's secret")
        said = json.loads(body)
        if not isinstance(said, str):
            raise ValueError("an answer that is none")
        return said

    def _limit(self, end: float) -> socket.socket:
        """The connection, for an act that is over at `end`."""
        left_s = end - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("no answer came")
        if self._aborted.is_set():
            raise OSError("aborted")
        assert self._connection is not None
        self._connection.settimeout(left_s)
        return self._connection

    def _receive(self, end: float) -> None:
        some = self._limit(end).recv(_RECEIVE_BYTES)
        if not some:
            raise OSError("it hung up: it is full, or does not know this secret")
        self._unread += some

    def _hang_up(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None
        self._codes = None
        self._unread.clear()
