"""Experiments: what the commands of the same names run, with their results as objects."""

import contextlib
import io
import json
import os
import sqlite3
import sys
import tempfile
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Type,
    Union,
)

from ukemi import _core
from ukemi.policy import Policy, register

if TYPE_CHECKING:
    import pandas

PathLike = Union[str, "os.PathLike[str]"]
PolicyName = Union[str, Type[Policy]]
Policies = Union[PolicyName, Sequence[Union[PolicyName, Sequence[PolicyName]]]]
Settings = Mapping[str, Any]
Progress = Union[None, bool, Callable[[int, int], None]]
Row = Dict[str, Any]

_PACKAGE = Path(__file__).resolve().parent


# ---- what is asked for --------------------------------------------------------------------------


def _some(what: str, given: Any) -> Any:
    """An empty one is no wish for the defaults, which None is."""
    if isinstance(given, (str, list)) and not given:
        raise ValueError(f"{what}: expected at least one, found none")
    return given


def _scenario(given: PathLike) -> Path:
    return Path(_core.scenario_file(os.fspath(given), _PACKAGE))


def _policy_name(one: PolicyName) -> str:
    if isinstance(one, str):
        return one
    if isinstance(one, type) and issubclass(one, Policy):
        return register(one).name
    raise TypeError(f"expected a policy's name or a class of policies, found {one!r}")


def _policy_lists(policies: Policies) -> str:
    """ "a,b+c" of "a,b+c", or of ["a", ("b", "c")]: each entry is a list that runs together."""
    if isinstance(policies, str) or isinstance(policies, type):
        return _policy_name(_some("policies", policies))
    lists = []
    for entry in policies:
        if isinstance(entry, str) or isinstance(entry, type):
            lists.append(_policy_name(_some("policies", entry)))
        else:
            lists.append("+".join([_policy_name(one) for one in _some("policies", list(entry))]))
    return ",".join(_some("policies", lists))


def _classes(given: Any) -> Iterator[Type[Policy]]:
    if isinstance(given, type):
        yield given
    elif given is not None and not isinstance(given, str):
        for one in given:
            yield from _classes(one)


def _expect_one_class_a_name(*given: Any) -> None:
    """A name is registered once: of two classes with one name the first would never be asked."""
    found: Dict[str, Type[Policy]] = {}
    for one in _classes(given):
        name = getattr(one, "name", one.__name__)
        if found.setdefault(name, one) is not one:
            raise ValueError(f"policies: two classes are called {name!r}; give one a name")


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _varied_value(value: Any) -> str:
    # Commas part the values of a command line, but not within quotes.
    text = _value(value)
    return json.dumps(text) if isinstance(value, str) and "," in value else text


def _settings(settings: Optional[Settings]) -> List[str]:
    return [f"{pointer}={_value(value)}" for pointer, value in (settings or {}).items()]


def _varied(vary: Optional[Mapping[str, Sequence[Any]]]) -> List[str]:
    varied = []
    for pointer, values in (vary or {}).items():
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            raise TypeError(f"vary: expected a list of values of {pointer}, found {values!r}")
        varied.append(f"{pointer}={','.join(_varied_value(value) for value in values)}")
    return varied


def _names(what: str, names: Union[None, str, Sequence[str]]) -> str:
    if names is None or isinstance(names, str):
        return "" if names is None else _some(what, names)
    return ",".join(_some(what, list(names)))


def _list_of(names: Union[str, Sequence[str]]) -> List[str]:
    """A text is one name, and not its letters."""
    return [names] if isinstance(names, str) else list(names)


def _seeds(seeds: Union[None, int, str, Iterable[int]]) -> str:
    if seeds is None or isinstance(seeds, str):
        return "" if seeds is None else _some("seeds", seeds)
    if isinstance(seeds, int):
        return str(seeds)
    if isinstance(seeds, range) and seeds.step == 1 and len(seeds) > 0:
        return f"{seeds.start}..{seeds.stop - 1}"
    return ",".join(_some("seeds", [str(seed) for seed in seeds]))


