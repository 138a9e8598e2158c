"""From measurements to the report's text, tables and pictures."""

from __future__ import annotations

import math
from functools import partial

from wfe_plugin.evaluation.rouge_protocol import METRICS, PROTOCOLS
from wfe_plugin.experiment.report import document as doc
from wfe_plugin.experiment.report.background import (
    provenance_section,
    speed_section,
    tuning_section,
)
from wfe_plugin.experiment.report.comparison import name_of, tone_of
from wfe_plugin.experiment.report.estimates import estimates_section
from wfe_plugin.experiment.report.examples import choose_examples
from wfe_plugin.experiment.report.pictures import Series, bar_chart, line_chart
from wfe_plugin.experiment.report.rouge import RougeSection
from wfe_plugin.experiment.report.training import training_section
from wfe_plugin.experiment.report.verdicts import VerdictsSection
from wfe_plugin.experiment.report.view import View
from wfe_plugin.experiment.results import REPETITION_RATES, Results


def build(results: Results) -> doc.Document:
    experiment = results.experiment
    blocks: list = []
    for test in results.tests:
        blocks += Sections(results, test).blocks()
    blocks += tuning_section(results)
    blocks += speed_section(results)
    blocks += training_section(results)
    blocks += provenance_section(results)
    seeds = f"{len(experiment.seeds)} seeds" if len(experiment.seeds) > 1 else "one seed"
    beams = f"beam{'s' if len(experiment.beams) > 1 else ''} {', '.join(map(str, experiment.beams))}"
    presets = list(dict.fromkeys(training.preset for training in experiment.trainings))
    subtitle = (
        f"Word-frequency estimation after Suzuki and Nagata (2017): {len(experiment.systems)} systems, "
        f"{beams}, {seeds}, preset{'s' if len(presets) > 1 else ''} {', '.join(presets)}"
    )
    return doc.Document(experiment.title, subtitle, blocks)


def p_text(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


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


class Sections(View):
    """The part of the report that is about one test set."""

    def blocks(self) -> list:
        return [
            *self.summary(),
            *self.comparison.section(self.suffix),
            *VerdictsSection(self.results, self.test).blocks(),
            *RougeSection(self.results, self.test).blocks(),
            *self.repetition(),
            *self.lengths(),
            *estimates_section(self.test, self.suffix),
            *self.examples(),
        ]

    # Summary

    def summary(self) -> list:
        test = self.test
        blocks: list = [self.heading("In short")]
        others = dict.fromkeys([self.baseline, self.comparison.best_alternative])
        tables = [self.summary_table(other) for other in others if other not in (None, self.proposed)]
        blocks += tables
        if tables:
            blocks.append(
                doc.Paragraph(
                    "Repeating: summaries in which a content word occurs more than once. Ref.: the references."
                )
            )
        protocol = PROTOCOLS[test.test.protocol]
        references = len(test.references[0])
        note = f" {test.note}." if test.note else ""
        of_seeds = f" Numbers are means over {self.seeds} seeds." if self.seeds > 1 else ""
        blocks.append(
            doc.Paragraph(
                f"{len(test.references):,} sentences of the set {test.test.split!r}, "
                f"{references} reference{'s' if references > 1 else ''} each. ROUGE: {protocol.description} "
                f"(options {protocol.options}), by {test.implementation}.{note}{of_seeds}"
            )
        )
        return blocks

    def summary_table(self, other: str) -> doc.Table:
        """The proposed system and another one."""
        test, beam = self.test, self.beam
        rows = []
        for metric in METRICS:
            theirs, ours = (test.rouge(name, beam, metric) for name in (other, self.proposed))
            p = test.difference((self.proposed, beam), (other, beam), metric).p_value
            gain = ours - theirs
            change = doc.Cell(f"{gain:+.2f}", p_text(p), tone_of(gain, p))
            cells = [doc.Cell(f"{theirs:.2f}"), doc.Cell(f"{ours:.2f}"), change, doc.Cell("")]
            rows.append(doc.Row(name_of(metric), cells))
        for rate, label in (("content_word", "repeating, %"), ("mean_length", "words")):
            theirs, ours = (test.rate(name, beam, rate) for name in (other, self.proposed))
            values = [f"{theirs:.1f}", f"{ours:.1f}", f"{ours - theirs:+.1f}"]
            values.append(f"{getattr(test.reference_repetition, rate):.1f}")
            rows.append(doc.Row(label, [doc.Cell(value) for value in values]))
        best = ", the best alternative," if other != self.baseline else ""
        return doc.Table(
            f"{self.proposed} against {other}{best} at beam {beam}",
            ["", other, self.proposed, "change", "ref."],
            rows,
        )

    # Repetition and length

    def repetition(self) -> list:
        names = [*REPETITION_RATES, "mean_length"]
        truth = self.test.reference_repetition

        def cells(rate) -> list[doc.Cell]:
            return [doc.Cell(f"{rate(name):.1f}") for name in names]

        rows = [doc.Row("References", cells(partial(getattr, truth)))]
        for system in self.systems:
            for beam in self.beams:
                rows.append(self.row(system, beam, cells(partial(self.test.rate, system, beam))))
        pictures = [
            doc.Picture(
                bar_chart(
                    [(name, self.test.rate(name, self.beam, rate), self.colour(name)) for name in self.systems],
                    "%",
                    ("references", getattr(truth, rate)),
                    self.key(self.systems),
                ),
                f"Summaries that repeat {what}, beam {self.beam}",
            )
            for rate, what in (("content_word", "a content word"), ("bigram", "a bigram"))
        ]
        return [
            self.heading("Repetition"),
            doc.Paragraph(
                "References repeat words, too, and rightly so: what counts is how far a system is from their rates."
            ),
            doc.Pictures(pictures),
            doc.Table(
                "Share of summaries that repeat something, in %, and their length",
                ["", *REPETITION_RATES.values(), "words"],
                rows,
                "rep-1 and rep-2: share of a summary's words and bigrams that stood there before, in %.",
            ),
        ]

    def lengths(self) -> list:
        texts = {"references": [text for several in self.test.references for text in several]}
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
        return [
            self.heading("Length"),
            doc.Picture(
                line_chart(series, f"words ({longest}: or more)" if cut else "words", "% of the summaries", zero=True),
                caption,
                table,
            ),
        ]

    # Figure 4

    def examples(self) -> list:
        if self.proposed == self.baseline:
            return []
        found = choose_examples(self.test, self.baseline, self.proposed, self.beam)
        return [
            self.heading("Examples"),
            doc.Paragraph(
                "Figure 4 of the paper. Words that occur more than once are marked. "
                f"Beam {self.beam}{', first seed' if self.seeds > 1 else ''}."
            ),
            *found,
        ]
