"""The search for the best point: exact where the function is simple, sparing, and able to stop at any time."""

import pytest

from wfe_plugin.pipeline.coordinate_search import Axis, CoordinateSearch, OutOfTime

X = Axis("x", (1.0, 0.75, 0.5), step=0.25, low=0.0, high=2.0)
Y = Axis("y", (0.0, 0.25, 0.5, 0.75), step=0.25, low=0.0, high=2.0)
Z = Axis("z", (0.0, -0.5, 0.5, 1.0), step=0.5, low=-2.0, high=4.0)


class Hill:
    """A concave function with a known top; the axes depend on each other."""

    def __init__(self, *top, at_most=None):
        self.top, self.at_most, self.seen = top, at_most, []

    def __call__(self, point):
        if self.at_most is not None and len(self.seen) == self.at_most:
            raise OutOfTime
        assert point not in self.seen
        self.seen.append(point)
        x, y, z = (value - top for value, top in zip(point, self.top))
        return -(x * x + y * y + 0.25 * z * z + 0.5 * x * y)


def searched(hill):
    search = CoordinateSearch([X, Y, Z], hill)
    search.start()
    search.grid("x", "y", at=search.best)
    search.grid("z", at=search.best)
    search.refine()
    return search


@pytest.mark.parametrize("top", [(1.0, 0.0, 0.0), (0.5, 1.0, -1.5), (1.25, 0.25, 2.5)])
def test_the_top_is_found(top):
    """Also beyond the ends of the coarse grid, and no point twice."""
    hill = Hill(*top)
    assert searched(hill).best == top
    assert hill.seen[0] == (1.0, 0.0, 0.0)
    assert len(hill.seen) < 60


def test_bounds_hold():
    hill = Hill(5.0, -3.0, 9.0)
    assert searched(hill).best == (2.0, 0.0, 4.0)


def test_an_axis_of_one_value_stays():
    search = CoordinateSearch([Axis("x", (1.0,)), Y, Z], Hill(0.5, 0.25, 0.0))
    search.start()
    search.grid("x", "y", at=search.best)
    search.refine()
    assert {point[0] for point in search.values} == {1.0}
    assert search.best[1] in (0.0, 0.25)  # half of x's distance pulls y: its top is at 0.25 - 0.25 * 0.5 = 0.125


def test_of_equals_the_first_stays():
    search = CoordinateSearch([X, Y, Z], lambda point: 1.0)
    search.start()
    search.grid("x", "y", at=search.best)
    assert search.best == (1.0, 0.0, 0.0)


def test_without_time_the_best_so_far_is_known():
    hill = Hill(0.5, 0.5, 0.0, at_most=9)
    search = CoordinateSearch([X, Y, Z], hill)
    search.start()
    with pytest.raises(OutOfTime):
        search.grid("x", "y", at=search.best)
    assert search.best == min(hill.seen, key=lambda point: (point[0] - 0.5) ** 2 + (point[1] - 0.5) ** 2)


def test_the_boldest_of_those_that_are_as_good():
    """Worth 1 - x/10 - y²: within 0.1 of the top are x=1 and x=0 with y=0."""
    search = CoordinateSearch([Axis("x", (0.0, 1.0, 2.0)), Axis("y", (0.0, 1.0))], lambda p: 1 - p[0] / 10 - p[1] ** 2)
    search.start()
    search.grid("x", "y", at=search.best)
    assert (search.best, search.boldest(0.0)) == ((0.0, 0.0), (0.0, 0.0))
    assert search.boldest(0.11) == (1.0, 0.0) and search.boldest(0.21) == (2.0, 0.0)
