"""Measuring in rounds, and what the rounds say together.

A machine is faster in one minute than in the next, so each round measures every
contender, one right after the other, and times are compared within a round. Every
other round goes backwards, so that drift favours nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median, quantiles
from typing import Any, NamedTuple


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


def run_rounds(measure: Mapping[str, Callable[[], Any]], rounds: int) -> list[dict[str, Any]]:
    """What each function returned in each round, after one round that is not counted."""
    results = []
    for number in range(rounds + 1):
        order = list(measure) if number % 2 == 0 else list(reversed(measure))
        results_of = {key: measure[key]() for key in order}
        results.append({key: results_of[key] for key in measure})
    return results[1:]


def ratio(rounds: Sequence[Mapping[str, float]], key: str, base: str) -> Spread:
    """Of a contender's figure by another's in the same round."""
    return Spread.of([one[key] / one[base] for one in rounds])


def of_parts(rounds: Sequence[Mapping[str, Mapping[str, float]]], *parts: str) -> list[dict[str, float]]:
    """The sum of some parts of each figure."""
    return [{key: sum(figure[part] for part in parts) for key, figure in one.items()} for one in rounds]
