"""What all sections about a test set share."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from wfe_plugin.evaluation.rouge_protocol import METRICS, PROTOCOLS
from wfe_plugin.experiment.report import document as doc
from wfe_plugin.experiment.results import Results, TestResults

# Numbers of the palette. They show what a system is, since there may be more systems than colours.
COLOURS = {"baseline": 1, "alternative": 5, "WFE": 2, "proposed": 3, "oracle": 4}
# Measures of summaries that are not ROUGE, as columns of tables.
RATES = {
    "any_word": "repeat a word, %",
    "content_word": "a content word",
    "bigram": "a bigram",
    "rep_1": "rep-1",
    "rep_2": "rep-2",
    "mean_length": "words",
    "copied": "copied, %",
    "invented": "invented, %",
    "perplexity": "perplexity",
}


def name_of(metric: str) -> str:
    return metric.upper()


def stars(p: float) -> str:
    return "‡" if p < 0.01 else "†" if p < 0.05 else ""


def tone_of(gain: float, p: float) -> str:
    return ("good" if gain > 0 else "bad") if p < 0.05 else ""


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def is_best(value: float, every: Iterable[float]) -> bool:
    """Whether it is the highest; nothing is, where all are equal."""
    every = list(every)
    return value == max(every) and min(every) < max(every)


class View:
    """One test set, and how its systems are called, coloured and lined up."""

    def __init__(self, results: Results, test: TestResults):
        self.results, self.test = results, test
        self.experiment = results.experiment
        self.beams = self.experiment.beams
        self.systems = [system.name for system in self.experiment.systems]
        self.baseline = self.experiment.baseline.name
        self.proposed = self.experiment.proposed.name
        self.beam = self.experiment.middle_beam
        self.suffix = f": {test.test.name}" if len(results.tests) > 1 else ""
        self.seeds = len(self.experiment.seeds)
        self.roles = {system.name: system.role for system in self.experiment.systems}
        # By the test set itself: if that favours anything, then the alternatives.
        alternatives = [name for name in self.systems if self.roles[name] == "alternative"]
        self.best_alternative = max(alternatives, key=lambda name: test.mean_rouge(name, self.beam), default=None)
        self.other_protocol = next(protocol for name, protocol in PROTOCOLS.items() if name != test.test.protocol)

    def colour(self, system: str) -> int:
        return COLOURS[self.kind(system)]

    def kind(self, system: str) -> str:
        """The role, by its name in pictures."""
        role = self.roles[system]
        return "proposed" if system == self.proposed != self.baseline else "WFE" if role == "wfe" else role

    def key(self, systems) -> list[tuple[str, int]]:
        """What the colours of a picture mean."""
        kinds = {self.kind(system) for system in systems}
        return [(kind, colour) for kind, colour in COLOURS.items() if kind in kinds]

    def row(self, system: str, beam: int, cells: list[doc.Cell]) -> doc.Row:
        """One beam needs no heading for each system."""
        return doc.Row(f"beam {beam}", cells, system) if len(self.beams) > 1 else doc.Row(system, cells)

    def heading(self, text: str) -> doc.Heading:
        return doc.Heading(text + self.suffix)

    def gain(self, first: tuple[str, int], second: tuple[str, int], metric: str, protocol: str = "") -> float:
        """How much the first system and beam is above the second."""
        return self.test.rouge(*first, metric, protocol) - self.test.rouge(*second, metric, protocol)

    def gain_cell(self, first: tuple[str, int], second: tuple[str, int], metric: str, protocol: str = "") -> doc.Cell:
        """The difference, marked if it is significant, and its tone."""
        gain = self.gain(first, second, metric, protocol)
        p = self.test.difference(first, second, metric, protocol).p_value
        return doc.Cell(f"{gain:+.2f}{stars(p)}", tone=tone_of(gain, p))

    def rates_table(self, caption: str, names: list[str], beams: Iterable[int], row: Callable, notes: str) -> doc.Table:
        """Measures of all systems below those of the references; `row` makes a row of a system, beam and cells."""
        truth = self.test.reference_rates
        rows = [doc.Row("References", [doc.Cell(number(truth.get(name))) for name in names])]
        for system in self.systems:
            for beam in beams:
                rows.append(row(system, beam, [doc.Cell(number(self.test.rate(system, beam, one))) for one in names]))
        return doc.Table(caption, ["", *(RATES[name] for name in names)], rows, notes)

    def significance(self) -> str:
        """What the marks mean."""
        of_seeds = ", whose scores are means over the seeds" if self.seeds > 1 else ""
        return (
            f"† p < 0.05, ‡ p < 0.01, by paired bootstrap over sentences{of_seeds}; not corrected for multiple tests."
        )

    @property
    def metrics(self) -> list[str]:
        return [name_of(metric) for metric in METRICS]
