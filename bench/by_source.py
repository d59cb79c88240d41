#!/usr/bin/env python3
"""Median and worst error of rows by source, out of what the bench_published_X write.

    bench_published_steps all --csv steps.csv
    bench/by_source.py steps.csv collectives.csv          # a line a table of each file
    bench/by_source.py --by file --role predicted *.csv   # a line a file
"""

import argparse
import csv
import statistics
import sys
from pathlib import Path


def errors_by_source(files, role, by):
    """{source: ([error], [naive error or None])}, both without their signs, in percent."""
    sources = {}
    for file in files:
        with open(file, newline="", encoding="utf-8") as text:
            for row in csv.DictReader(text):
                if row["role"] != role:
                    continue
                source = Path(file).stem if by == "file" else f"{Path(file).stem}: {row['table']}"
                ours, naive = sources.setdefault(source, ([], []))
                ours.append(abs(100 * float(row["error"])))
                naive.append(abs(100 * float(row["naive_error"])) if row["naive_error"] else None)
    return sources


def summary(errors):
    if not errors or None in errors:
        return "–"
    return f"{statistics.median(errors):.1f} %, {max(errors):.1f} %"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--by", choices=["table", "file"], default="table")
    parser.add_argument("--role", default="predicted")
    options = parser.parse_args()
    try:
        sources = errors_by_source(options.files, options.role, options.by)
    except (OSError, KeyError, ValueError) as error:
        sys.exit(f"by_source: {error}")
    print("| source | rows | median, worst | naive: median, worst |\n|---|---:|---:|---:|")
    for source, (ours, naive) in sources.items():
        print(f"| {source} | {len(ours)} | {summary(ours)} | {summary(naive)} |")


if __name__ == "__main__":
    main()