def _traces(traces: Union[None, PathLike, Sequence[PathLike]]) -> Row:
    if traces is None:
        return {}
    if isinstance(traces, (str, os.PathLike)):
        return {"traces": _some("traces", os.fspath(traces))}
    return {"trace_files": _some("traces", [Path(one) for one in traces])}


def _asked(
    scenarios: Iterable[PathLike],
    policies: Optional[Policies],
    traces: Union[None, PathLike, Sequence[PathLike]],
    zones: bool,
    set: Optional[Settings],
    vary: Optional[Mapping[str, Sequence[Any]]],
    seeds: Union[None, int, str, Iterable[int]],
    starts: Union[None, int, str],
    baseline: Optional[PolicyName],
    threads: int,
) -> Row:
    _expect_one_class_a_name(policies, baseline)
    return {
        "scenarios": [_scenario(one) for one in scenarios],
        "policies": "" if policies is None else _policy_lists(policies),
        **_traces(traces),
        "zones": zones,
        "settings": _settings(set),
        "varied": _varied(vary),
        "seeds": _seeds(seeds),
        "starts": "" if starts is None else str(starts),
        "baseline": "" if baseline is None else _policy_name(baseline),
        "threads": threads,
    }


# ---- progress -----------------------------------------------------------------------------------


def _in_notebook() -> bool:
    return "ipykernel" in sys.modules


class _Bar:
    """A line that is written over; in a notebook, too, whose output takes carriage returns."""

    def __init__(self) -> None:
        self._stream = sys.stdout if _in_notebook() else sys.stderr
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        if done == total and not self._shown:
            return
        width = 30
        full = width * done // total
        end = "\n" if done == total else ""
        bar = "#" * full + "." * (width - full)
        self._stream.write(f"\r[{bar}] {done} of {total} runs{end}")
        self._stream.flush()
        self._shown = True


def _progress(wanted: Progress) -> Optional[Callable[[int, int], None]]:
    if callable(wanted):
        return wanted
    if wanted is None:
        wanted = _in_notebook() or sys.stderr.isatty()
    return _Bar() if wanted else None


# ---- results ------------------------------------------------------------------------------------


class Picture(str):
    """A figure as SVG; a notebook shows it."""

    def _repr_svg_(self) -> str:
        return str(self)


def _frame(source: Callable[[Any], "pandas.DataFrame"]) -> "pandas.DataFrame":
    try:
        import pandas  # only where it is asked for
    except ImportError as missing:
        raise ImportError(
            "runs: a DataFrame needs pandas (pip install pandas); .rows has the same as dicts"
        ) from missing
    return source(pandas)


