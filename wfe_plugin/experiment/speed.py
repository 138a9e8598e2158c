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

from wfe_plugin.experiment.commands import Command, run_all
from wfe_plugin.experiment.config import Experiment, System, slug
from wfe_plugin.experiment.decoding import Decoder, search_time
from wfe_plugin.experiment.progress import say
from wfe_plugin.experiment.steps import Step, StepError

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
    """Milliseconds a sentence of each system, in each round."""

    baseline: str
    rounds: list[dict[str, float]]

    def milliseconds(self, system: str) -> Spread:
        return Spread.of([times[system] for times in self.rounds])

    def ratio(self, system: str) -> Spread:
        """Time by the baseline's time in the same round."""
        return Spread.of([times[system] / times[self.baseline] for times in self.rounds])


def steps(experiment: Experiment, systems: Sequence[System], decoder: Decoder) -> list[Step]:
    """One a round. A round is all or nothing: a system that is new or changed repeats it for all."""
    seed = experiment.seeds[0]
    description = {
        "split": experiment.tests[0].split,
        "beam": experiment.middle_beam,
        "sentences": SENTENCES,
        "systems": [
            [system.name, decoder.identity(system.training, seed), system.decoding, list(system.options)]
            for system in systems
        ],
    }
    # Another configuration, with other systems, may share the directory.
    folder = experiment.out / "speed" / slug(experiment.file.stem)
    return [
        Step(f"speed, round {number}", folder / f"round{number}.json", description, ("milliseconds",))
        for number in range(1, experiment.speed_rounds + 1)
    ]


def measure(experiment: Experiment, systems: Sequence[System], decoder: Decoder) -> None:
    every = steps(experiment, systems, decoder)
    if not every:
        return
    pending = [(number, step) for number, step in enumerate(every) if not step.is_finished()]
    say(f"speed: {len(pending)} rounds to do" if pending else "speed: all done")
    for number, step in pending:
        order = list(systems) if number % 2 == 0 else list(reversed(systems))
        times = {system.name: time(experiment, system, decoder, step) for system in order}
        step.finish(milliseconds=times)
        say(f"{step.name}: done")


def time(experiment: Experiment, system: System, decoder: Decoder, step: Step) -> float:
    """Milliseconds a sentence."""
    arguments = decoder.command(
        system,
        experiment.seeds[0],
        experiment.middle_beam,
        experiment.tests[0].split,
        "--time-only",
        str(SENTENCES),
    )
    log = step.record.with_suffix(".log")
    run_all([Command(f"{step.name}, {system.name}", arguments, log)])
    sentences, seconds = search_time(log)
    if not sentences or not seconds:
        raise StepError(
            f"{log}: does not tell how long the search took; 'speed rounds = 0' in [experiment] leaves this step out"
        )
    return 1000 * seconds / sentences


def read(experiment: Experiment, systems: Sequence[System], decoder: Decoder) -> Speeds | None:
    """What was measured; None if the configuration does not want it."""
    rounds = [step.stored()["milliseconds"] for step in steps(experiment, systems, decoder)]
    return Speeds(experiment.baseline.name, rounds) if rounds else None
