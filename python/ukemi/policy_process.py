"""Policies of a Python file for the command: python3 -m ukemi.policy_process FILE.

`ukemi --plugin rule.py COMMAND` starts it. Standard input is a socket on which lines of JSON go
both ways (scenarios/reader/policy_process.hpp is the other end); what the file prints goes to
standard error. A policy is shown what it would be shown in the command's own process: what it asks
the view is asked there.
"""

import ctypes
import json
import signal
import socket
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any, Dict, List, Type

from ukemi._core import Decision, Observation, Plan
from ukemi.policy import Policy
from ukemi.user_file import error_line, load_user_file

_DECIDED = [name for name in dir(Decision) if not name.startswith("_")]
_PLANNED = [name for name in dir(Plan) if name not in ("after", "market", "count")]
_PLANNED = [name for name in _PLANNED if not name.startswith("_")]
_REALS = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}


class _Line:
    """The socket, a record at a time."""

    def __init__(self) -> None:
        self._stream = socket.socket(fileno=0).makefile("rw", encoding="utf-8", newline="\n")

    def take(self) -> Dict[str, Any]:
        line = self._stream.readline()
        if not line.endswith("\n"):
            raise SystemExit(0)  # the command has ended
        record = json.loads(line)
        assert isinstance(record, dict)
        return record

    def say(self, record: str, **fields: Any) -> None:
        text = json.dumps({"record": record, **fields}, separators=(",", ":"), allow_nan=False)
        self._stream.write(text + "\n")
        self._stream.flush()


class AskedView:
    """A View over the line, while its question is asked."""

    def __init__(self, line: _Line, question: Dict[str, Any]) -> None:
        self._line = line
        self._open = True
        self.seen = Observation(**_real(question["seen"]))
        self.plan = Plan(**_real(question["plan"]))
        self.instances_max: int = question["instances_max"]
        self.samples_per_epoch: int = question["samples_per_epoch"]

    def close(self) -> None:
        """What is kept beyond the question answers no more."""
        self._open = False

    def _ask(self, what: str, **fields: Any) -> Any:
        if not self._open:
            raise RuntimeError("a view is only there while it is asked about")
        self._line.say("asks", what=what, **fields)
        return self._line.take()["value"]

    def work_time_ns(self, samples: int, plan: Plan, workers: int) -> int:
        if samples < 0 or workers < 1:
            raise ValueError("expected samples and workers")
        return int(
            self._ask("work_time_ns", samples=samples, plan=_plain_plan(plan), workers=workers)
        )

    def transition_time_ns(self, before: Plan, after: Plan) -> int:
        return int(
            self._ask("transition_time_ns", before=_plain_plan(before), after=_plain_plan(after))
        )

    def checkpoint_time_ns(self, plan: Plan) -> int:
        return int(self._ask("checkpoint_time_ns", plan=_plain_plan(plan)))

    def restore_time_ns(self, plan: Plan) -> int:
        return int(self._ask("restore_time_ns", plan=_plain_plan(plan)))

    def loses_work(self) -> bool:
        return bool(self._ask("loses_work"))

    def uniform(self) -> float:
        return float(self._ask("uniform"))

    def integer(self, least: int, most: int) -> int:
        if least > most:
            raise ValueError("expected a range that goes up")
        return int(self._ask("integer", least=least, most=most))


def _real(value: Any) -> Any:
    """Numbers for which JSON has no form come as text; no enumerator has such a name."""
    if isinstance(value, dict):
        return {key: _real(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_real(one) for one in value]
    return _REALS.get(value, value) if isinstance(value, str) else value


def _plain(value: Any) -> Any:
    """As decisions.jsonl has it."""
    if isinstance(value, (tuple, list)):
        return [_plain(one) for one in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return "nan" if value != value else "inf" if value > 0 else "-inf"
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    names = [name for name in dir(value) if not name.startswith("_")]
    return {name: _plain(getattr(value, name)) for name in names}


def _plain_plan(plan: Plan) -> Dict[str, Any]:
    return {name: _plain(getattr(plan, name)) for name in _PLANNED}


def _plain_decision(decision: Any, policy: Policy) -> Dict[str, Any]:
    if decision is None:
        return {}
    if not isinstance(decision, Decision):
        raise TypeError(f"{policy.name}: expected a Decision or None, found {decision!r}")
    wishes = {name: _plain(getattr(decision, name)) for name in _DECIDED}
    return {name: value for name, value in wishes.items() if value is not None and value != ""}


def _policies_of(module: ModuleType) -> Dict[str, Type[Policy]]:
    """Those that the file itself defines."""
    found = {}
    for one in vars(module).values():
        if isinstance(one, type) and issubclass(one, Policy) and one.__module__ == module.__name__:
            found[one.name] = one
    return found


def _why(error: BaseException, file: Path) -> str:
    """The error in a line, with the file's own line; the traceback goes to standard error."""
    traceback.print_exc()
    return error_line(error, lambda name: name == str(file))


class _Answers:
    """The objects that have been made of the file's classes, by number."""

    def __init__(self, line: _Line, known: Dict[str, Type[Policy]]) -> None:
        self._line = line
        self._known = known
        self._made: Dict[int, Policy] = {}

    def make(self, record: Dict[str, Any]) -> None:
        try:
            policy = self._known[record["name"]](**record["parameters"])
        except (TypeError, ValueError) as error:  # of what somebody set: a line says all
            self._line.say("raised", why=" ".join(str(error).split())[:500])
            return
        self._made[record["policy"]] = policy
        self._line.say(
            "made",
            knobs=list(policy.knobs),
            hooks=sorted(policy.hooks),
            every_steps=policy.every_steps,
            looks_at_ages=policy.looks_at_ages,
            looks_at_workers=policy.looks_at_workers,
            looks_at_links=policy.looks_at_links,
        )

    def question(self, record: Dict[str, Any]) -> None:
        policy = self._made[record["policy"]]
        view = AskedView(self._line, record)
        arguments: List[Any] = [view]
        if record["hook"] == "on_event":
            arguments.insert(0, record["kind"])
        decision = getattr(policy, record["hook"])(*arguments)
        view.close()
        self._line.say("answer", decision=_plain_decision(decision, policy))

    def forget(self, record: Dict[str, Any]) -> None:
        self._made.pop(record["policy"], None)


def main(file: Path) -> None:
    """Until the command ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: not even a loop outlives it
    line = _Line()
    try:
        known = _policies_of(load_user_file(str(file)))
    except Exception as error:
        line.say("raised", why=_why(error, file))
        return
    line.say(
        "policies",
        policies=[
            {
                "name": one.name,
                "summary": (one.__doc__ or "").strip().split("\n")[0],
                "needs_deadline": bool(one.needs_deadline),
                "short_parameter": str(one.short_parameter),
            }
            for one in known.values()
        ],
    )
    answers = _Answers(line, known)
    acts = {"make": answers.make, "question": answers.question, "forget": answers.forget}
    while True:
        record = line.take()
        try:
            acts[record["record"]](record)
        except Exception as error:
            line.say("raised", why=_why(error, file))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