class _Saved:
    """Results that can be written as the command writes them, and shown from there."""

    @property
    def rows(self) -> List[Row]:  # pragma: no cover
        """A dict a run, as the command's JSON has it."""
        raise NotImplementedError

    def _runs_csv(self) -> str:  # pragma: no cover
        raise NotImplementedError

    @property
    def runs(self) -> "pandas.DataFrame":
        """The command's table as a DataFrame, a row a run: units in the names of its columns.

        Needs pandas; rows do not.
        """
        as_text = {name: str for name in ("event_hash", "outcome_hash", "trace", "variant")}
        text = io.StringIO(self._runs_csv())
        return _frame(lambda pandas: pandas.read_csv(text, dtype=as_text))

    def __len__(self) -> int:
        return len(self.rows)

    def _save(
        self, folder: Path, force: bool, only: List[str]
    ) -> Tuple[List[Path], str]:  # pragma: no cover
        raise NotImplementedError

    def save(self, folder: PathLike, force: bool = False) -> Path:
        """Writes the folder that the command writes with --out: tables, JSON, figures."""
        self._save(Path(folder), force, [])
        return Path(folder)

    def figures(self) -> List[str]:
        """The names of the figures that there is something to show in."""
        return sorted(self._drawn([]))

    def figure(self, name: str) -> Picture:
        """One figure as SVG text: "cost_and_time", "timeline", …; ukemi list figures has them.

        Where a scenario was varied, figures of one variant are called "job-deadline-60h/cost".
        """
        stem = name.rsplit("/", 1)[-1]
        if stem not in _core.figure_names():
            raise ValueError(f"no figure {name!r}; there is {', '.join(_core.figure_names())}")
        drawn = self._drawn([stem])
        if name in drawn:
            return drawn[name]
        same = [one for one in drawn if one.rsplit("/", 1)[-1] == stem or "/" not in name]
        if len(same) == 1:
            return drawn[same[0]]
        found = ", ".join(sorted(drawn)) or "none: these results have nothing to show in it"
        raise ValueError(f"expected one figure {name!r}, found {found}")

    def report(self) -> str:
        """Everything on one page: HTML that needs no other file (ukemi report)."""
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "results"
            self._save(folder, False, [])
            return _core.report([folder])

    def _drawn(self, only: List[str]) -> Dict[str, Picture]:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "results"
            files, problem = self._save(folder, False, only)
            if problem:
                raise RuntimeError(f"figures: {problem}")
            names = {}
            for file in files:
                name = file.relative_to(folder).with_suffix("").as_posix()
                names[name[len("figures/") :] if name.startswith("figures/") else name] = file
            return {name: Picture(file.read_text("utf-8")) for name, file in names.items()}


class Runs(_Saved):
    """The runs of a replay: what `ukemi replay` prints with --json, and more."""

    def __init__(self, made: "_core.MadeRuns") -> None:
        self._made = made
        self._results: Row = json.loads(made.own_json())

    @property
    def rows(self) -> List[Row]:
        """A dict a run, with the columns of summary.csv and their units in their names."""
        rows: List[Row] = self._results["runs"]
        return rows

    def _runs_csv(self) -> str:
        return self._made.runs_csv()

    @property
    def policies(self) -> List[Row]:
        """Means and intervals by policy and variant."""
        rows: List[Row] = self._results["policies"]
        return rows

    def pairs(self, baseline: Optional[PolicyName] = None) -> List[Row]:
        """Each policy against one of them, pair by pair: differences, ratios, tests."""
        name = _policy_name(baseline) if baseline is not None else self._made.baseline
        if not name:
            raise ValueError("baseline: expected the name of a policy")
        rows: List[Row] = json.loads(self._made.results_json(self._made.called(name)))["pairs"]
        return rows

    @property
    def warnings(self) -> List[str]:
        """What makes these results mean less than they seem to."""
        return self._made.warnings

    @property
    def event_hashes(self) -> List[str]:
        """Of each run: over every event, every Plan, the bill and the duration."""
        return [run["event_hash"] for run in self.rows]

    def decisions(self, run: int) -> str:
        """decisions.jsonl of a run, by its number; empty where none was kept (details=)."""
        return self._made.decisions(run)

    def events(self, run: int) -> str:
        """events.jsonl of a run; kept with log_events=True."""
        return self._made.events(run)

    def __str__(self) -> str:
        return self._made.table()

    def _save(self, folder: Path, force: bool, only: List[str]) -> Tuple[List[Path], str]:
        return self._made.save_results(folder, force, only)


class Comparison(Runs):
    """What `ukemi compare` makes of runs: time, samples, steps and dollars to the target."""

    def __init__(self, made: "_core.MadeRuns") -> None:
        super().__init__(made)
        self._compared: Row = json.loads(made.comparison_json(made.baseline))

    @property
    def candidates(self) -> List[Row]:
        """A row a policy and variant."""
        rows: List[Row] = self._compared["candidates"]
        return rows

    def _save(self, folder: Path, force: bool, only: List[str]) -> Tuple[List[Path], str]:
        return self._made.save_comparison(folder, force, only)


