"""Measuring in rounds, and what the rounds say together.

A machine is faster in one minute than in the next, so each round measures every
contender, one right after the other, and times are compared within a round. Every
other round goes backwards, so that drift favours nobody.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from statistics import median, quantiles
from time import perf_counter
from typing import Any, NamedTuple

LEAST = 3  # rounds


class Spread(NamedTuple):
    """The median of several rounds, and the quartiles: half of the rounds lie between them."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        if len(values) == 1:
            return cls(values[0], values[0], values[0])
        low, _, high = quantiles(values, n=4, method="inclusive")
        return cls(median(values), low, high)

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f})"


def run_rounds(
    measure: Mapping[str, Callable[[], Any]], rounds: int, seconds: float = float("inf")
) -> list[dict[str, Any]]:
    """What each function returned in each round, after one round that is not counted.

    A contender that fails is left out of all rounds.

    Args:
        seconds: after these no round is begun, once there are LEAST of them
    """
    left, results, started = dict(measure), [], perf_counter()
    for number in range(rounds + 1):
        if number > LEAST and perf_counter() - started > seconds:
            break
        results_of = {}
        for key in list(left) if number % 2 == 0 else list(reversed(left)):
            try:
                results_of[key] = left[key]()
            except Exception as error:
                print(f"{key} is left out: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
                del left[key]
        results.append(results_of)
    return [{key: one[key] for key in left} for one in results[1:]]


def ratio(rounds: Sequence[Mapping[str, float]], key: str, base: str) -> Spread | None:
    """Of a contender's figure by another's in the same round; None if either was not measured."""
    if not rounds or key not in rounds[0] or base not in rounds[0]:
        return None
    return Spread.of([one[key] / one[base] for one in rounds])


def of_parts(rounds: Sequence[Mapping[str, Mapping[str, float]]], *parts: str) -> list[dict[str, float]]:
    """The sum of some parts of each figure."""
    return [{key: sum(figure[part] for part in parts) for key, figure in one.items()} for one in rounds]
