"""Which sentences the report shows first: those where the recommended system gains and loses most."""

from __future__ import annotations

import random
from collections.abc import Sequence

from wfe_plugin.evaluation.rouge_protocol import METRICS

GAINS, LOSSES = 4, 4  # how many of each


def gains(ours: dict[str, list[float]], theirs: dict[str, list[float]]) -> list[float]:
    """What a system gains over another on each sentence, all metrics together.

    Args:
        ours, theirs: scores of the sentences, by metric
    """
    return [sum(differences) for differences in zip(*(map(float.__sub__, ours[m], theirs[m]) for m in METRICS))]


def in_random_order(count: int) -> list[int]:
    """Numbers of sentences, in the same order in every report."""
    drawn = list(range(count))
    random.Random(1).shuffle(drawn)
    return drawn


def extremes(gained: Sequence[float]) -> tuple[list[int], list[int]]:
    """Numbers of the sentences with the highest gains, and of those with the highest losses."""
    drawn = in_random_order(len(gained))
    best = sorted((n for n in drawn if gained[n] > 0), key=gained.__getitem__, reverse=True)
    worst = sorted((n for n in drawn if gained[n] < 0), key=gained.__getitem__)
    return best[:GAINS], worst[:LOSSES]
