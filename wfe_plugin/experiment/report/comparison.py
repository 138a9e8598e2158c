"""All systems side by side: the baseline, what else one could do, and word-frequency estimation."""

from __future__ import annotations

from wfe_plugin.evaluation.rouge_protocol import METRICS
from wfe_plugin.experiment.report import document as doc
from wfe_plugin.experiment.report.view import RATES, View, is_best, name_of, number

GROUPS = {
    "baseline": "Baseline",
    "alternative": "Alternatives",
    "wfe": "With word-frequency estimation",
    "oracle": "With the references' own frequencies",
}
SHOWN = ("any_word", "mean_length")


class Comparison(View):
    """Of all systems on one test set, at the middle beam."""

    def blocks(self) -> list:
        """Nothing where there is only one system."""
        if len(self.systems) < 2:
            return []
        return [self.heading("Side by side"), doc.Paragraph(self.explanation()), self.table(), *self.summaries()]

    def table(self) -> doc.Table:
        truth = self.test.reference_rates
        other = self.other_protocol
        limit = f"at {other.byte_limit} bytes" if other.byte_limit else "full length"
        cells = [doc.Cell("") for _ in range(2 * len(METRICS))] + [doc.Cell(number(truth[rate])) for rate in SHOWN]
        ordered = sorted(self.experiment.systems, key=lambda system: list(GROUPS).index(system.role))
        short = {"f1": "F1", "recall": "recall"}[other.headline]
        return doc.Table(
            f"All systems at beam {self.beam}: ROUGE by {self.test.protocol.description}, then by "
            f"{other.description}; repetition and length",
            ["", *self.metrics, *(f"{name_of(metric)} {short} {limit}" for metric in METRICS)]
            + [RATES[rate] for rate in SHOWN],
            [doc.Row("References", cells), *(self.system_row(system) for system in ordered)],
            f"{self.significance()} Bold: the best of a column, without the oracle.",
        )

    def system_row(self, system) -> doc.Row:
        name = system.name
        cells = [self.rouge_cell(name, metric) for metric in METRICS]
        cells += [self.other_cell(name, metric) for metric in METRICS]
        cells += [doc.Cell(number(self.test.rate(name, self.beam, rate))) for rate in SHOWN]
        return doc.Row(self.label(name), cells, GROUPS[system.role])

    def label(self, name: str) -> str:
        """The name, with what tuning has chosen."""
        for tuning in self.results.tunings:
            if tuning.system.name == name:
                return f"{name} ({', '.join(tuning.chosen(self.test.test.protocol).values)})"
        return name

    def is_strong(self, name: str, metric: str, protocol: str = "") -> bool:
        rivals = [one for one in self.systems if self.roles[one] != "oracle"]
        every = [self.test.rouge(one, self.beam, metric, protocol) for one in rivals]
        return name in rivals and is_best(self.test.rouge(name, self.beam, metric, protocol), every)

    def rouge_cell(self, name: str, metric: str) -> doc.Cell:
        """With the differences to the baseline and to the best alternative."""
        value = self.test.rouge(name, self.beam, metric)
        first, second = (self.against(name, other, metric) for other in (self.baseline, self.best_alternative))
        strong = self.is_strong(name, metric)
        return doc.Cell(f"{value:.2f}", first.text, first.tone, strong, second.text, second.tone)

    def other_cell(self, name: str, metric: str) -> doc.Cell:
        """By the other protocol, with the difference to the baseline."""
        protocol = self.other_protocol.name
        value = self.test.rouge(name, self.beam, metric, protocol)
        gain = self.against(name, self.baseline, metric, protocol)
        return doc.Cell(f"{value:.2f}", gain.text, gain.tone, self.is_strong(name, metric, protocol))

    def against(self, name: str, other: str | None, metric: str, protocol: str = "") -> doc.Cell:
        if other is None:
            return doc.Cell("")
        if name == other:
            return doc.Cell("–")
        return self.gain_cell((name, self.beam), (other, self.beam), metric, protocol)

    def explanation(self) -> str:
        text = f"Each score comes with its difference from {self.baseline}"
        if self.best_alternative:
            text += f", then from {self.best_alternative}, the best alternative here by mean ROUGE"
        tuned = (
            " In brackets after a name: the values that tuning on the validation set chose."
            if self.results.tunings
            else ""
        )
        return f"{text}. Repetition is good when it is close to the references' rate.{tuned}"

    def summaries(self) -> list:
        """Whether it is still a summary, and not keywords on a string."""
        names = ["mean_length", "copied", "invented"]
        judge = self.experiment.judge
        names += ["perplexity"] if judge else []
        likely = f" Perplexity: per word, under {judge.name}; low if outputs are fluent." if judge else ""
        return [
            self.heading("Is it still a summary?"),
            self.rates_table(
                f"Length, and where the words come from, at beam {self.beam}",
                names,
                [self.beam],
                lambda system, beam, cells: doc.Row(system, cells),
                "Copied: words that are in the source. Invented: words that are neither in the source nor in a "
                f"reference.{likely}",
            ),
        ]
