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


def literal_unlikelihood(lprobs, target, pad, least):
    """Of one sentence: lprobs[t][word], target[t]; no probability counts as less than `least`."""
    total = 0.0
    for t, word in enumerate(target):
        if word == pad:
            continue
        for candidate in {earlier for earlier in target[:t] if earlier not in (word, pad)}:
            total -= math.log(max(1 - math.exp(lprobs[t][candidate]), least))
    return total
