"""From measurements to the report's text, tables and pictures."""

from __future__ import annotations

from wfe_plugin.evaluation.rouge_protocol import METRICS
from wfe_plugin.evaluation.source_use import uses_source
from wfe_plugin.experiment.report import document as doc
from wfe_plugin.experiment.report.background import (
    outputs_section,
    provenance_section,
    speed_section,
    tuning_section,
)
from wfe_plugin.experiment.report.comparison import Comparison
from wfe_plugin.experiment.report.estimates import estimates_section
from wfe_plugin.experiment.report.examples import ExamplesSection
from wfe_plugin.experiment.report.quality import LengthSection, RepetitionSection
from wfe_plugin.experiment.report.rouge import RougeSection
from wfe_plugin.experiment.report.training import training_section
from wfe_plugin.experiment.report.verdicts import VerdictsSection
from wfe_plugin.experiment.report.view import View, name_of, number, tone_of
from wfe_plugin.experiment.results import Results

SECTIONS = (Comparison, VerdictsSection, RougeSection, RepetitionSection, LengthSection)


def build(results: Results) -> doc.Document:
    experiment = results.experiment
    blocks: list = []
    for test in results.tests:
        blocks += SummarySection(results, test).blocks()
        for section in SECTIONS:
            blocks += section(results, test).blocks()
        blocks += estimates_section(test, f": {test.test.name}" if len(results.tests) > 1 else "")
        blocks += ExamplesSection(results, test).blocks()
    for part in (tuning_section, speed_section, training_section, outputs_section, provenance_section):
        blocks += part(results)
    seeds = f"{len(experiment.seeds)} seeds" if len(experiment.seeds) > 1 else "one seed"
    beams = f"beam{'s' if len(experiment.beams) > 1 else ''} {', '.join(map(str, experiment.beams))}"
    presets = list(dict.fromkeys(training.preset for training in experiment.trainings))
    sizes = f", preset{'s' if len(presets) > 1 else ''} {', '.join(presets)}" if presets else ""
    subtitle = (
        f"Word-frequency estimation after Suzuki and Nagata (2017): {len(experiment.systems)} systems, "
        f"{beams}, {seeds}{sizes}"
    )
    return doc.Document(experiment.title, subtitle, blocks)


def result_tables(results: Results) -> list[doc.Table]:
    """What the console shows at the end: all systems, for each test set."""
    return [Comparison(results, test).table() for test in results.tests]


def p_text(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


class SummarySection(View):
    """In short."""

    def blocks(self) -> list:
        others = dict.fromkeys([self.baseline, self.best_alternative])
        tables = [self.summary_table(other) for other in others if other not in (None, self.proposed)]
        explained = doc.Paragraph(
            "Repeating: share of summaries in which any word occurs more than once. Ref.: the references."
        )
        return [
            self.heading("In short"),
            *self.warnings(),
            *tables,
            *([explained] if tables else []),
            doc.Paragraph(self.setting()),
        ]

    def setting(self) -> str:
        test, protocol = self.test, self.test.protocol
        references = len(test.texts.references[0])
        note = f" {test.note}." if test.note else ""
        of_seeds = f" Numbers are means over {self.seeds} seeds." if self.seeds > 1 else ""
        return (
            f"{len(test.texts.references):,} sentences of the set {test.test.split!r}, "
            f"{references} reference{'s' if references > 1 else ''} each. ROUGE: {protocol.description} "
            f"(options {protocol.options}), by {test.implementation}.{note}{of_seeds}"
        )

    def warnings(self) -> list[doc.Warning]:
        """Where outputs have nothing to do with their sources, differences mean nothing."""
        idle = [
            system
            for system in self.systems
            if not uses_source(self.test.summaries(system, self.beam), self.test.texts.references)
        ]
        if not idle:
            return []
        return [
            doc.Warning(
                f"The summaries of {', '.join(idle)} match their own references hardly better than those of other "
                "sentences: these models have not learnt to read the source. Train them longer, or on more "
                "text, before you compare anything."
            )
        ]

    def summary_table(self, other: str) -> doc.Table:
        """The proposed system and another one."""
        beam = self.beam
        pair = (self.proposed, beam), (other, beam)
        rows = []
        for protocol in (self.test.protocol, self.other_protocol):
            for metric in METRICS:
                ours, theirs = (self.test.rouge(*one, metric, protocol.name) for one in pair)
                p = self.test.difference(*pair, metric, protocol.name).p_value
                change = doc.Cell(f"{ours - theirs:+.2f}", p_text(p), tone_of(ours - theirs, p))
                label = name_of(metric) + (f", {protocol.description}" if protocol != self.test.protocol else "")
                rows.append(doc.Row(label, [doc.Cell(f"{theirs:.2f}"), doc.Cell(f"{ours:.2f}"), change, doc.Cell("")]))
        for rate, label in (("any_word", "repeating, %"), ("mean_length", "words")):
            ours, theirs = (self.test.rate(*one, rate) for one in pair)
            values = [number(theirs), number(ours), f"{ours - theirs:+.1f}", number(self.test.reference_rates[rate])]
            rows.append(doc.Row(label, [doc.Cell(value) for value in values]))
        best = ", the best alternative," if other != self.baseline else ""
        caption = f"{self.proposed} against {other}{best} at beam {beam}"
        return doc.Table(caption, ["", other, self.proposed, "change", "ref."], rows)
