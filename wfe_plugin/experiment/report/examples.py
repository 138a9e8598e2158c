"""Figure 4 of the paper: which outputs to show."""

from __future__ import annotations

import random

from wfe_plugin.evaluation.rouge_protocol import METRICS
from wfe_plugin.experiment.report import document as doc
from wfe_plugin.experiment.report.view import View

GAINS, LOSSES, REPEATING, RANDOM = 4, 4, 3, 3  # how many of each kind


class ExamplesSection(View):
    """The first seed's outputs of the baseline, the best alternative and the proposed system."""

    def blocks(self) -> list:
        if self.proposed == self.baseline:
            return []
        shown = dict.fromkeys(filter(None, [self.baseline, self.best_alternative, self.proposed]))
        self.texts = {name: self.test.summaries(name, self.beam) for name in shown}
        of_seed = ", first seed" if self.seeds > 1 else ""
        return [
            self.heading("Examples"),
            doc.Paragraph(
                f"As Figure 4 of the paper; words that occur more than once are marked. Beam {self.beam}{of_seed}."
            ),
            *(
                doc.Examples(caption, [self.example(n) for n in numbers])
                for caption, numbers in self.kinds()
                if numbers
            ),
        ]

    def kinds(self) -> list[tuple[str, list[int]]]:
        """Captions, and the numbers of the sentences; none is shown twice."""
        drawn = list(range(len(self.test.texts.sources)))
        random.Random(1).shuffle(drawn)  # the same in every report
        gains = {number: self.gain_of(number) for number in drawn}
        best = sorted((n for n in drawn if gains[n] > 0), key=gains.__getitem__, reverse=True)[:GAINS]
        worst = sorted((n for n in drawn if gains[n] < 0), key=gains.__getitem__)[:LOSSES]
        left = [n for n in drawn if n not in {*best, *worst}]
        repeating = [n for n in left if repeats(self.texts[self.baseline][n])][:REPEATING]
        return [
            (f"Where {self.proposed} gains most in ROUGE against {self.baseline}", best),
            (f"Where {self.proposed} loses most in ROUGE against {self.baseline}", worst),
            (f"Drawn from those where {self.baseline} repeats a word", repeating),
            ("Drawn at random", [n for n in left if n not in repeating][:RANDOM]),
        ]

    def example(self, number: int) -> doc.Example:
        references = self.test.texts.references[number]
        labels = ["Reference"] if len(references) == 1 else [f"Reference {i + 1}" for i in range(len(references))]
        outputs = [(name, texts[number]) for name, texts in self.texts.items()]
        return doc.Example(self.test.texts.sources[number], [*zip(labels, references), *outputs])

    def gain_of(self, number: int) -> float:
        """What the proposed system gains on a sentence over the baseline, first seed, all metrics together."""
        ours, theirs = (
            self.test.runs[name, self.beam][0].sentences[self.test.test.protocol]
            for name in (self.proposed, self.baseline)
        )
        return sum(ours[metric][number] - theirs[metric][number] for metric in METRICS)


def repeats(text: str) -> bool:
    return any(repeated for _, repeated in doc.repeated_words(text))
