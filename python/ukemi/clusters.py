"""Jobs and searches that share a cluster: what `ukemi schedule` and `ukemi search` run."""

import json
from pathlib import Path
from typing import Any, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from ukemi import _core
from ukemi.experiments import (
    PathLike,
    Progress,
    Row,
    Settings,
    _names,
    _progress,
    _Saved,
    _scenario,
    _seeds,
    _settings,
    _varied,
)

class _SeededRuns(_Saved):
    """Runs that differ in who decided, in what was varied, and in seed."""

    _made: Union["_core.MadeSchedules", "_core.MadeSearches"]

    def __init__(self, made: Union["_core.MadeSchedules", "_core.MadeSearches"]) -> None:
        self._made = made
        self._results: Row = json.loads(made.json(made.baseline))

    @property
    def rows(self) -> List[Row]:
        """A dict a run, with the columns of the command's table and their units in their names."""
        rows: List[Row] = self._results["runs"]
        return rows

    def _runs_csv(self) -> str:
        return self._made.runs_csv()

    @property
    def means(self) -> List[Row]:
        """Means and 95 % intervals over the seeds, of who decided in each variant."""
        rows: List[Row] = self._results["means"]
        return rows

    def pairs(self, baseline: Optional[str] = None) -> List[Row]:
        """Each against one of them, seed by seed: the rows of means, with differences and tests."""
        name = baseline if baseline is not None else self._made.baseline
        if not name:
            raise ValueError("baseline: expected the name of one that decides")
        rows: List[Row] = json.loads(self._made.json(name))["means"]
        return [row for row in rows if row["baseline"]]

    @property
    def warnings(self) -> List[str]:
        """What makes these results mean less than they seem to."""
        lines: List[str] = self._results.get("warnings", [])
        return lines

    @property
    def outcome_hashes(self) -> List[str]:
        """Of each run: over all that became of it, equal to the command's."""
        return [run["outcome_hash"] for run in self.rows]

    def __str__(self) -> str:
        return self._made.table()

    def _save(self, folder: Path, force: bool, only: List[str]) -> Tuple[List[Path], str]:
        return self._made.save(folder, force, only)


class Schedules(_SeededRuns):
    """Jobs that share a cluster, under schedulers: what `ukemi schedule` prints with --json."""

    _made: "_core.MadeSchedules"

    def jobs_csv(self) -> str:
        """A row a job: when it came and ended, what it held, lost and cost."""
        return self._made.jobs_csv()


class Searches(_SeededRuns):
    """Hyper-parameter searches: what `ukemi search` prints with --json."""

    _made: "_core.MadeSearches"

    def trials_csv(self) -> str:
        """A row a trial: its settings, how far it was trained, its metric there."""
        return self._made.trials_csv()


def _cluster_asked(
    scenario: PathLike,
    set: Optional[Settings],
    vary: Optional[Mapping[str, Sequence[Any]]],
    seeds: Union[None, int, str, Iterable[int]],
    baseline: Optional[str],
) -> Row:
    return {
        "scenario": _scenario(scenario),
        "settings": _settings(set),
        "varied": _varied(vary),
        "seeds": _seeds(seeds),
        "baseline": baseline or "",
    }


def schedule(
    scenario: PathLike,
    *,
    schedulers: Union[None, str, Sequence[str]] = None,
    set: Optional[Settings] = None,
    vary: Optional[Mapping[str, Sequence[Any]]] = None,
    seeds: Union[None, int, str, Iterable[int]] = None,
    baseline: Optional[str] = None,
    progress: Progress = None,
) -> Schedules:
    """Jobs that share a cluster, under one scheduler or several: `ukemi schedule`.

    schedulers: "fifo,srtf" or a list, in place of the scenario's, whose parameters they keep.
    seeds: of generated jobs and markets, and of schedulers that draw; means and pairs are over
    them. An interrupt ends it after the schedules that are being made.
    """
    asked = _cluster_asked(scenario, set, vary, seeds, baseline)
    asked["schedulers"] = _names("schedulers", schedulers)
    return Schedules(_core.MadeSchedules(asked, _progress(progress)))


def search(
    scenario: PathLike,
    *,
    full: bool = False,
    set: Optional[Settings] = None,
    vary: Optional[Mapping[str, Sequence[Any]]] = None,
    seeds: Union[None, int, str, Iterable[int]] = None,
    baseline: Optional[str] = None,
    progress: Progress = None,
) -> Searches:
    """Hyper-parameter searches whose trials share a cluster, in simulated time: `ukemi search`.

    full: train every trial to its end, too, and say whether the winner is the same.
    """
    asked = _cluster_asked(scenario, set, vary, seeds, baseline)
    asked["full"] = full
    return Searches(_core.MadeSearches(asked, _progress(progress)))
