"""ukemi's policies for somebody's own simulator or training loop."""

import json
from typing import Any, Dict, Iterable, Mapping, Optional, Sequence, Union

from ukemi import _core
from ukemi._core import Plan
from ukemi.experiments import PathLike, PolicyName, Settings, _policy_name, _scenario, _settings
from ukemi.policy import register

LoopPolicy = Union[PolicyName, Mapping[str, Any]]


class Controller:
    """A scenario's policies for a world of one's own: it asks, carries out, and says so.

    What `ukemi advise` is over lines: the same questions, answers and checks.
    """

    def __init__(
        self,
        scenario: PathLike,
        *,
        policies: Union[None, PolicyName, Sequence[PolicyName]] = None,
        set: Optional[Settings] = None,
        seed: Optional[int] = None,
    ) -> None:
        if policies is None:
            names = ""
        elif isinstance(policies, (str, type)):
            names = _policy_name(policies)
        else:
            names = "+".join(_policy_name(one) for one in policies)
        self._advisor = _core.Advisor(_scenario(scenario), _settings(set), names, seed)
        self.header: Dict[str, Any] = json.loads(self._advisor.header)
        """The first line of the decision log: plan, capabilities, samples_total, …"""
        self.plan = Plan(**self.header["plan"])
        self._proposed: Optional[Plan] = None
        self._log = [self._advisor.header]

    def ask(self, hook: str = "on_event", kind: str = "clock", **seen: Any) -> Optional[Plan]:
        """Asks the policies; the fields are those of an Observation. A Plan to carry out, or None.

        With another hook than on_event the kind is "none".
        """
        event = {"hook": hook, "kind": kind if hook == "on_event" else "none"}
        answer = self._say({"record": "question", "event": event, "seen": seen})
        self.answers = answer["answers"]
        self._proposed = Plan(**answer["proposed"]) if "proposed" in answer else None
        return self._proposed

    def committed(self) -> None:
        """The Plan that was proposed is carried out, everywhere."""
        plan = self._expect_proposed()
        self._say({"record": "committed", "version": plan.version})
        self.plan, self._proposed = plan, None

    def discarded(self, why: str) -> None:
        """It is carried out nowhere, and the old one holds."""
        plan = self._expect_proposed()
        self._say({"record": "discarded", "version": plan.version, "why": why})
        self._proposed = None

    @property
    def decisions(self) -> str:
        """decisions.jsonl so far; replay_log checks it."""
        return "".join(self._log)

    def _expect_proposed(self) -> Plan:
        if self._proposed is None:
            raise RuntimeError("there is no Plan to be settled")
        return self._proposed

    def _say(self, record: Dict[str, Any]) -> Dict[str, Any]:
        self._log.append(self._advisor.answer(json.dumps(record)))
        answer: Dict[str, Any] = json.loads(self._log[-1])
        return answer


class TrainingLoop:
    """Adapts a training loop: report each step, get a Plan or None.

        loop = ukemi.TrainingLoop(policies=["noise_scale_resize", Mine], plan=plan,
                                  knobs=["workers", "count"], instances_max=8,
                                  samples_total=1_000_000)
        plan = loop.start(now_ns())
        while True:
            while plan is not None:                       # on every worker or on none
                plan = loop.committed(now_ns()) if carry_out(plan) else loop.discarded("why", now_ns())
            if loop.finished:
                break
            plan = loop.step(now_ns=now_ns(), duration_ns=took, workers=n, loss=loss,
                             gradient={"squared_norm": g2, "covariance_trace": trace,
                                       "noise_scale": trace / g2})
            if loop.checkpoint_due:
                save()
                loop.saved()
        loop.stop(now_ns())

    policies: names, classes, or dicts with "name" and parameters. knobs: what the loop can turn.
    Times are those of the run's own clock, which never goes back.
    """

    def __init__(
        self,
        *,
        policies: Iterable[LoopPolicy],
        plan: Plan,
        knobs: Iterable[str],
        samples_total: int,
        samples_per_epoch: int = 0,
        instances_max: int = 1,
        workers_min: int = 1,
        zones: int = 1,
        deadline_ns: Optional[int] = None,
        seed: int = 0,
    ) -> None:
        entries = []
        for one in policies:
            if isinstance(one, str):
                entries.append({"name": one})
            elif isinstance(one, type):
                entries.append({"name": register(one).name})
            else:
                entries.append(dict(one))
        capabilities = {
            "world": "own training loop",
            "knobs": list(knobs),
            "instances_max": instances_max,
            "workers_min": workers_min,
            "zones": zones,
        }
        self._loop = _core.Loop(
            json.dumps({"policies": entries}),
            plan,
            json.dumps(capabilities),
            samples_total,
            samples_per_epoch,
            deadline_ns,
            seed,
        )

    def see(self, **fields: Any) -> None:
        """What the market and the fleet are like: fields of an Observation, until the next see."""
        self._loop.see(**fields)

    def start(self, now_ns: int) -> Optional[Plan]:
        """Once, before the first step."""
        return self._loop.start(now_ns)

    def step(
        self,
        *,
        now_ns: int,
        duration_ns: int,
        workers: int = 1,
        samples: int = 0,
        loss: float = 0.0,
        **measured: Any,
    ) -> Optional[Plan]:
        """A step is over; samples=0 are as many as the Plan says.

        measured: gradient, exchange and worker_views, as objects or dicts.
        """
        return self._loop.step(now_ns, duration_ns, workers, samples, loss, **measured)

    def event(self, kind: str, now_ns: int) -> Optional[Plan]:
        """Something happened: "revocation_notice", "capacity_changed", …; see() says what."""
        return self._loop.event(kind, now_ns)

    def committed(self, now_ns: int) -> Optional[Plan]:
        """The Plan is carried out, everywhere; the next one, if there is one already."""
        return self._loop.settled(True, "", now_ns)

    def discarded(self, why: str, now_ns: int) -> Optional[Plan]:
        """It is carried out nowhere, and the old one holds."""
        return self._loop.settled(False, why, now_ns)

    def rolled_back(self, now_ns: int) -> Optional[Plan]:
        """The model went back to what was saved last, or to the beginning."""
        return self._loop.rolled_back(now_ns)

    def stop(self, now_ns: int) -> None:
        """Once, after the last step."""
        self._loop.stop(now_ns)

    def saved(self) -> None:
        """A checkpoint holds the model as it is now."""
        self._loop.saved()

    @property
    def checkpoint_due(self) -> bool:
        """Whether the Plan's interval has passed in training since the last checkpoint."""
        return self._loop.checkpoint_due

    @property
    def plan(self) -> Plan:
        """As committed."""
        return self._loop.plan

    @property
    def finished(self) -> bool:
        return self._loop.finished

    @property
    def steps_done(self) -> int:
        return self._loop.steps_done

    @property
    def samples_done(self) -> int:
        return self._loop.samples_done

    @property
    def decisions(self) -> str:
        """decisions.jsonl so far; replay_log checks it."""
        return self._loop.decisions
