"""Runs the peers for benches/peers.rs: a job a line on standard input, its nanoseconds and change points on standard output.

    METHOD FILE     FILE has one number a line; METHOD is a key of METHODS
    many-METHOD FILE    FILE has a series a line

`peers.py quality DIR` prints how often they are right, for docs/quality.md, on series that the stats' example has written.
`peers.py bisect JOBS` prints how often git_bayesect names the change.
"""

import math
import sys
import time

import numpy
import ruptures
from git_bayesect import Bisector
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


ENDS = 10
MOST = 5000


def bayesect(versions, size, random):
    """One step of so many standard deviations; a measurement beyond the middle of both ends, ten measurements each, is a failure.
    Whether it names the step with 95 %, after how many measurements of how many versions."""
    step = random.integers(1, versions)

    def measure(version, count=None):
        return (size if version >= step else 0.0) + random.standard_normal(count)

    middle = (measure(0, ENDS).mean() + measure(versions - 1, ENDS).mean()) / 2
    # It counts from the newest version.
    search = Bisector(numpy.ones(versions))
    built, measured = {0, versions - 1}, 2 * ENDS
    while measured < MOST and search.distribution.max() < 0.95:
        index = search.select()
        version = versions - 1 - index
        built.add(version)
        measured += 1
        search.record(index, bool(measure(version) > middle))
    named = versions - 1 - int(search.distribution.argmax())
    return named == step, measured, len(built)


def bisect(jobs):
    print("| steps | versions | right | measurements | builds |")
    print("|---|---|---|---|---|")
    for versions, size in ((128, 0.5), (128, 1.0), (128, 2.0), (1024, 1.0), (1024, 2.0)):
        done = [bayesect(versions, size, numpy.random.default_rng(job)) for job in range(jobs)]
        right, measured, built = numpy.mean(done, axis=0)
        print(f"| one of {size:g}σ | {versions} | {right:.2f} | {measured:.0f} | {built:.1f} |", flush=True)


if sys.argv[1:2] == ["quality"]:
    quality(sys.argv[2])
elif sys.argv[1:2] == ["bisect"]:
    bisect(int(sys.argv[2]))
elif len(sys.argv) == 3:
    # The whole process: a CSV with a header is read and searched.
    print(METHODS[sys.argv[1]](numpy.loadtxt(sys.argv[2], delimiter=",", skiprows=1, usecols=1)))
else:
    for line in sys.stdin:
        print(*run(*line.split()), flush=True)
