"""Runs of two kinds in turn, and how far their ratio is known."""
import random
import statistics

RESAMPLES = 10_000


def in_turn(pairs, *kinds):
    """A list of figures for each of `kinds`, a function of the pair's number; every second pair begins with the other one."""
    figures = [[] for _ in kinds]
    for pair in range(pairs):
        order = list(zip(figures, kinds))
        for found, measure in order if pair % 2 else reversed(order):
            found.append(measure(pair))
    return figures


def interval(values):
    """Of their median, 95%: by drawing as many of them anew."""
    rng = random.Random(1)
    medians = sorted(statistics.median(rng.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return medians[RESAMPLES // 40], medians[-RESAMPLES // 40]
