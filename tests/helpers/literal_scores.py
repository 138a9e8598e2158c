"""Literal implementations of scores of outputs, in loops over words."""

import math


def literal_coverage_penalty(attention, beta):
    """attention[j][i]: to source word i at target word j."""
    total = 0.0
    for i in range(len(attention[0])):
        total += math.log(min(sum(step[i] for step in attention), 1.0))
    return beta * total


def literal_repeating_words(words, n, ignored=()):
    earlier = {tuple(words[i : i + n]) for i in range(len(words) - n + 1)}
    context = tuple(words[len(words) - n + 1 :]) if n > 1 else ()
    return {gram[-1] for gram in earlier if gram[:-1] == context and not set(gram) & set(ignored)}


def literal_risk(log_p, cost, alpha):
    """Of one sentence: Σ P^α Δ / Σ P^α."""
    weights = [math.exp(value) ** alpha for value in log_p]
    return sum(weight * value for weight, value in zip(weights, cost)) / sum(weights)
