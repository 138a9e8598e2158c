"""A search for the best values of a few options, coarse to fine. Pure Python: what a point is worth, the caller says."""

import itertools
from collections.abc import Sequence
from typing import Callable, NamedTuple, Optional

Point = tuple[float, ...]  # a value for each axis


class Axis(NamedTuple):
    """An option to choose, and the values to try."""

    name: str
    coarse: tuple[float, ...]  # the search starts from the first
    step: float = 0.0  # of the refinement; 0: none
    low: float = 0.0
    high: float = 0.0


class OutOfTime(Exception):
    """No further point may be evaluated."""


class CoordinateSearch:
    """The best point found so far, and all that were evaluated. No point is evaluated twice.

    Args:
        axes: what is chosen
        evaluate: the worth of a point; more is better. It raises OutOfTime to end the search
    """

    def __init__(self, axes: Sequence[Axis], evaluate: Callable[[Point], float]):
        self.axes = list(axes)
        self.evaluate = evaluate
        self.values: dict[Point, float] = {}
        self.best: Optional[Point] = None

    def value(self, point: Point) -> float:
        """Evaluate a point unless it has been; of equals, the first stays the best."""
        if point not in self.values:
            self.values[point] = self.evaluate(point)
            if self.best is None or self.values[point] > self.values[self.best]:
                self.best = point
        return self.values[point]

    def start(self) -> None:
        """The first value of each axis."""
        self.value(tuple(axis.coarse[0] for axis in self.axes))

    def grid(self, *names: str, at: Point) -> None:
        """All coarse values of these axes together; the others stay as they are at a point."""
        choices = [axis.coarse if axis.name in names else (value,) for axis, value in zip(self.axes, at)]
        for point in itertools.product(*choices):
            self.value(point)

    def boldest(self, within: float) -> Point:
        """Of the points that are worth as much as the best, less *within*: the one furthest along the first axis."""
        as_good = [point for point, value in self.values.items() if value >= self.values[self.best] - within]
        return max(as_good, key=lambda point: (point[0], self.values[point]))

    def refine(self) -> None:
        """Step along each axis from the best point as long as that helps."""
        while self.step():
            pass

    def step(self) -> bool:
        """Look at the neighbours of the best point, also along the first and the last axis at once; is one better?"""
        before = self.best
        for moved in [{number} for number in range(len(self.axes))] + [{0, len(self.axes) - 1}]:
            for sign in (1, -1):
                point = tuple(
                    value + sign * axis.step * (number in moved)
                    for number, (axis, value) in enumerate(zip(self.axes, before))
                )
                if all(axis.low <= value <= axis.high or not axis.step for axis, value in zip(self.axes, point)):
                    self.value(point)
        return self.best != before