class Steps(_Saved):
    """What `ukemi simulate` says of training steps on a cluster."""

    def __init__(self, made: "_core.MadeSteps") -> None:
        self._made = made
        self.document: Row = json.loads(made.json())

    @property
    def rows(self) -> List[Row]:
        """A dict a job and variant: means of its steps."""
        return [
            {"varied": variant.get("vary", {}), **job}
            for variant in self.document.get("variants", [self.document])
            for job in variant["jobs"]
        ]

    def _runs_csv(self) -> str:
        return self._made.runs_csv()

    def steps_csv(self) -> str:
        """A row a step."""
        return self._made.steps_csv()

    def _save(self, folder: Path, force: bool, only: List[str]) -> Tuple[List[Path], str]:
        return self._made.save(folder, force, only)


class Query:
    """What `ukemi query` says of the runs in a database."""

    def __init__(self, document: str) -> None:
        self.document: Row = json.loads(document)

    @property
    def rows(self) -> List[Row]:
        """A dict a group: means, intervals, and differences where there is a baseline."""
        rows: List[Row] = self.document["groups"]
        return rows

    @property
    def warnings(self) -> List[str]:
        """What makes them mean less than they seem to."""
        lines: List[str] = self.document.get("warnings", [])
        return lines

    def frame(self) -> "pandas.DataFrame":
        """The rows as a DataFrame; needs pandas."""
        return _frame(lambda pandas: pandas.DataFrame(self.rows))


class Sweep:
    """What a sweep did: runs that it made, and that the database had before."""

    def __init__(self, database: Path, end: Row) -> None:
        self.database = database
        self.made: int = end["made"]
        self.there: int = end["there"]
        self.wall_s: float = end["wall_s"]

    @property
    def rows(self) -> List[Row]:
        """A dict a run that the database has, with the columns of its view `runs`."""
        with contextlib.closing(sqlite3.connect(self.database)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute("SELECT * FROM runs")]

    @property
    def runs(self) -> "pandas.DataFrame":
        """The same as a DataFrame; needs pandas."""
        return _frame(lambda pandas: pandas.DataFrame(self.rows))

    def __len__(self) -> int:
        return self.made + self.there

    def pairs(self, baseline: PolicyName) -> List[Row]:
        """Each policy against one of them, variant by variant: rows of `ukemi query`."""
        found = query(self.database, baseline=_policy_name(baseline))
        return [row for row in found.rows if row.get("baseline")]

    @property
    def warnings(self) -> List[str]:
        """What makes these results mean less than they seem to."""
        return query(self.database).warnings

    def report(self) -> str:
        """Everything on one page: HTML that needs no other file (ukemi report)."""
        return report(self.database)


class Tuning:
    """What `ukemi tune` found."""

    def __init__(self, document: str, table: str) -> None:
        self.document: Row = json.loads(document)
        self._table = table

    @property
    def rows(self) -> List[Row]:
        """A dict a setting that was judged on markets of its own, the best first."""
        rows: List[Row] = self.document["best"]
        return rows

    @property
    def warnings(self) -> List[str]:
        """What makes these results mean less than they seem to."""
        lines: List[str] = self.document.get("warnings", [])
        return lines

    def __str__(self) -> str:
        return self._table


class Fit:
    """A market that was set to records; text is what scenarios read as a file."""

    def __init__(self, text: str, notes: List[str], comparison: str) -> None:
        self.text = text
        self.market: Row = json.loads(text)
        self.notes = notes
        self.comparison = comparison
        """What it makes beside what was recorded, in words."""


class LogReplay:
    """What policies said when a recorded run was fed to them again."""

    def __init__(self, end: Row) -> None:
        self.questions: int = end["questions"]
        self.decisions: int = end["decisions"]
        self.answered_otherwise: int = end["answered_otherwise"]
        self.differences: List[str] = end["differences"]


# ---- experiments --------------------------------------------------------------------------------


