"""What steps and changes of a script cost on this machine: `ukemi calibrate`, from Python."""

import inspect
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Union


def calibrate(
    make: Union[Callable[..., Any], str, Path],
    batches: Iterable[int],
    *,
    out: Union[str, Path] = "box.json",
    workers: int = 2,
    steps: int = 50,
    stretches: int = 5,
    repeat: int = 3,
    force: bool = False,
    command: str = "ukemi",
) -> Dict[str, Any]:
    """Measures steps by batch and number of workers, and what starts, resizes, checkpoints take.

    `make` is the script's function, or the script's path: workers are processes of their own, so
    it must stand in a file. `batches` are samples a step on each worker. Writes the file that
    scenarios take as "costs" and `ukemi predict` as --costs, and returns what it holds: wall times
    in seconds. `command` is the ukemi that measures. RuntimeError with what it complains of, or
    where there is none; ValueError for another function than the file's own `make`.
    """
    script = _script_of(make)
    wanted = [int(batch) for batch in batches]
    if not wanted or min(wanted) < 1:
        raise ValueError("batches: expected numbers of samples, from 1 on")
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "calibration.json"
        scenario.write_text(json.dumps(_scenario(script, wanted[0], workers)))
        if shutil.which(command) is None:
            raise RuntimeError(
                f"{command}: found no such program; calibrate(…, command=) is where ukemi is "
                "(`cmake --install` and ./dev make it: a wheel is the module alone)"
            )
        ran = subprocess.run(
            [
                command, "calibrate", str(scenario), "--script", str(script),
                "--python", sys.executable,
                "--workers", str(workers), "--batches", ",".join(map(str, wanted)),
                "--steps", str(steps), "--stretches", str(stretches), "--repeat", str(repeat),
                "--out", str(out), *(["--force"] if force else []),
            ],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    if ran.returncode != 0:
        raise RuntimeError(ran.stderr.strip().splitlines()[-1] if ran.stderr else command)
    costs = json.loads(Path(out).read_text())
    assert isinstance(costs, dict)
    return costs


def _script_of(make: Union[Callable[..., Any], str, Path]) -> Path:
    if isinstance(make, (str, Path)):
        return Path(make).resolve()
    try:
        file = inspect.getsourcefile(make)
    except TypeError:
        file = None
    if file is None or not Path(file).is_file():
        raise ValueError("make: expected a function that stands in a file, for workers to run it")
    named = getattr(sys.modules.get(getattr(make, "__module__", "")), "make", None)
    if named is not make:
        raise ValueError(
            f"make: expected the function of that name in {Path(file).name}, which its workers "
            f"call; found {getattr(make, '__qualname__', make)!s}"
        )
    return Path(file).resolve()


def _scenario(script: Path, batch: int, workers: int) -> Dict[str, Any]:
    """What is measured is the script; the rest is what a scenario must have."""
    return {
        "name": "calibration",
        "seed": 1,
        "job": {
            "samples": 1_000_000_000,
            "batch_per_worker": batch,
            "throughput": {"1": "1 samples/s"},  # before anything is measured
            "checkpoint": {"cost": "1 s", "restore": "1 s"},
        },
        "cluster": {"count_min": 1, "count_max": workers},
        "market": {"on_demand_price": "1 USD/h"},
        "training": {"script": str(script)},
        "replay": ["on_demand"],
    }
