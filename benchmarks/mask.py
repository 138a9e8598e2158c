"""What the mask costs in a step of decoding, beyond one addition.

One addition over batch · beam × vocabulary cannot be avoided by an exact mask. Anything
else that grows with the vocabulary is waste.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

import torch

from benchmarks.data import SEED
from benchmarks.rounds import Spread, run_rounds
from wfe_plugin.method.bound import add_log_mask, frequency_bound
from wfe_plugin.method.estimator import FrequencyEstimate

BATCH, BEAM, GENERATED = 32, 5, 10
MEANS_INDEPENDENT = 0.1  # additions


def measure_mask(vocabularies: Sequence[int], rounds: int) -> dict[int, list[dict[str, float]]]:
    """Of each size of the vocabulary, rounds of the seconds of a plain addition and of the mask."""
    return {words: mask_rounds(words, rounds) for words in vocabularies}


def mask_rounds(words: int, rounds: int) -> list[dict[str, float]]:
    generator = torch.Generator().manual_seed(SEED)
    rows = BATCH * BEAM
    estimate = FrequencyEstimate(
        torch.rand(BATCH, words, generator=generator) * 2, torch.randn(BATCH, words, generator=generator)
    )
    bound = frequency_bound(estimate, unbounded=2)
    lprobs = torch.randn(rows, words, generator=generator)
    generated = torch.randint(4, words, (rows, GENERATED), generator=generator)
    mask = torch.randn(BATCH, 1, words, generator=generator)

    def addition() -> float:
        started = perf_counter()
        lprobs.view(BATCH, BEAM, words).add_(mask)  # in place, as the mask
        return perf_counter() - started

    def masking() -> float:
        started = perf_counter()
        add_log_mask(lprobs, bound, generated)
        return perf_counter() - started

    return run_rounds({"addition": addition, "mask": masking}, rounds)


def growth_in_additions(measured: dict[int, list[dict[str, float]]]) -> float:
    """How many more additions the mask takes for each word that the vocabulary gains; 0 is the goal."""
    smallest, largest = (measured[choose(measured)] for choose in (min, max))
    beyond = [
        Spread.of([one["mask"] - one["addition"] for one in rounds]).median for rounds in (smallest, largest)
    ]
    addition = [Spread.of([one["addition"] for one in rounds]).median for rounds in (smallest, largest)]
    return (beyond[1] - beyond[0]) / (addition[1] - addition[0])