def replay(
    scenario: PathLike,
    *,
    policies: Optional[Policies] = None,
    traces: Union[None, PathLike, Sequence[PathLike]] = None,
    zones: bool = False,
    set: Optional[Settings] = None,
    vary: Optional[Mapping[str, Sequence[Any]]] = None,
    seeds: Union[None, int, str, Iterable[int]] = None,
    starts: Union[None, int, str] = None,
    baseline: Optional[PolicyName] = None,
    threads: int = 0,
    details: str = "first",
    log_observations: bool = False,
    log_events: bool = False,
    progress: Progress = None,
) -> Runs:
    """Replays spot markets against policies: `ukemi replay`, with the same event hashes.

    scenario: a file, the name of a shipped scenario, or a folder of results.
    policies: "a,b+c" or ["a", ("b", Mine)]; entries run by themselves, parts of one together.
    traces: a pattern of files or a list of them; with zones=True they are of one market.
    set, vary: {"/job/deadline": "60h"}, {"/job/deadline": ["60h", "70h"]}.
    threads: runs at a time; 0: as many as there are cores.
    details: of which runs timeline and decisions are kept: "none", "first" (one a policy), "all".
    progress: True, False, a function of done and total, or None: where somebody can see it.

    Other threads of Python go on meanwhile; an interrupt (Ctrl-C) ends it in the midst of its
    runs. InputError for bad input, PolicyError for a policy in Python that raised something.
    """
    asked = _asked(
        [scenario], policies, traces, zones, set, vary, seeds, starts, baseline, threads
    )
    asked.update(details=details, log_observations=log_observations, log_events=log_events)
    return Runs(_core.MadeRuns(asked, True, _progress(progress)))


def compare(
    *scenarios: PathLike,
    policies: Optional[Policies] = None,
    traces: Union[None, PathLike, Sequence[PathLike]] = None,
    zones: bool = False,
    set: Optional[Settings] = None,
    vary: Optional[Mapping[str, Sequence[Any]]] = None,
    seeds: Union[None, int, str, Iterable[int]] = None,
    starts: Union[None, int, str] = None,
    baseline: Optional[PolicyName] = None,
    threads: int = 0,
    details: str = "all",
    progress: Progress = None,
) -> Comparison:
    """Time, samples, steps and dollars to the target, by policy and setting: `ukemi compare`."""
    if not scenarios:
        raise TypeError("expected at least one scenario")
    asked = _asked(
        scenarios, policies, traces, zones, set, vary, seeds, starts, baseline, threads
    )
    asked.update(details=details)
    return Comparison(_core.MadeRuns(asked, False, _progress(progress)))


def simulate(
    scenario: PathLike,
    *,
    set: Optional[Settings] = None,
    vary: Optional[Mapping[str, Sequence[Any]]] = None,
    progress: Progress = None,
) -> Steps:
    """Where the time of a training step goes on a cluster: `ukemi simulate`.

    An interrupt ends it after the variants that are being simulated.
    """
    asked = (_scenario(scenario), _settings(set), _varied(vary))
    return Steps(_core.MadeSteps(*asked, _progress(progress)))


def sweep(
    *scenarios: PathLike,
    out: PathLike,
    resume: bool = False,
    policies: Optional[Policies] = None,
    schedulers: Union[None, str, Sequence[str]] = None,
    full: bool = False,
    traces: Union[None, PathLike, Sequence[PathLike]] = None,
    zones: bool = False,
    set: Optional[Settings] = None,
    vary: Optional[Mapping[str, Sequence[Any]]] = None,
    seeds: Union[None, int, str, Iterable[int]] = None,
    starts: Union[None, int, str] = None,
    threads: int = 0,
    progress: Progress = None,
) -> Sweep:
    """Very many runs into one database: `ukemi sweep`. Interrupted, resume=True goes on.

    The runs are those of replay, or of schedule (schedulers) or search (full) for such a scenario.
    """
    asked = _asked(scenarios, policies, traces, zones, set, vary, seeds, starts, None, threads)
    asked.update(database=Path(out), resume=resume, full=full)
    asked.update(schedulers=_names("schedulers", schedulers))
    return Sweep(Path(out), _core.sweep(asked, _progress(progress)))


