"""Ratios of paired runs with an interval: what it claims is what the pairs bear out."""
import math
import random
import statistics

RESAMPLES = 10000
LEVEL = 0.95


def interval(values, seed=1):
    """(median, low, high) of the median: percentile bootstrap, 95 %, of independent values."""
    generator = random.Random(seed)
    medians = sorted(statistics.median(generator.choices(values, k=len(values))) for _ in range(RESAMPLES))
    tail = int((1 - LEVEL) / 2 * RESAMPLES)
    return statistics.median(values), medians[tail], medians[-1 - tail]


def ratios(base, other):
    """Of pairs of positive numbers, run one after the other: the ratio and its interval, in logarithms."""
    logs = [math.log(b / a) for a, b in zip(base, other)]
    return tuple(math.exp(value) for value in interval(logs))


def differences(base, other):
    return interval([b - a for a, b in zip(base, other)])


def orders(kinds, rounds):
    """ABCD DCBA ABCD ...: a machine that gets slower or faster meets all kinds alike."""
    for number in range(rounds):
        yield from kinds if number % 2 == 0 else reversed(kinds)
