"""Whether two systems differ by more than the luck of the test set's draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wfe_plugin.errors import UserError

DRAWS_AT_ONCE = 2_000_000  # bounds memory to tens of megabytes


@dataclass(frozen=True)
class PairedDifference:
    """Mean score of the first system minus that of the second."""

    difference: float
    low: float  # 95 % interval
    high: float
    p_value: float  # two-sided


def paired_bootstrap(
    first: Sequence[float],
    second: Sequence[float],
    resamples: int = 10_000,
    seed: int = 1,
) -> PairedDifference:
    """Resample sentences, keeping each sentence's two scores together.

    The p-value is the share of resamples whose difference, moved to a mean of zero,
    is at least as large in size as the one observed (Efron and Tibshirani, 1993). The
    observed data count as one resample, so it is never below 1 / (resamples + 1).
    """
    if len(first) != len(second) or not len(first):
        raise UserError(
            f"the paired bootstrap needs the same number of scores for both systems, at least one; "
            f"got {len(first)} and {len(second)}"
        )
    differences = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    observed = differences.mean()
    resampled = _resampled_means(differences, resamples, np.random.default_rng(seed))
    low, high = np.percentile(resampled, [2.5, 97.5])
    # The tolerance keeps rounding from deciding ties, as when all differences are zero.
    as_extreme = np.abs(resampled - observed) >= np.abs(observed) - 1e-12
    p_value = (as_extreme.sum() + 1) / (resamples + 1)
    return PairedDifference(float(observed), float(low), float(high), float(p_value))


def _resampled_means(values: np.ndarray, resamples: int, random: np.random.Generator) -> np.ndarray:
    rows = max(1, DRAWS_AT_ONCE // len(values))
    means = []
    for start in range(0, resamples, rows):
        size = (min(rows, resamples - start), len(values))
        means.append(values[random.integers(0, len(values), size)].mean(axis=1))
    return np.concatenate(means)
