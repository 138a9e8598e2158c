"""Figure 4 of the paper: which outputs to show."""

from __future__ import annotations

from dataclasses import replace

from wfe_plugin.experiment.examples import extremes, gains, in_random_order
from wfe_plugin.experiment.report import document as doc
from wfe_plugin.experiment.report.view import View

REPEATING, RANDOM = 3, 3  # how many of each kind


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
                f"Like Figure 4 of the paper. Words that occur more than once are marked. Beam {self.beam}{of_seed}."
                + (
                    f" Source words are shaded by their votes for the summary by {self.proposed}."
                    if self.has_votes
                    else ""
                )
            ),
            *(
                doc.Examples(caption, [self.example(n) for n in numbers])
                for caption, numbers in self.kinds()
                if numbers
            ),
        ]

    @property
    def has_votes(self) -> bool:
        explained = self.test.explained
        return explained is not None and any(gate for votes in explained.votes for _, gate in votes)

    def kinds(self) -> list[tuple[str, list[int]]]:
        """Captions, and the numbers of the sentences; none is shown twice."""
        protocol = self.test.test.protocol
        best, worst = extremes(
            gains(*(self.test.runs[name, self.beam][0].sentences[protocol] for name in (self.proposed, self.baseline)))
        )
        left = [n for n in in_random_order(len(self.test.texts.sources)) if n not in {*best, *worst}]
        repeating = [n for n in left if repeats(self.texts[self.baseline][n])][:REPEATING]
        return [
            (f"Where {self.proposed} gains most in ROUGE over {self.baseline}", best),
            (f"Where {self.proposed} loses most in ROUGE against {self.baseline}", worst),
            (f"Drawn at random from those where {self.baseline} repeats a word", repeating),
            ("Drawn at random", [n for n in left if n not in repeating][:RANDOM]),
        ]

    def example(self, number: int) -> doc.Example:
        references = self.test.texts.references[number]
        labels = ["Reference"] if len(references) == 1 else [f"Reference {i + 1}" for i in range(len(references))]
        outputs = [(name, texts[number]) for name, texts in self.texts.items()]
        example = doc.Example(self.test.texts.sources[number], [*zip(labels, references), *outputs])
        explained = self.test.explained
        if explained is None or number not in explained.numbers:
            return example
        place = explained.numbers.index(number)
        link = f"{explained.page.relative_to(self.experiment.out).as_posix()}#text-{place + 1}"
        return replace(example, votes=explained.votes[place], link=link)


def repeats(text: str) -> bool:
    return any(repeated for _, repeated in doc.repeated_words(text))