def tune(
    scenario: PathLike,
    *,
    policy: PolicyName,
    over: Mapping[str, str],
    held_out: str = "",
    tries: int = 0,
    goal: str = "cost_usd",
    traces: Union[None, PathLike, Sequence[PathLike]] = None,
    zones: bool = False,
    set: Optional[Settings] = None,
    seeds: Union[None, int, str, Iterable[int]] = None,
    starts: Union[None, int, str] = None,
    threads: int = 0,
    progress: Progress = None,
) -> Tuning:
    """Searches a policy's parameters on some markets, judges them on others: `ukemi tune`.

    over: {"interval": "5min..8h:log"} or {"safety_net": "simple,strong"}.
    """
    asked = _asked(
        [scenario], policy, traces, zones, set, None, seeds, starts, None, threads
    )
    asked.update(
        over=[f"{name}={values}" for name, values in over.items()],
        held_out=held_out,
        tries=tries,
        goal=goal,
    )
    return Tuning(*_core.tune(asked, _progress(progress)))


def _records(
    traces: Sequence[PathLike], zone: str, instance_type: str, gap: str, join: bool, zones: bool
) -> Row:
    return {
        "files": [os.fspath(one) for one in traces],
        "zone": zone,
        "instance_type": instance_type,
        "gap": gap,
        "join": join,
        "zones": zones,
    }


def describe(
    *traces: PathLike,
    zone: str = "",
    instance_type: str = "",
    gap: str = "",
    join: bool = False,
    zones: bool = False,
) -> List[Row]:
    """What recorded markets are like: a dict a series, as `ukemi describe --json` has them."""
    asked = _records(traces, zone, instance_type, gap, join, zones)
    rows: List[Row] = json.loads(_core.describe(asked))["series"]
    return rows


def fit(
    *traces: PathLike,
    name: str = "fitted",
    source: str = "",
    on_demand: str = "",
    stretches: str = "",
    zone: str = "",
    instance_type: str = "",
    gap: str = "",
) -> Fit:
    """Sets the market generator to recorded series: `ukemi fit`.

    on_demand: "0.65 USD/h"; stretches: "1 d", of the record, in place of bursts and prices drawn.
    """
    asked = _records(traces, zone, instance_type, gap, False, False)
    asked.update(name=name, source=source, on_demand=on_demand, stretches=stretches)
    return Fit(*_core.fit(asked))


def replay_log(log: PathLike) -> LogReplay:
    """Feeds a recorded decisions.jsonl to its policies again: `ukemi replay-log`.

    The log must hold every question (log_observations=True); policies in Python must be
    registered.
    """
    return LogReplay(_core.replay_log(Path(log).read_text("utf-8"), os.fspath(log)))


def query(
    database: PathLike,
    *,
    by: Union[str, Sequence[str]] = (),
    metrics: Union[str, Sequence[str]] = (),
    baseline: str = "",
    where: Optional[Mapping[str, Any]] = None,
    build: str = "",
) -> Query:
    """Means, intervals and pairs of the runs in a database: `ukemi query`.

    by: "policy", columns, or varied keys ("/job/deadline"); where: {"policy": ["greedy"]}.
    """
    chosen = []
    for name, values in (where or {}).items():
        some = [values] if isinstance(values, str) or not isinstance(values, Iterable) else values
        chosen.append(f"{name}={','.join(_varied_value(one) for one in some)}")
    named = (_list_of(by), _list_of(metrics))
    return Query(_core.query(Path(database), *named, baseline, chosen, build))


def report(*results: PathLike) -> str:
    """Results folders and databases of runs as one page to read: `ukemi report`."""
    return _core.report([Path(one) for one in results])
