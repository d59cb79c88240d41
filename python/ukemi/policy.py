"""Policies that are written in Python."""

import re
from typing import Any, ClassVar, FrozenSet, Iterable, Optional, Type, TypeVar

from ukemi import _core
from ukemi._core import Decision, Plan, View

_HOOKS = (
    "before_train",
    "before_epoch",
    "before_step",
    "on_event",
    "after_step",
    "after_epoch",
    "after_train",
)


def seconds(number: float) -> int:
    """So many seconds in nanoseconds, as fields that end in _ns have them."""
    return round(number * 1_000_000_000)


def minutes(number: float) -> int:
    """So many minutes in nanoseconds."""
    return seconds(60 * number)


def hours(number: float) -> int:
    """So many hours in nanoseconds."""
    return seconds(3600 * number)


class Policy:
    """A rule that is asked what should change.

    A class derived from this one says which `knobs` it turns and writes the methods of the hooks
    at which it is asked; those that it does not write are not called. A method gets a View and
    returns a Decision, or None where nothing is to change. The parameters of its constructor are
    those that scenarios and lists of policies set ("mine:wait=2h" calls Mine(wait="2h")); every
    run has an object of its own.

    What it answers must follow from what it is shown and from its own state: no clock, no random
    numbers but view.uniform() and view.integer(), no files. Then a run can be replayed.
    """

    name: ClassVar[str]
    """As in scenarios and results; left out, the class's name in small letters: my_rule."""
    knobs: ClassVar[Iterable[str]] = ()
    """What its Decisions turn: "market", "count", "checkpoint_interval", …"""
    hooks: ClassVar[Iterable[str]]
    """Where it is asked; left out, the hooks whose methods it has."""
    every_steps: int = 1
    """With before_step or after_step: asked at every n-th step."""
    needs_deadline: ClassVar[bool] = False
    short_parameter: ClassVar[str] = ""
    """That of the constructor which a list sets in short: with "wait", "mine:2h" is Mine(wait="2h")."""
    looks_at_ages: bool = False
    """It reads seen.spot_since_ns."""
    looks_at_workers: bool = False
    """It reads seen.worker_views, also where no worker differs from another."""
    looks_at_links: bool = False
    """It reads seen.links, which live workers of several hosts measure for it."""

    def __init_subclass__(cls, **others: Any) -> None:
        super().__init_subclass__(**others)
        if "name" not in cls.__dict__:
            cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()
        if "hooks" not in cls.__dict__:
            cls.hooks = _written(cls)

    def before_train(self, view: View) -> Optional[Decision]:
        """Once, before the first step."""
        return None

    def before_epoch(self, view: View) -> Optional[Decision]:
        """Before the first step of each epoch."""
        return None

    def before_step(self, view: View) -> Optional[Decision]:
        """Before each step, or each n-th."""
        return None

    def on_event(self, kind: str, view: View) -> Optional[Decision]:
        """When something happened: "clock", "price_changed", "revocation_notice", …"""
        return None

    def after_step(self, view: View) -> Optional[Decision]:
        """After each step, or each n-th."""
        return None

    def after_epoch(self, view: View) -> Optional[Decision]:
        """After the last step of each epoch."""
        return None

    def after_train(self, view: View) -> Optional[Decision]:
        """Once, after the last step."""
        return None


def _written(cls: Type[Policy]) -> FrozenSet[str]:
    return frozenset(hook for hook in _HOOKS if getattr(cls, hook) is not getattr(Policy, hook))


_Mine = TypeVar("_Mine", bound=Type[Policy])


def register(cls: _Mine) -> _Mine:
    """Makes the policy known by its name, to scenarios and to lists of policies; a decorator.

    A class of the same name takes the place of the one before. ValueError for a name that a
    policy of ukemi's own has.
    """
    summary = (cls.__doc__ or "").strip().split("\n")[0]
    _core.register_policy(cls.name, summary, cls, cls.needs_deadline, cls.short_parameter)
    return cls


__all__ = ["Decision", "Plan", "Policy", "View", "hours", "minutes", "register", "seconds"]
