"""Where the members of a group on several hosts say where they listen: a place of rank 0's.

It listens at the one address that it is given, and who has not the group's secret can neither read
nor write there: each question and each answer has a code (HMAC-SHA-256) with a number that is drawn
for it. PyTorch's TCPStore listens on all addresses, and greets everybody.

A connection is one question: the place sends 16 random bytes, the other side a line (the code, a
blank, JSON), the place a line of the same form.
"""

import hashlib
import hmac
import json
import os
import socket
import threading
from typing import Dict, List

_LINE_BYTES_MAX = 1 << 20
_QUESTION_S = 2.0  # that a connection may take
_CONNECTIONS_MAX = 64  # at once; who comes then is sent away, and may come again
_NONCE_BYTES = 16


def _code(secret: bytes, nonce: bytes, who: bytes, body: bytes) -> bytes:
    return hmac.new(secret, nonce + who + body, hashlib.sha256).hexdigest().encode()


def _read(connection: socket.socket, count: int) -> bytes:
    """So many bytes, or up to the end of a line."""
    read = b""
    while len(read) < count and not read.endswith(b"\n"):
        some = connection.recv(min(count - len(read), 1 << 16))
        if not some:
            raise OSError("it hung up")
        read += some
    return read


def _read_exactly(connection: socket.socket, count: int) -> bytes:
    read = b""
    while len(read) < count:
        some = connection.recv(count - len(read))
        if not some:
            raise OSError("it hung up")
        read += some
    return read


def _body(line: bytes, secret: bytes, nonce: bytes, who: bytes) -> bytes:
    code, _, body = line.rstrip(b"\n").partition(b" ")
    if not hmac.compare_digest(code, _code(secret, nonce, who, body)):
        raise OSError("it does not have the group's secret")
    return body


class MeetingPlace:
    """Rank 0's. Keys keep what was said of them first to last, the last counts."""

    def __init__(self, host: str, secret: bytes) -> None:
        self._secret = secret
        self._said: Dict[str, str] = {}
        self._lock = threading.Lock()
        self._room = threading.Semaphore(_CONNECTIONS_MAX)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, 0), family=family, backlog=128)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def answer(self, question: List[str]) -> Dict[str, str]:
        """["set", key, value], or ["said"]: all that was."""
        with self._lock:
            if question[0] == "set":
                self._said[question[1]] = question[2]
                return {}
            return dict(self._said)

    def close(self) -> None:
        try:
            self._listener.shutdown(socket.SHUT_RDWR)  # the thread comes back from it
        except OSError:
            pass
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # closed
                return
            if not self._room.acquire(blocking=False):
                connection.close()
                continue
            threading.Thread(target=self._hear, args=(connection,), daemon=True).start()

    def _hear(self, connection: socket.socket) -> None:
        try:
            with connection:
                connection.settimeout(_QUESTION_S)
                nonce = os.urandom(_NONCE_BYTES)
                connection.sendall(nonce)
                line = _read(connection, _LINE_BYTES_MAX)
                question = json.loads(_body(line, self._secret, nonce, b"question"))
                body = json.dumps(self.answer(question)).encode()
                connection.sendall(_code(self._secret, nonce, b"answer", body) + b" " + body + b"\n")
        except (OSError, ValueError, KeyError, IndexError, TypeError):
            pass  # a stranger, or somebody who is gone
        finally:
            self._room.release()


def ask_place(
    host: str, port: int, secret: bytes, question: List[str], within_s: float
) -> Dict[str, str]:
    """Another rank's question. OSError if it comes to nothing."""
    with socket.create_connection((host, port), timeout=within_s) as connection:
        nonce = _read_exactly(connection, _NONCE_BYTES)
        body = json.dumps(question).encode()
        connection.sendall(_code(secret, nonce, b"question", body) + b" " + body + b"\n")
        line = _read(connection, _LINE_BYTES_MAX)
        try:
            answer: Dict[str, str] = json.loads(_body(line, secret, nonce, b"answer"))
        except ValueError as error:
            raise OSError("an answer that is none") from error
        return answer
