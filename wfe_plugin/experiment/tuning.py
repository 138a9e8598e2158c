"""Options that are tuned: each value is tried on the validation set, and the best one is taken.

One value for all seeds and all beams, so that a system stays one system: the scores that decide are
means over the seeds, at one beam. Each protocol of the test sets has its own choice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import mean

from wfe_plugin.evaluation.rouge_protocol import METRICS
from wfe_plugin.experiment.decoding import Decoding
from wfe_plugin.experiment.plan import Experiment, System, TestSet, slug
from wfe_plugin.experiment.steps import read_json

VALIDATION = TestSet("validation", "valid", "gigaword", ())


@dataclass(frozen=True)
class Candidate:
    """Values of the tuned options, and what they give on the validation set."""

    values: tuple[str, ...]
    rouge: dict[str, dict[str, float]]  # by protocol and metric, mean over the seeds

    def score(self, protocol: str) -> float:
        return mean(self.rouge[protocol].values())


@dataclass(frozen=True)
class Tuning:
    """All candidates of a system, in the order of the configuration."""

    system: System
    candidates: list[Candidate]

    def chosen(self, protocol: str) -> Candidate:
        """The best; of equals the first, since grids are written from weak to strong."""
        return max(self.candidates, key=lambda candidate: candidate.score(protocol))


def decodings(experiment: Experiment) -> list[Decoding]:
    return [
        decoding
        for system in experiment.systems
        if system.grid
        for values in system.candidates()
        for decoding in candidate_decodings(experiment, system, values)
    ]


def candidate_decodings(experiment: Experiment, system: System, values: tuple[str, ...]) -> list[Decoding]:
    """One for each seed."""
    beam, protocols = experiment.tuning_beam, tuple(experiment.protocols)
    settings = " ".join(f"{option} {value}" for (option, _), value in zip(system.grid, values))
    folder = experiment.out / "tuning" / slug(system.name)
    candidate = replace(system.with_values(values), name=f"{system.name}, {settings}")
    return [
        Decoding(candidate, seed, beam, VALIDATION, folder / f"{slug(settings)}-seed{seed}-beam{beam}", protocols)
        for seed in experiment.seeds
    ]


def read(experiment: Experiment) -> list[Tuning]:
    """The scores of all candidates, which must have been evaluated."""
    return [
        Tuning(system, [read_candidate(experiment, system, values) for values in system.candidates()])
        for system in experiment.systems
        if system.grid
    ]


def read_candidate(experiment: Experiment, system: System, values: tuple[str, ...]) -> Candidate:
    found = [
        read_json(decoding.folder / "evaluation.json")["rouge"]
        for decoding in candidate_decodings(experiment, system, values)
    ]
    rouge = {
        protocol: {metric: mean(one[protocol][metric]["value"] for one in found) for metric in METRICS}
        for protocol in experiment.protocols
    }
    return Candidate(values, rouge)
