#!/usr/bin/env python3
"""The job of trace_layer in plain Python, to measure against.

    baseline.py TRACE [--pa-pattern S]

It reads the whole trace with gzip and json, cuts the kernels at those whose
name holds S, keeps the layers that have the most frequent number of kernels,
prints the statistics of each position and writes them to conc{bs}_layer.csv in
the working directory. Only the standard library is used. It leaves out what is
not needed for that: no short names, no checks.
"""

import argparse
import collections
import csv
import gzip
import json
import math
import re
import sys

DECODE = re.compile(r"decode\[bs=(\d+)")


def load(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rb") as f:
        return json.load(f)["traceEvents"]


def kernels_of(events):
    """The kernels in order of start, ties as they stand in the file."""
    kernels = [e for e in events if e.get("cat") == "kernel" and e.get("ph") == "X"]
    kernels.sort(key=lambda e: e["ts"])
    return kernels


def batch_sizes(events):
    """How often each batch size was decoded."""
    sizes = collections.Counter()
    for e in events:
        if e.get("cat") == "user_annotation":
            if m := DECODE.match(e["name"]):
                sizes[int(m.group(1))] += 1
    return sizes


def cut(kernels, pattern):
    """The layers that have the dominant number of kernels, and that number."""
    anchors = [i for i, k in enumerate(kernels) if pattern in k["name"]]
    if len(anchors) < 2:
        sys.exit(f"found {len(anchors)} kernels with {pattern!r}, need at least 2")
    pairs = list(zip(anchors, anchors[1:]))
    gap = collections.Counter(b - a for a, b in pairs).most_common(1)[0][0]
    return [kernels[a:b] for a, b in pairs if b - a == gap], gap


def summarize(layers, gap):
    """A row for each position: name, mean, deviation, min, max, share, count."""
    rows = []
    for pos in range(gap):
        here = [layer[pos] for layer in layers]
        name = collections.Counter(k["name"] for k in here).most_common(1)[0][0]
        durs = [k["dur"] for k in here]
        mean = sum(durs) / len(durs)
        squares = sum((d - mean) ** 2 for d in durs)
        std = math.sqrt(squares / (len(durs) - 1)) if len(durs) > 1 else 0.0
        rows.append([name, mean, std, min(durs), max(durs), 0.0, len(durs)])
    total = sum(row[1] for row in rows)
    for row in rows:
        row[5] = 100 * row[1] / total
    return rows, total


def print_table(rows, total):
    print(f"\n{'Pos':>3}  {'Kernel':<40}{'Avg(us)':>10}{'Std':>8}{'Min':>8}{'Max':>10}{'%':>7}{'N':>8}")
    for pos, (name, mean, std, low, high, share, n) in enumerate(rows):
        print(f"{pos:>3}  {name[:38]:<40}{mean:>10.1f}{std:>8.1f}{low:>8.1f}{high:>10.1f}{share:>6.1f}%{n:>8}")
    print(f"{'':>3}  {'TOTAL per layer':<40}{total:>10.1f} us")


def write_csv(path, rows):
    with open(path, "w", newline="") as f:
        w = csv.writer(f, lineterminator="\n")
        w.writerow(["pos", "kernel", "avg_us", "std_us", "min_us", "max_us", "pct", "count"])
        for pos, (name, *numbers, n) in enumerate(rows):
            w.writerow([pos, name, *(f"{x:.1f}" for x in numbers), n])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trace")
    parser.add_argument("--pa-pattern", default="pa_bf16")
    args = parser.parse_args()

    events = load(args.trace)
    kernels = kernels_of(events)
    sizes = batch_sizes(events)
    bs = sizes.most_common(1)[0][0] if sizes else None
    if sizes:
        print("Decode batch sizes:", dict(sorted(sizes.items())))
        print("Dominant decode bs:", bs)
    layers, gap = cut(kernels, args.pa_pattern)
    rows, total = summarize(layers, gap)
    print("Total GPU kernels:", len(kernels))
    print("Kernels per layer:", gap)
    print("Sampled layers:", len(layers))
    print_table(rows, total)
    if bs is not None:
        write_csv(f"conc{bs}_layer.csv", rows)


if __name__ == "__main__":
    main()
