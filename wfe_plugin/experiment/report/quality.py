"""Repetition and length of the summaries."""

from __future__ import annotations

import math

from wfe_plugin.experiment.report import document as doc
from wfe_plugin.experiment.report.pictures import Series, bar_chart, line_chart
from wfe_plugin.experiment.report.view import View


class RepetitionSection(View):
    def blocks(self) -> list:
        pictures = [
            doc.Picture(
                bar_chart(
                    [(name, self.test.rate(name, self.beam, rate), self.colour(name)) for name in self.systems],
                    "%",
                    ("references", self.test.reference_rates[rate]),
                    self.key(self.systems),
                ),
                f"Summaries that repeat {what}, beam {self.beam}",
            )
            for rate, what in (("any_word", "any word"), ("content_word", "a content word"))
            if self.test.reference_rates[rate] is not None
        ]
        return [
            self.heading("Repetition"),
            doc.Paragraph(
                "References repeat words too, and rightly so. A system is good if it is close to their rate."
            ),
            doc.Pictures(pictures),
            self.rates_table(
                "Share of summaries that repeat something, in %, and their length",
                ["any_word", "content_word", "bigram", "rep_1", "rep_2", "mean_length"],
                self.beams,
                self.row,
                "rep-1 and rep-2: share of a summary's words and bigrams that already appeared in it, in %.",
            ),
        ]


class LengthSection(View):
    def blocks(self) -> list:
        texts = {"references": [text for several in self.test.texts.references for text in several]}
        for system in dict.fromkeys([self.baseline, self.proposed]):
            texts[system] = self.test.summaries(system, self.beam)
        shares, longest, cut = length_shares(texts)
        labels = [*map(str, range(longest)), f"≥{longest}" if cut else str(longest)]
        series = [
            Series(name, list(enumerate(by)), self.colour(name) if number else 0, number)
            for number, (name, by) in enumerate(shares.items())
        ]
        caption = f"Length of the summaries, beam {self.beam}" + (", first seed" if self.seeds > 1 else "")
        table = doc.Table(
            f"{caption}: share of the summaries, in %",
            ["words", *shares],
            [doc.Row(label, [doc.Cell(f"{by[n]:.1f}") for by in shares.values()]) for n, label in enumerate(labels)],
            folded=True,
        )
        axis = f"words ({longest}: or more)" if cut else "words"
        picture = line_chart(series, axis, "% of the summaries", zero=True)
        return [self.heading("Length"), doc.Picture(picture, caption, table)]


def length_shares(texts: dict[str, list[str]]) -> tuple[dict[str, list[float]], int, bool]:
    """For each name, the share of its texts with 0, 1, ... words, in percent.

    Returns them with the last number of words, and whether longer texts are counted there: the
    few that run on for ever would squeeze all others to the left of a picture.
    """
    lengths = {name: sorted(len(line.split()) for line in lines) for name, lines in texts.items()}
    # What 97 of 100 texts do not exceed, and one more for the rest.
    usual = max(ordered[math.ceil(0.97 * len(ordered)) - 1] for ordered in lengths.values())
    most = max(ordered[-1] for ordered in lengths.values())
    longest = min(most, usual + 1)
    shares = {
        name: [100 * sum(min(n, longest) == k for n in ordered) / len(ordered) for k in range(longest + 1)]
        for name, ordered in lengths.items()
    }
    return shares, longest, most > longest
