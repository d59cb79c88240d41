"""What a worker and its coordinator say to each other: runtime/messages.hpp, in Python.

A frame is a length (u32: the bytes after it), a type (u8) and the fields of one message in their
order, little-endian; texts and lists carry their count as a u32. A test holds the table below to
the structs of the C++ header.
"""

import struct
from types import SimpleNamespace
from typing import Any, Callable, Dict, List, Tuple, Union

PROTOCOL_VERSION = 6
FRAME_BYTES_MAX = 4 << 20

PHASES = (
    "loading",
    "idle",
    "connecting",
    "receiving_state",
    "reading_checkpoint",
    "standing",
    "computing",
    "exchanging",
    "saving",
)
OUTCOMES = ("ok", "peer_lost", "timed_out", "aborted")

# Every message, in the order of its numbers, with its fields and their types.
MESSAGES: Dict[str, Tuple[Tuple[str, str], ...]] = {
    "Hello": (("protocol", "u32"), ("worker", "u32"), ("process", "i32"), ("secret", "secret")),
    "Ready": (("parameters", "u64"), ("samples_per_epoch", "i64")),
    "Heartbeat": (("activity", "activity"),),
    "OwnAddress": (("attempt", "u64"), ("address", "bytes")),
    "Entered": (
        ("attempt", "u64"),
        ("plan_version", "u64"),
        ("plan_digest", "u64"),
        ("replica_digest", "u64"),
        ("replicas_equal", "bool"),
        ("step", "i64"),
        ("position", "i64"),
        ("rendezvous_ns", "i64"),
        ("state_transfer_ns", "i64"),
        ("exchange", "text"),
    ),
    "NotEntered": (
        ("attempt", "u64"),
        ("why", "text"),
        ("peers_failed", "bool"),
        ("suspect", "i32"),
    ),
    "StepFinished": (
        ("epoch", "u64"),
        ("step", "i64"),
        ("position", "i64"),
        ("report", "optional_report"),
    ),
    "Standing": (("epoch", "u64"), ("order", "u64"), ("step", "i64")),
    "StepFailed": (
        ("epoch", "u64"),
        ("step", "i64"),
        ("outcome", "u8"),
        ("suspect", "i32"),
        ("plan_disagreement", "bool"),
        ("plan_version", "u64"),
        ("plan_digest", "u64"),
    ),
    "Status": (
        ("inquiry", "u64"),
        ("has_state", "bool"),
        ("step", "i64"),
        ("position", "i64"),
        ("can_undo", "bool"),
        ("replica_digest", "u64"),
        ("epoch", "u64"),
        ("past", "past_steps"),
    ),
    "Saved": (
        ("number", "u64"),
        ("step", "i64"),
        ("position", "i64"),
        ("bytes", "i64"),
        ("time_ns", "i64"),
    ),
    "NotSaved": (("number", "u64"), ("why", "text")),
    "Trouble": (("why", "text"),),
    "Welcome": (
        ("training", "text"),
        ("heartbeat_ns", "i64"),
        ("collective_ns", "i64"),
        ("transition_ns", "i64"),
        ("coordinator_ns", "i64"),
        ("allow_faults", "bool"),
        ("link_steps", "i64"),
    ),
    "Transition": (
        ("attempt", "u64"),
        ("epoch", "u64"),
        ("group_changed", "bool"),
        ("plan", "text"),
        ("plan_digest", "u64"),
        ("members", "list_u32"),
        ("holders", "bytes"),
        ("rank", "u32"),
        ("group_secret", "bytes"),
        ("step", "i64"),
        ("checkpoint", "text"),
    ),
    "Peers": (("attempt", "u64"), ("addresses", "list_bytes")),
    "Commit": (("attempt", "u64"),),
    "Discard": (("attempt", "u64"),),
    "Run": (("epoch", "u64"), ("order", "u64"), ("limit", "i64"), ("holds_done", "u32")),
    "Hold": (("epoch", "u64"), ("number", "u32")),
    "Abandon": (("epoch", "u64"), ("inquiry", "u64"), ("past_from", "i64")),
    "Save": (("number", "u64"), ("file", "text")),
    "Leave": (),
    "Ping": (),
    "Inject": (("fault", "u8"),),
    # Of agents, which start no workers of scripts.
    "AgentHello": (("protocol", "u32"), ("slots", "u32"), ("name", "text")),
    "AgentBeat": (),
    "WorkerEnded": (("worker", "u32"), ("how", "text")),
    "AgentNotice": (("text", "text"), ("has_time", "bool"), ("left_ns", "i64")),
    "AgentWelcome": (("heartbeat_ns", "i64"),),
    "StartWorker": (("worker", "u32"), ("arguments", "text"), ("invitation", "text")),
    "EndWorker": (("worker", "u32"),),
    "Dismissal": (),
    # Of coordinators that follow each other, which have no workers of scripts either.
    "Tenure": (("run", "text"), ("term", "u64"), ("coordinator", "u64"), ("rejoin_ns", "i64")),
    "AgentWorkers": (("run", "text"), ("workers", "list_u32")),
    "Superseded": (("run", "text"), ("term", "u64")),
}
_NUMBERS = {name: number for number, name in enumerate(MESSAGES)}
_NAMES = tuple(MESSAGES)

