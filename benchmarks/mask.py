"""What the mask costs in a step of decoding, beyond one addition.

One addition over batch · beam × vocabulary cannot be avoided by an exact mask. Anything
else that grows with the vocabulary is waste. The work is counted: how many numbers the operations
read or write. Its time is measured as well; that depends on the caches, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from benchmarks.data import SEED
from benchmarks.rounds import run_rounds
from wfe_plugin.method.bound import FrequencyBound, add_log_mask, frequency_bound
from wfe_plugin.method.estimator import FrequencyEstimate

BATCH, BEAM, GENERATED = 32, 5, 10


def measure_mask(vocabularies: Sequence[int], rounds: int) -> dict[int, list[dict[str, float]]]:
    """Of each size of the vocabulary, rounds of the seconds of a plain addition and of the mask."""
    return {words: mask_rounds(words, rounds) for words in vocabularies}


def step_of_decoding(words: int) -> tuple[torch.Tensor, FrequencyBound, torch.Tensor]:
    """Arguments of `add_log_mask`."""
    generator = torch.Generator().manual_seed(SEED)
    rows = BATCH * BEAM
    estimate = FrequencyEstimate(
        torch.rand(BATCH, words, generator=generator) * 2, torch.randn(BATCH, words, generator=generator)
    )
    generated = torch.randint(4, words, (rows, GENERATED), generator=generator)
    return torch.randn(rows, words, generator=generator), frequency_bound(estimate, unbounded=[2]), generated


def mask_rounds(words: int, rounds: int) -> list[dict[str, float]]:
    lprobs, bound, generated = step_of_decoding(words)
    mask = torch.randn(BATCH, 1, words)

    def addition() -> float:
        started = perf_counter()
        lprobs.view(BATCH, BEAM, words).add_(mask)  # in place, as the mask
        return perf_counter() - started

    def masking() -> float:
        started = perf_counter()
        add_log_mask(lprobs, bound, generated)
        return perf_counter() - started

    return run_rounds({"addition": addition, "mask": masking}, rounds)


def count_mask_work(vocabularies: Sequence[int]) -> dict[int, int]:
    """Of each size of the vocabulary, the numbers that the mask touches beyond one addition."""
    return {words: work_beyond_addition(words) for words in vocabularies}


def work_beyond_addition(words: int) -> int:
    arguments = step_of_decoding(words)
    with TouchedNumbers() as mask:
        add_log_mask(*arguments)
    with TouchedNumbers() as addition:
        arguments[0].view(BATCH, BEAM, words).add_(arguments[1].first_mask.unsqueeze(1))
    return mask.count - addition.count


class TouchedNumbers(TorchDispatchMode):
    """Counts the numbers that the operations of torch read or write while it lasts."""

    # Read from, or write to, a large table at a few places only.
    AT_PLACES = ("gather", "scatter_")

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **(kwargs or {}))
        name = operation.overloadpacket.__name__
        if not operation.is_view:
            tensors = [value for value in tree_leaves((args, kwargs, result)) if isinstance(value, torch.Tensor)]
            if name in self.AT_PLACES:
                index = args[2]
                tensors = [index] * 3  # the index itself, what is read and what is written
            self.count += sum(tensor.numel() for tensor in tensors)
        return result


def growth_of_work(work: dict[int, int]) -> int:
    """How many numbers more are touched with the largest vocabulary than with the smallest."""
    return work[max(work)] - work[min(work)]
