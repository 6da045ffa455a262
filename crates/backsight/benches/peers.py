"""Runs the peers for benches/peers.rs: a job a line on standard input, its nanoseconds and change points on standard output.

    METHOD FILE     FILE has one number a line; METHOD is a key of METHODS
    many-METHOD FILE    FILE has a series a line

`peers.py quality DIR` prints how often they are right, for docs/quality.md, on series that the stats' example has written.
"""

import math
import sys
import time

import numpy
import ruptures
from otava.analysis import compute_change_points


def penalty(signal):
    """The Bayesian information criterion for a shift of the mean, the noise's variance estimated from differences."""
    variance = numpy.median(numpy.abs(numpy.diff(signal))) ** 2 / 0.91
    return 2 * max(variance, 1e-12) * math.log(len(signal))


def binseg(signal):
    return ruptures.Binseg(model="l2").fit(signal).predict(pen=penalty(signal))[:-1]


def pelt(signal):
    return ruptures.Pelt(model="l2").fit(signal).predict(pen=penalty(signal))[:-1]


def kernel(signal):
    return ruptures.KernelCPD(kernel="linear").fit(signal).predict(pen=penalty(signal))[:-1]


def otava(signal):
    found, _ = compute_change_points(list(signal))
    return [change.index for change in found]


METHODS = {"binseg": binseg, "pelt": pelt, "kernel": kernel, "otava": otava}


def append(signal):
    """All of the series is known but its last point."""
    known = list(signal)
    _, weak = compute_change_points(known[:-1])
    begin = time.perf_counter_ns()
    found, _ = compute_change_points(known, new_data=1, old_weak_cp=weak)
    return time.perf_counter_ns() - begin, len(found)


def run(method, path):
    if method == "append":
        return append(numpy.loadtxt(path))
    if method.startswith("many-"):
        signals = list(numpy.loadtxt(path))
        search = METHODS[method.removeprefix("many-")]
        begin = time.perf_counter_ns()
        found = sum(len(search(signal)) for signal in signals)
        return time.perf_counter_ns() - begin, found
    signal = numpy.loadtxt(path)
    begin = time.perf_counter_ns()
    found = METHODS[method](signal)
    return time.perf_counter_ns() - begin, len(found)


def quality(folder):
    tools = {
        "otava, defaults": otava,
        "ruptures, Binseg": binseg,
        "ruptures, KernelCPD": kernel,
    }
    print("| noise | " + " | ".join(tools) + " |")
    print("|---|" + "---|" * len(tools))
    with open(f"{folder}/names", encoding="utf-8") as names:
        rows = names.read().splitlines()
    for i, row in enumerate(rows):
        cells = []
        for search in tools.values():
            flat = numpy.loadtxt(f"{folder}/{i}-flat")
            wrong = sum(len(search(signal)) for signal in flat)
            shares = []
            for size in (1, 2):
                stepped = numpy.loadtxt(f"{folder}/{i}-{size}")
                hits = sum(any(abs(at - 100) <= 5 for at in search(signal)) for signal in stepped)
                shares.append(f"{hits / len(stepped):.2f}")
            cells.append(f"{1000 * wrong / flat.size:.2f}; {'/'.join(shares)}")
        print(f"| {row} | " + " | ".join(cells) + " |", flush=True)


if sys.argv[1:2] == ["quality"]:
    quality(sys.argv[2])
elif len(sys.argv) == 3:
    # The whole process: a CSV with a header is read and searched.
    print(METHODS[sys.argv[1]](numpy.loadtxt(sys.argv[2], delimiter=",", skiprows=1, usecols=1)))
else:
    for line in sys.stdin:
        print(*run(*line.split()), flush=True)
