"""Figure 4 of the paper: which outputs to show."""

from __future__ import annotations

import random

from wfe_plugin.evaluation.repetition import is_content_word
from wfe_plugin.evaluation.rouge_protocol import METRICS
from wfe_plugin.experiment.report.document import Example, Examples, repeated_words
from wfe_plugin.experiment.results import TestResults

REPEATING, WORSE, RANDOM = 4, 2, 3  # how many of each kind


def choose_examples(test: TestResults, baseline: str, proposed: str, beam: int) -> list[Examples]:
    """Where the baseline repeats itself, as in the paper; where the proposed system fails; and any."""
    theirs, ours = test.summaries(baseline, beam), test.summaries(proposed, beam)
    drawn = list(range(len(ours)))
    random.Random(1).shuffle(drawn)  # the same in every report, and not the best ones

    def example(number: int) -> Example:
        references = test.references[number]
        labels = ["Reference"] if len(references) == 1 else [f"Reference {i + 1}" for i in range(len(references))]
        outputs = [*zip(labels, references), (baseline, theirs[number]), (proposed, ours[number])]
        return Example(test.sources[number], outputs)

    def loss(number: int) -> float:
        """How much the proposed system loses on a sentence, first seed."""
        scores = [test.runs[system, beam][0].sentences for system in (baseline, proposed)]
        return sum(scores[0][metric][number] - scores[1][metric][number] for metric in METRICS)

    repeating = [number for number in drawn if repeats(theirs[number])][:REPEATING]
    taken = set(repeating)
    worse = sorted((n for n in drawn if n not in taken and loss(n) > 0), key=loss, reverse=True)[:WORSE]
    taken.update(worse)
    others = [number for number in drawn if number not in taken][:RANDOM]
    kinds = (
        (f"Drawn from those where {baseline} repeats a content word", repeating),
        (f"Where {proposed} loses most in ROUGE against {baseline}", worse),
        ("Drawn at random", others),
    )
    return [Examples(caption, [example(n) for n in numbers]) for caption, numbers in kinds if numbers]


def repeats(text: str) -> bool:
    return any(repeated and is_content_word(word.lower()) for word, repeated in repeated_words(text))