_LENGTH = struct.Struct("<I")
_PLAIN = {
    "u8": struct.Struct("<B"),
    "bool": struct.Struct("<?"),
    "u32": struct.Struct("<I"),
    "i32": struct.Struct("<i"),
    "u64": struct.Struct("<Q"),
    "i64": struct.Struct("<q"),
}

# StepWord: what a rank tells all others with each step.
WORD_FIELDS = (
    ("plan_version", "Q"),
    ("plan_digest", "Q"),
    ("step", "q"),
    ("wants_hold", "I"),
    ("rank", "I"),
    ("samples", "q"),
    ("loss_sum", "d"),
    ("correct", "d"),
    ("local_squared_norm", "d"),
    ("average_squared_norm", "d"),
    ("compute_ns", "q"),
    ("communication_ns", "q"),
    ("exposed_ns", "q"),
    ("input_ns", "q"),
    ("codec_ns", "q"),
    ("sent_bytes", "q"),
    ("codec_lost", "d"),
    ("codec_whole", "d"),
    ("host", "i"),
    ("link_host", "i"),
    ("link_round_trip_ns", "q"),
    ("link_bytes_per_second", "d"),
)
WORD = struct.Struct("<" + "".join(code for _, code in WORD_FIELDS))

# StepReport, after its words: see step.py, which writes it.
REPORT_REST = struct.Struct("<qdd?dddddI")


class ProtocolError(Exception):
    """The other side sent what is no message."""


def _count(number: int) -> bytes:
    return _LENGTH.pack(number)


def _put(kind: str, value: Any) -> bytes:
    plain = _PLAIN.get(kind)
    if plain is not None:
        packed: bytes = plain.pack(value)
        return packed
    if kind == "text":
        encoded = str(value).encode()
        return _count(len(encoded)) + encoded
    if kind == "bytes":
        return _count(len(value)) + bytes(value)
    if kind == "secret":
        return bytes(value)
    if kind == "activity":
        phase, step, collectives = value
        return struct.pack("<BqQ", phase, step, collectives)
    if kind == "optional_report":
        return b"\0" if value is None else b"\1" + bytes(value)
    if kind == "past_steps":
        parts = [_count(len(value))]
        for step, position, report in value:
            parts.append(struct.pack("<qq", step, position) + report)
        return b"".join(parts)
    if kind == "list_u32":
        return _count(len(value)) + struct.pack(f"<{len(value)}I", *value)
    if kind == "list_bytes":
        return _count(len(value)) + b"".join(_put("bytes", one) for one in value)
    raise AssertionError(kind)


def encode(name: str, /, **fields: Any) -> bytes:
    """The whole frame, with its length."""
    parts = [bytes((_NUMBERS[name],))]
    for field, kind in MESSAGES[name]:
        parts.append(_put(kind, fields.pop(field)))
    assert not fields, fields
    body = b"".join(parts)
    assert len(body) <= FRAME_BYTES_MAX
    return _LENGTH.pack(len(body)) + body


