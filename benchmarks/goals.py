"""The goals, and whether they are met."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks import mask, memory
from benchmarks.rounds import Spread, of_parts, ratio
from benchmarks.sizes import PAPER
from benchmarks.training import FORWARD_BACKWARD, PARTS

MEGABYTE = 1e6


@dataclass(frozen=True)
class Goal:
    """A figure that must not exceed its limit; None if it was not measured."""

    what: str
    limit: float
    figure: float | None
    noise: str = ""
    unit: str = ""

    @property
    def met(self) -> bool | None:
        return None if self.figure is None else self.figure <= self.limit

    def line(self) -> str:
        verdict = {True: "met", False: "MISSED", None: "not measured"}[self.met]
        shown = "-" if self.figure is None else f"{number(self.figure)}{self.unit}"
        noise = f"; {self.noise}" if self.noise else ""
        return f"{verdict:12}  {self.what}: {shown} (goal: at most {number(self.limit)}{self.unit}{noise})"


def number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 10 else f"{value:.2f}"


def ratio_goal(what: str, limit: float, spread: Spread | None) -> Goal:
    if spread is None:
        return Goal(what, limit, None)
    return Goal(what, limit, spread.median, noise=f"half of the rounds: {spread.low:.2f} to {spread.high:.2f}")


def goals(results: dict) -> list[Goal]:
    """All goals, from what `benchmarks.__main__` collected."""
    training = results["training"]["paper"]
    decoding = results["decoding"]["paper"][5]
    added = memory.added_by_wfe(results["memory"]) / MEGABYTE
    return [
        ratio_goal(
            "training, WFE / EncDec, forward and backward",
            1.25,
            ratio(of_parts(training, *FORWARD_BACKWARD), "shipped", "encdec"),
        ),
        ratio_goal(
            "training, WFE / fairseq lstm, whole step", 1.0, ratio(of_parts(training, *PARTS), "shipped", "stock")
        ),
        Goal(
            "peak memory of WFE beyond parameters, gradients and optimizer state",
            memory.allowed(PAPER) / MEGABYTE,
            added,
            noise="2 x batch x vocabulary floats",
            unit=" MB",
        ),
        ratio_goal("decoding, WFE / fairseq lstm, beam 5", 1.0, ratio(decoding, "shipped", "stock")),
        ratio_goal(
            "decoding, WFE with the shortlist / fairseq lstm, beam 5",
            0.33,
            ratio(decoding, "shortlist", "stock") if "shortlist" in decoding[0] else None,
        ),
        Goal(
            f"mask beyond one addition: numbers touched, growth to {max(results['mask_work']):,} words",
            0,
            mask.growth_of_work(results["mask_work"]),
            noise="0 is independent of the vocabulary",
        ),
    ]
