"""All systems side by side: the baseline, what else one could do, and word-frequency estimation."""

from __future__ import annotations

from wfe_plugin.evaluation.rouge_protocol import METRICS
from wfe_plugin.experiment.report import document as doc
from wfe_plugin.experiment.results import Results, TestResults

GROUPS = {
    "baseline": "Baseline",
    "alternative": "Alternatives",
    "wfe": "With word-frequency estimation",
    "oracle": "With the references' own frequencies",
}
RATES = {"any_word": "repeat a word, %", "content_word": "a content word", "bigram": "a bigram", "mean_length": "words"}


def name_of(metric: str) -> str:
    return metric.upper()


def stars(p: float) -> str:
    return "‡" if p < 0.01 else "†" if p < 0.05 else ""


def tone_of(gain: float, p: float) -> str:
    return ("good" if gain > 0 else "bad") if p < 0.05 else ""


class Comparison:
    """Of all systems on one test set, at the middle beam."""

    def __init__(self, results: Results, test: TestResults):
        self.results, self.test = results, test
        experiment = results.experiment
        self.beam = experiment.middle_beam
        self.baseline = experiment.baseline.name
        self.systems = sorted(experiment.systems, key=lambda system: list(GROUPS).index(system.role))
        alternatives = [system.name for system in self.systems if system.role == "alternative"]
        # By the test set itself: if that favours anything, then the alternatives.
        self.best_alternative = max(alternatives, key=lambda name: test.mean_rouge(name, self.beam), default=None)
        self.chosen = {tuning.system.name: ", ".join(tuning.chosen.values) for tuning in results.tunings}

    def section(self, suffix: str = "") -> list:
        """Nothing where there is only one system."""
        if len(self.systems) < 2:
            return []
        return [doc.Heading(f"Side by side{suffix}"), doc.Paragraph(self.explanation()), self.table()]

    def table(self) -> doc.Table:
        truth = self.test.reference_repetition
        cells = [doc.Cell("") for _ in METRICS] + [doc.Cell(f"{getattr(truth, rate):.1f}") for rate in RATES]
        speed = [f"time ({self.baseline} = 1)"] if self.results.speeds else []
        references = doc.Row("References", [*cells, *(doc.Cell("") for _ in speed)])
        return doc.Table(
            f"All systems at beam {self.beam}: ROUGE {self.test.measure}, repetition, length"
            + (", speed" if speed else ""),
            ["", *map(name_of, METRICS), *RATES.values(), *speed],
            [references, *(self.row(system) for system in self.systems)],
            self.notes(),
        )

    def row(self, system) -> doc.Row:
        name = system.name
        label = f"{name} ({self.chosen[name]})" if name in self.chosen else name
        cells = [self.rouge_cell(name, system.role, metric) for metric in METRICS]
        cells += [doc.Cell(f"{self.test.rate(name, self.beam, rate):.1f}") for rate in RATES]
        if self.results.speeds:
            ratio = self.results.speeds.ratio(name)
            spread = "" if name == self.baseline else f"{ratio.low:.2f} to {ratio.high:.2f}"
            cells.append(doc.Cell(f"{ratio.median:.2f}", spread))
        return doc.Row(label, cells, GROUPS[system.role])

    def rouge_cell(self, name: str, role: str, metric: str) -> doc.Cell:
        value = self.test.rouge(name, self.beam, metric)
        best = max(self.test.rouge(one.name, self.beam, metric) for one in self.systems if one.role != "oracle")
        against = [self.gain(name, other, metric) for other in (self.baseline, self.best_alternative)]
        (detail, tone), (second, second_tone) = against
        strong = value == best and role != "oracle"
        return doc.Cell(f"{value:.2f}", detail, tone, strong, second, second_tone)

    def gain(self, name: str, other: str | None, metric: str) -> tuple[str, str]:
        """The difference, marked if it is significant, and its tone."""
        if other is None:
            return "", ""
        if name == other:
            return "–", ""
        gain = self.test.rouge(name, self.beam, metric) - self.test.rouge(other, self.beam, metric)
        p = self.test.difference((name, self.beam), (other, self.beam), metric).p_value
        return f"{gain:+.2f}{stars(p)}", tone_of(gain, p)

    def explanation(self) -> str:
        text = f"With each score: the difference to {self.baseline}"
        if self.best_alternative:
            text += f", and then that to {self.best_alternative}, here the best alternative by the scores' mean"
        tuned = " In brackets behind a name: what tuning on the validation set has chosen." if self.chosen else ""
        return f"{text}. Of repetition, what is near the references' rate is good.{tuned}"

    def significance(self) -> str:
        """What the marks mean."""
        of_seeds = ", whose scores are means over the seeds" if len(self.results.experiment.seeds) > 1 else ""
        return f"† p < 0.05, ‡ p < 0.01, by paired bootstrap over sentences{of_seeds}; each test by itself."

    def notes(self) -> str:
        time = " Time: median and extremes, see Speed." if self.results.speeds else ""
        return (
            f"{self.significance()} Bold: the best of a column, oracle aside. Repetition: share of the summaries that "
            f"repeat such a thing.{time}"
        )