class _Reader:
    def __init__(self, frame: Union[bytes, memoryview]) -> None:
        self._left = memoryview(frame)

    def take(self, count: int) -> memoryview:
        if count > len(self._left):
            raise ProtocolError("a frame that ends too early")
        taken = self._left[:count]
        self._left = self._left[count:]
        return taken

    def unpack(self, form: struct.Struct) -> Any:
        return form.unpack(self.take(form.size))[0]

    def end(self) -> None:
        if len(self._left) > 0:
            raise ProtocolError("bytes after the last field")

    def get(self, kind: str) -> Any:
        plain = _PLAIN.get(kind)
        if plain is not None:
            return self.unpack(plain)
        if kind == "secret":
            return bytes(self.take(32))
        if kind == "activity":
            return struct.unpack("<BqQ", self.take(17))
        if kind == "optional_report":
            return self._report() if self.unpack(_PLAIN["bool"]) else None
        count = self.unpack(_LENGTH)
        if kind == "text":
            try:
                return str(self.take(count), "utf-8")
            except UnicodeDecodeError as error:
                raise ProtocolError("text that is not UTF-8") from error
        if kind == "bytes":
            return bytes(self.take(count))
        if kind == "list_u32":
            return list(struct.unpack(f"<{count}I", self.take(4 * count)))
        if kind == "past_steps":
            return self._list(count, self._past_step)
        assert kind == "list_bytes", kind
        return self._list(count, lambda: self.get("bytes"))

    def _list(self, count: int, element: Callable[[], Any]) -> List[Any]:
        if 4 * count > len(self._left):
            raise ProtocolError("a list longer than its frame")
        return [element() for _ in range(count)]

    def _report(self) -> bytes:
        count = self.unpack(_LENGTH)
        rest = self.take(count * WORD.size + REPORT_REST.size)
        return _count(count) + bytes(rest)

    def _past_step(self) -> Tuple[int, int, bytes]:
        step, position = struct.unpack("<qq", self.take(16))
        return step, position, self._report()


def decode(frame: Union[bytes, memoryview]) -> Tuple[str, SimpleNamespace]:
    """A message of what follows the length. Raises ProtocolError."""
    reader = _Reader(frame)
    number = reader.unpack(_PLAIN["u8"])
    if number >= len(_NAMES):
        raise ProtocolError("a message of an unknown type")
    name = _NAMES[number]
    message = SimpleNamespace(**{field: reader.get(kind) for field, kind in MESSAGES[name]})
    reader.end()
    return name, message


def take_frames(unread: bytearray) -> List[Tuple[str, SimpleNamespace]]:
    """The messages that have arrived whole; what is left stays in `unread`."""
    messages = []
    at = 0
    while len(unread) - at >= _LENGTH.size:
        (length,) = _LENGTH.unpack_from(unread, at)
        if length > FRAME_BYTES_MAX:
            raise ProtocolError("a frame that is too long")
        if len(unread) - at - _LENGTH.size < length:
            break
        begin = at + _LENGTH.size
        messages.append(decode(bytes(unread[begin : begin + length])))
        at = begin + length
    del unread[:at]
    return messages


def report_bytes(
    words: bytes,
    samples: int,
    loss: float,
    accuracy: float,
    noise: "Any",
    noise_scale: float,
    average_squared_norm: float,
    codec_error: float,
    hold: int,
) -> bytes:
    """A StepReport; `noise` is (|G|², tr Σ) of this step, or None."""
    squared_norm, covariance_trace = noise if noise is not None else (0.0, 0.0)
    rest = REPORT_REST.pack(
        samples,
        loss,
        accuracy,
        noise is not None,
        squared_norm,
        covariance_trace,
        noise_scale,
        average_squared_norm,
        codec_error,
        hold,
    )
    return _count(len(words) // WORD.size) + words + rest
