"""The goals, and whether they are met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks import commands, mask, memory
from benchmarks.rounds import Spread, of_parts, ratio
from benchmarks.sizes import PAPER
from benchmarks.training import PARTS

MEGABYTE = 1e6
BEAM = 5


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


def step(training: Sequence[dict], key: str, base: str) -> Spread | None:
    return ratio(of_parts(training, *PARTS), key, base)


def training_goals(training: dict[str, list]) -> list[Goal]:
    made = []
    for size, to_encdec, to_stock in (("small", 1.10, 0.9), ("paper", 1.10, 0.65)):
        if size not in training:
            continue
        for key, name in (("shipped", "WFE"), ("votes", "WFE votes")):
            for base, base_name, limit in (("encdec", "EncDec", to_encdec), ("stock", "fairseq lstm", to_stock)):
                what = f"training step, {size} sizes, {name} / {base_name}"
                made.append(ratio_goal(what, limit, step(training[size], key, base)))
        spread = step(training[size], "estimate", "encdec")
        made.append(ratio_goal(f"training step, {size} sizes, an estimate on a model / EncDec", 0.4, spread))
    for key, name in (("encdec", "EncDec"), ("shipped", "WFE"), ("votes", "WFE votes")):
        spread = step(training.get("small", ()), key, "opennmt")
        made.append(ratio_goal(f"training step, small sizes, {name} / OpenNMT-py", 1.0, spread))
    return made


def decoding_goals(decoding: dict[str, dict]) -> list[Goal]:
    made = []
    for size, key, base, limit, what in (
        ("small", "votes", "stock", 0.6, "small sizes, votes as auto decodes / fairseq lstm"),
        ("small", "votes", "opennmt", 1.0, "small sizes, votes as auto decodes / OpenNMT-py"),
        ("paper", "shipped", "stock", 0.75, "paper's sizes, WFE / fairseq lstm"),
        ("paper", "shortlist", "stock", 0.33, "paper's sizes, WFE with the shortlist / fairseq lstm"),
        ("transformer", "votes_transformer", "stock_transformer", 0.8, "Transformer, votes / fairseq transformer"),
    ):
        spread = ratio(decoding.get(size, {}).get(BEAM, ()), key, base)
        made.append(ratio_goal(f"decoding, beam {BEAM}, {what}", limit, spread))
    return made


def memory_and_size_goals(results: dict) -> list[Goal]:
    training = results.get("memory", {}).get(PAPER.name, {})
    added = memory.added_by_wfe(training) / MEGABYTE if {"shipped", "encdec"} <= set(training) else None
    made = [
        Goal(
            "peak memory of WFE beyond parameters, gradients and optimizer state",
            memory.allowed(PAPER) / MEGABYTE,
            added,
            noise="2 x batch x vocabulary floats",
            unit=" MB",
        )
    ]
    if "mask_work" in results:
        growth, words = mask.growth_of_work(results["mask_work"]), max(results["mask_work"])
        what = f"mask beyond one addition: numbers touched, growth to {words:,} words"
        made.append(Goal(what, 0, growth, noise="0 is independent of the vocabulary"))
    for size, counts in results.get("parameters", {}).items():
        made.append(Goal(f"parameters of votes / of EncDec, {size} sizes", 0.25, counts["votes"] / counts["encdec"]))
    return made


def command_goals(results: dict) -> list[Goal]:
    made = []
    if "help" in results:
        slowest = max(results["help"], key=results["help"].get)
        made.append(Goal("--help of the slowest command", 0.3, results["help"][slowest], noise=slowest, unit=" s"))
    if "preprocessing" in results:
        measured = results["preprocessing"]
        made.append(
            Goal("3.8 million pairs with BPE, two processes", 10, commands.minutes_for_gigaword(measured), unit=" min")
        )
        growth = max(measured) / min(measured)
        made.append(
            Goal(f"memory of preprocessing, {growth:.0f} times the pairs", 1.5, commands.growth_of_memory(measured))
        )
    return made


def pipeline_goals(measured: dict) -> list[Goal]:
    fixed = slowdown = None
    if "experiment" in measured:
        fixed = measured["experiment"]["whole"] - measured["experiment"]["search"]
    if "processes" in measured:  # every figure here is at most its limit
        slowdown = measured["processes"][1] / measured["processes"][2]
    one = "one process / two, sentences per second"
    return [
        Goal("an experiment's fixed cost per decoding of 100 sentences", 5, fixed, unit=" s"),
        Goal(one, 1 / 1.8, slowdown, noise="two are 1.8 times as fast"),
    ]


def goals(results: dict) -> list[Goal]:
    """All goals, from what `benchmarks.command` collected."""
    return [
        *training_goals(results.get("training", {})),
        *decoding_goals(results.get("decoding", {})),
        *pipeline_goals(results.get("pipeline", {})),
        *memory_and_size_goals(results),
        *command_goals(results),
    ]
