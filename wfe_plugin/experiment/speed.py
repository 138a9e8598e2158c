"""How fast the systems decode, measured so that they can be compared.

A machine is faster in one minute than in the next, so each round decodes the same sentences with
every system, one right after the other, and a system's time is compared with the baseline's in
the same round. Every other round goes backwards, so that drift favours nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from wfe_plugin.experiment.decoding import Decodings
from wfe_plugin.experiment.plan import Experiment, System, slug
from wfe_plugin.experiment.steps import Step

SENTENCES = 500  # about so many of a large test set


class Spread(NamedTuple):
    """Of several rounds."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(median(values), min(values), max(values))


@dataclass(frozen=True)
class Speeds:
    """Milliseconds per sentence of each system, in each round."""

    baseline: str
    rounds: list[dict[str, float]]

    def milliseconds(self, system: str) -> Spread:
        return Spread.of([times[system] for times in self.rounds])

    def ratio(self, system: str) -> Spread:
        """Time by the baseline's time in the same round."""
        return Spread.of([times[system] / times[self.baseline] for times in self.rounds])

    def knows(self, system: str) -> bool:
        """Nobody knows how fast another program is."""
        return all(system in times for times in self.rounds)


def steps(experiment: Experiment, systems: Sequence[System], decodings: Decodings) -> list[Step]:
    """One per round. A round is all or nothing: a system that is new or changed repeats it for all."""
    seed = experiment.seeds[0]
    description = {
        "split": experiment.tests[0].split,
        "beam": experiment.middle_beam,
        "sentences": SENTENCES,
        "systems": [
            [system.name, decodings.identity(system.training, seed), system.decoding, list(system.options)]
            for system in systems
            if system.training
        ],
    }
    # Another configuration, with other systems, may share the directory.
    folder = experiment.out / "speed" / slug(experiment.file.stem)
    return [
        Step(f"speed, round {number}", folder / f"round{number}.json", description, ("milliseconds",))
        for number in range(1, (experiment.speed_rounds if experiment.baseline.training else 0) + 1)
    ]


def items(experiment: Experiment, systems: Sequence[System], decodings: Decodings, sentences: int) -> list[dict]:
    """Rounds that are still to do, for the worker; the set has so many sentences."""
    seed = experiment.seeds[0]
    order = [
        {
            "system": system.name,
            "model": str(decodings.model(system.training, seed)),
            "arguments": decodings.arguments(system, experiment.middle_beam),
        }
        for system in systems
        if system.training
    ]
    return [
        {
            "kind": "speed",
            "name": step.name,
            "record": str(step.record),
            "description": step.description,
            "model": "all",
            "split": experiment.tests[0].split,
            "systems": order[::-1] if number % 2 else order,
            "every": max(1, sentences // SENTENCES),
        }
        for number, step in enumerate(steps(experiment, systems, decodings))
        if not step.is_finished()
    ]


def read(experiment: Experiment, systems: Sequence[System], decodings: Decodings) -> Speeds | None:
    """What was measured; None if the configuration does not want it."""
    rounds = [step.stored()["milliseconds"] for step in steps(experiment, systems, decodings)]
    return Speeds(experiment.baseline.name, rounds) if rounds else None
