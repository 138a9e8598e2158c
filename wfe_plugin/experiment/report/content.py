"""From measurements to the report's text, tables and pictures."""

from __future__ import annotations

from wfe_plugin.evaluation.rouge_protocol import METRICS, PROTOCOLS
from wfe_plugin.experiment.report import document as doc
from wfe_plugin.experiment.report.background import (
    provenance_section,
    speed_section,
    training_section,
    tuning_section,
)
from wfe_plugin.experiment.report.comparison import comparison_section, name_of, stars, tone_of
from wfe_plugin.experiment.report.examples import choose_examples
from wfe_plugin.experiment.report.pictures import COLOURS, Series, bar_chart, heat_map, interval_chart, line_chart
from wfe_plugin.experiment.results import REPETITION_RATES, Results, TestResults


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


class Sections:
    """The part of the report that is about one test set."""

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

    def blocks(self) -> list:
        return [
            *self.summary(),
            *comparison_section(self.results, self.test, self.suffix),
            *self.rouge(),
            *self.repetition(),
            *self.lengths(),
            *self.frequencies(),
            *self.examples(),
        ]

    def colour(self, system: str) -> int:
        return 1 + self.systems.index(system) % COLOURS

    def heading(self, text: str) -> doc.Heading:
        return doc.Heading(text + self.suffix)

    def gain(self, system: str, beam: int, metric: str) -> float:
        return self.test.rouge(system, beam, metric) - self.test.rouge(self.baseline, beam, metric)

    # Summary

    def summary(self) -> list:
        test = self.test
        blocks: list = [self.heading("In short")]
        if self.proposed != self.baseline:
            blocks.append(self.summary_table())
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

    def summary_table(self) -> doc.Table:
        test, beam = self.test, self.beam
        rows = []
        for metric in METRICS:
            theirs, ours = (test.rouge(name, beam, metric) for name in (self.baseline, self.proposed))
            p = test.difference((self.proposed, beam), (self.baseline, beam), metric).p_value
            gain = ours - theirs
            change = doc.Cell(f"{gain:+.2f}", p_text(p), tone_of(gain, p))
            cells = [doc.Cell(f"{theirs:.2f}"), doc.Cell(f"{ours:.2f}"), change, doc.Cell("")]
            rows.append(doc.Row(name_of(metric), cells))
        for rate, label in (("content_word", "repeating, %"), ("mean_length", "words")):
            theirs, ours = (test.rate(name, beam, rate) for name in (self.baseline, self.proposed))
            values = [f"{theirs:.1f}", f"{ours:.1f}", f"{ours - theirs:+.1f}"]
            values.append(f"{getattr(test.reference_repetition, rate):.1f}")
            rows.append(doc.Row(label, [doc.Cell(value) for value in values]))
        return doc.Table(
            f"{self.proposed} against {self.baseline} at beam {beam}",
            ["", self.baseline, self.proposed, "change", "ref."],
            rows,
            "Repeating: summaries in which a content word occurs more than once. Ref.: the references.",
        )

    # Table 2

    def rouge(self) -> list:
        rows = []
        for system in self.systems:
            for beam in self.beams:
                rows.append(doc.Row(f"beam {beam}", [self.rouge_cell(system, beam, m) for m in METRICS], system))
        rows += self.best_against_best()
        pictures = [self.gain_picture(metric) for metric in METRICS] if len(self.systems) > 1 else []
        return [
            self.heading("ROUGE by system and beam"),
            doc.Table(
                f"Table 2 of the paper: ROUGE {self.test.measure}, gains over {self.baseline} at the same beam",
                ["", *map(name_of, METRICS)],
                rows,
                "Bold: the best of a column, oracle aside. † p < 0.05, ‡ p < 0.01, by paired bootstrap over sentences.",
            ),
            self.seed_table(),
            *([doc.Pictures(pictures)] if pictures else []),
        ]

    def rouge_cell(self, system: str, beam: int, metric: str) -> doc.Cell:
        value = self.test.rouge(system, beam, metric)
        best = max(
            self.test.rouge(other.name, k, metric)
            for other in self.experiment.systems
            for k in self.beams
            if other.role != "oracle"
        )
        is_oracle = any(other.name == system and other.role == "oracle" for other in self.experiment.systems)
        strong = value == best and not is_oracle
        if system == self.baseline:
            return doc.Cell(f"{value:.2f}", strong=strong)
        gain = self.gain(system, beam, metric)
        p = self.test.difference((system, beam), (self.baseline, beam), metric).p_value
        return doc.Cell(f"{value:.2f}", f"{gain:+.2f}{stars(p)}", tone_of(gain, p), strong)

    def best_against_best(self) -> list[doc.Row]:
        """The paper's last row; it takes the best beam of each, as measured on this test set."""
        if self.proposed == self.baseline:
            return []
        ours, theirs = (self.test.best_beam(name, self.beams) for name in (self.proposed, self.baseline))
        cells = []
        for metric in METRICS:
            gain = self.test.rouge(self.proposed, ours, metric) - self.test.rouge(self.baseline, theirs, metric)
            p = self.test.difference((self.proposed, ours), (self.baseline, theirs), metric).p_value
            cells.append(doc.Cell(f"{gain:+.2f}{stars(p)}"))
        group = f"Gain of {self.proposed} at its best beam over {self.baseline} at its best"
        return [doc.Row(f"beams {ours}, {theirs}", cells, group)]

    def seed_table(self) -> doc.Table:
        rows = [
            doc.Row(
                f"beam {beam}, seed {run.seed}",
                [
                    doc.Cell(f"{run.rouge[m]['value']:.2f}", f"{run.rouge[m]['low']:.2f} to {run.rouge[m]['high']:.2f}")
                    for m in METRICS
                ],
                system,
            )
            for (system, beam), runs in self.test.runs.items()
            for run in runs
        ]
        order = {name: number for number, name in enumerate(self.systems)}
        rows.sort(key=lambda row: order[row.group])
        return doc.Table("Each run, with 95 % intervals", ["", *map(name_of, METRICS)], rows, folded=True)

    def gain_picture(self, metric: str) -> doc.Picture:
        rows = []
        for system in self.systems:
            if system != self.baseline:
                found = self.test.difference((system, self.beam), (self.baseline, self.beam), metric)
                rows.append((system, found.difference, found.low, found.high, self.colour(system)))
        return doc.Picture(
            interval_chart(rows, f"{name_of(metric)} points, with 95 % interval"),
            f"{name_of(metric)} against {self.baseline}, beam {self.beam}",
        )

    # Repetition and length

    def repetition(self) -> list:
        names = [*REPETITION_RATES, "mean_length"]
        truth = self.test.reference_repetition

        def cells(value) -> list[doc.Cell]:
            return [doc.Cell(f"{value(name):.1f}") for name in names]

        rows = [doc.Row("References", cells(lambda name: getattr(truth, name)))]
        for system in self.systems:
            for beam in self.beams:
                rows.append(doc.Row(f"beam {beam}", cells(lambda name: self.test.rate(system, beam, name)), system))
        pictures = [
            doc.Picture(
                bar_chart(
                    [(name, self.test.rate(name, self.beam, rate), self.colour(name)) for name in self.systems],
                    "%",
                    ("references", getattr(truth, rate)),
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
        shares = {}
        for name, lines in texts.items():
            lengths = [len(line.split()) for line in lines]
            shares[name] = {n: 100 * lengths.count(n) / len(lengths) for n in range(max(lengths) + 1)}
        # The few that run on for ever would squeeze all others to the left.
        longest = max(next(n for n in by if sum(by[k] for k in by if k <= n) >= 99) for by in shares.values())
        series = [
            Series(name, [(n, by.get(n, 0.0)) for n in range(longest + 1)], self.colour(name) if number else 0, number)
            for number, (name, by) in enumerate(shares.items())
        ]
        table = doc.Table(
            "Lengths as numbers: share of the summaries, in %",
            ["words", *shares],
            [
                doc.Row(str(n), [doc.Cell(f"{by.get(n, 0.0):.1f}") for by in shares.values()])
                for n in range(longest + 1)
            ],
            folded=True,
        )
        return [
            self.heading("Length"),
            doc.Picture(
                line_chart(series, "words", "% of the summaries", zero=True),
                f"Length of the summaries, beam {self.beam}" + (", first seed" if self.seeds > 1 else ""),
                table,
            ),
        ]

    # Table 4

    def frequencies(self) -> list:
        blocks: list = []
        for training, by_seed in self.test.frequencies.items():
            first = next(iter(by_seed.values()))
            of_seed = f", seed {next(iter(by_seed))}" if len(by_seed) > 1 else ""
            true_counts = [f"true {label}".replace(">=", "≥") for label in first["true_counts"]]
            estimates = [label.replace(">=", "≥") for label in first["estimates"]]
            rows = [
                doc.Row(label, [doc.Cell(f"{count:,}") for count in counts])
                for label, counts in zip(true_counts, first["matrix"])
            ]
            table = doc.Table(
                "Table 4 of the paper: true frequency (rows) and estimate, rounded", ["", *estimates], rows, folded=True
            )
            facts = [
                doc.Row(
                    f"seed {seed}",
                    [
                        doc.Cell(f"{result['recall']:.1f} %"),
                        doc.Cell(f"{result['allowed_recall']:.1f} %"),
                        doc.Cell(f"{result['mean_allowed_words']:.0f}"),
                    ],
                )
                for seed, result in by_seed.items()
            ]
            blocks += [
                doc.Picture(
                    heat_map(first["matrix"], true_counts, estimates),
                    f"Table 4 of the paper: the references' words by true and estimated frequency, {training}{of_seed}",
                    table,
                ),
                doc.Table(
                    f"Estimates of {training}",
                    ["", "recall", "allowed", "words allowed"],
                    facts,
                    "Recall: share of the references' words that are estimated to occur. Allowed: share of them that "
                    "the bound leaves possible at all. Words allowed: how many it leaves possible for a sentence "
                    "(all of them with the estimators hurdle and copying, which make words unlikely instead).",
                ),
            ]
        return [self.heading("What the estimator knows"), *blocks] if blocks else []

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
