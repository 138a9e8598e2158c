"""Whether summaries have anything to do with their sources."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from wfe_plugin.evaluation.grounding import words
from wfe_plugin.evaluation.rouge_python import sentence_f1

LEAST_GAIN = 2.0  # points of unigram F1


def uses_source(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> bool:
    """Whether outputs fit their own references better than those of other sentences.

    A model that has not learnt to read its source says what summaries say on the whole, which
    fits any reference as well. Mean unigram F1 must be two points above that against the
    reference of the next sentence; fewer than ten outputs are too few to tell.
    """
    if len(outputs) < 10:
        return True
    said = [words(output) for output in outputs]
    truth = [words(texts[0]) for texts in references]
    own = mean(sentence_f1("rouge-1", *pair) for pair in zip(said, truth))
    other = mean(sentence_f1("rouge-1", *pair) for pair in zip(said, [*truth[1:], truth[0]]))
    return 100 * (own - other) >= LEAST_GAIN
