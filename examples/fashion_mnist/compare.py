"""What a run that machines were taken from lost beside one that nobody disturbed.

python3 compare.py TAKEN CALM [--loss FILE.svg]

Both are results folders of `ukemi train`. TAKEN was predicted (--costs): TAKEN-predicted lies
beside it; CALM-predicted is the naive guess, as if no machine were ever taken.
"""

import argparse
import csv
import json
import subprocess
from pathlib import Path


def only(folder, name):
    (found,) = folder.glob(f"runs/*/{name}")
    return found


def read_steps(folder):
    with open(only(folder, "steps.csv"), newline="") as stream:
        return list(csv.DictReader(stream))


def duration_s(folder):
    (run,) = json.loads((folder / "runs.json").read_text())["runs"]
    return run["duration_s"]


def kept(rows):
    """The steps that the model has, and how many were lost and done again from a checkpoint.

    Each must begin at the sample at which the one before it ended.
    """
    steps = []
    lost = 0
    if not rows:
        raise SystemExit("a run has no steps")
    for row in rows:
        number = int(row["step"])
        if number > len(steps):
            raise SystemExit(f"step {number} does not follow step {len(steps) - 1}")
        lost += len(steps) - number
        del steps[number:]
        if steps and int(row["samples"]) <= int(steps[-1]["samples"]):
            raise SystemExit(f"step {number} does not go on from the one before it")
        steps.append(row)
    return steps, lost


def samples_of(steps):
    return int(steps[-1]["samples"])


def smoothed(steps, width):
    """(samples, mean loss) of so many steps each."""
    groups = [steps[at : at + width] for at in range(0, len(steps) - width + 1, width)]
    return [
        (int(group[-1]["samples"]), sum(float(row["loss"]) for row in group) / width)
        for group in groups
    ]


def group_sizes(steps):
    sizes = [int(row["workers"]) for row in steps]
    return [size for at, size in enumerate(sizes) if at == 0 or size != sizes[at - 1]]


def error_line(what, predicted, measured):
    return f"{what}: {predicted:.0f} s, error {100 * (predicted / measured - 1):+.1f} %"


def draw(file, curves):
    """By gnuplot: its data inline, so that nothing is left but the figure."""
    plots = ", ".join(
        f"$curve{at} using 1:2 with lines linewidth 2 dashtype {at + 1} title '{name}'"
        for at, name in enumerate(curves)
    )
    script = "set terminal svg size 800,480 font 'sans,13'\n"
    script += f"set output '{file}'\nset xlabel 'samples used'\nset ylabel 'training loss'\n"
    for at, points in enumerate(curves.values()):
        rows = "\n".join(f"{samples} {loss}" for samples, loss in points)
        script += f"$curve{at} << END\n{rows}\nEND\n"
    subprocess.run(["gnuplot"], input=script + f"plot {plots}\n", text=True, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("taken", type=Path)
    parser.add_argument("calm", type=Path)
    parser.add_argument("--loss", type=Path)
    options = parser.parse_args()
    (taken, lost), (calm, _) = kept(read_steps(options.taken)), kept(read_steps(options.calm))
    live = json.loads(only(options.taken, "live.json").read_text())
    print(f"samples: {samples_of(taken)} and {samples_of(calm)}, each once an epoch")
    sizes = " -> ".join(map(str, group_sizes(taken)))
    print(f"workers: {sizes}; steps torn: {live['torn_steps']}, again from a checkpoint: {lost}")
    width = max(1, min(40, len(calm) // 4))
    curves = {"machines taken": smoothed(taken, width), "undisturbed": smoothed(calm, width)}
    pairs = list(zip(*curves.values()))
    apart = max(abs(one[1] - other[1]) for one, other in pairs)
    print(f"last loss, mean of {width} steps: {pairs[-1][0][1]:.4f} and {pairs[-1][1][1]:.4f}; "
          f"the curves are at most {apart:.4f} apart")  # fmt: skip
    measured = duration_s(options.taken)
    print(f"measured: {measured:.0f} s of the scenario")
    for what, folder in (("predicted", options.taken), ("as if nothing were taken", options.calm)):
        predicted = Path(f"{folder}-predicted")
        if predicted.exists():
            print(error_line(what, duration_s(predicted), measured))
    if options.loss:
        draw(options.loss, curves)
        print(options.loss)


if __name__ == "__main__":
    main()
