"""Table 2 of the paper: ROUGE by system and beam, with gains."""

from __future__ import annotations

from wfe_plugin.evaluation.rouge_protocol import METRICS
from wfe_plugin.experiment.report import document as doc
from wfe_plugin.experiment.report.pictures import interval_chart
from wfe_plugin.experiment.report.view import View, is_best, name_of


class RougeSection(View):
    def blocks(self) -> list:
        rows = [
            self.row(system, beam, [self.rouge_cell(system, beam, metric) for metric in METRICS])
            for system in self.systems
            for beam in self.beams
        ]
        rows += self.best_against_best()
        return [
            self.heading("ROUGE by system and beam"),
            doc.Table(
                f"Table 2 of the paper: ROUGE by {self.test.protocol.description}, gains over {self.baseline} at the same beam",
                ["", *self.metrics],
                rows,
                f"Bold: the best of a column, without the oracle. {self.significance()}",
            ),
            self.seed_table(),
            *self.gains(),
        ]

    def rouge_cell(self, system: str, beam: int, metric: str) -> doc.Cell:
        value = self.test.rouge(system, beam, metric)
        rivals = [name for name in self.systems if self.roles[name] != "oracle"]
        every = [self.test.rouge(name, k, metric) for name in rivals for k in self.beams]
        strong = system in rivals and is_best(value, every)
        if system == self.baseline:
            return doc.Cell(f"{value:.2f}", strong=strong)
        gain = self.gain_cell((system, beam), (self.baseline, beam), metric)
        return doc.Cell(f"{value:.2f}", gain.text, gain.tone, strong)

    def best_against_best(self) -> list[doc.Row]:
        """The paper's last row; it takes the best beam of each, as measured on this test set."""
        if self.proposed == self.baseline or len(self.beams) < 2:
            return []
        ours, theirs = (self.test.best_beam(name, self.beams) for name in (self.proposed, self.baseline))
        cells = [self.gain_cell((self.proposed, ours), (self.baseline, theirs), metric) for metric in METRICS]
        group = f"Gain of {self.proposed} at its best beam over {self.baseline} at its best"
        return [doc.Row(f"beams {ours}, {theirs}", cells, group)]

    def seed_table(self) -> doc.Table:
        rows = [
            doc.Row(
                f"beam {beam}, seed {run.seed}",
                [
                    doc.Cell(f"{one['value']:.2f}", f"{one['low']:.2f} to {one['high']:.2f}")
                    for one in run.rouge[self.test.test.protocol].values()
                ],
                system,
            )
            for (system, beam), runs in self.test.runs.items()
            for run in runs
        ]
        order = {name: number for number, name in enumerate(self.systems)}
        rows.sort(key=lambda row: order[row.group])
        return doc.Table("Each run, with 95 % intervals", ["", *self.metrics], rows, folded=True)

    def gains(self) -> list:
        """Differences to the baseline with their intervals, as pictures and as numbers."""
        found = {
            system: {
                metric: self.test.difference((system, self.beam), (self.baseline, self.beam), metric)
                for metric in METRICS
            }
            for system in self.systems
            if system != self.baseline
        }
        if not found:
            return []
        rows = [
            doc.Row(name, [doc.Cell(f"{d.difference:+.2f}", f"{d.low:+.2f} to {d.high:+.2f}") for d in by.values()])
            for name, by in found.items()
        ]
        # The oracle's gain is so large that beside it all others would shrink to points.
        drawn = [system for system in found if self.roles[system] != "oracle"]
        aside = ", without the oracle" if len(drawn) < len(found) else ""
        pictures = [
            doc.Picture(
                interval_chart(
                    [(name, one.difference, one.low, one.high, self.colour(name)) for name, one in by_name.items()],
                    f"{name_of(metric)} points, with 95 % interval",
                    self.key(drawn),
                ),
                f"{name_of(metric)} against {self.baseline}, beam {self.beam}{aside}",
            )
            for metric in METRICS
            if (by_name := {name: found[name][metric] for name in drawn})
        ]
        table = doc.Table(
            f"Gains over {self.baseline} at beam {self.beam}, with 95 % intervals",
            ["", *self.metrics],
            rows,
            folded=True,
        )
        return [*([doc.Pictures(pictures)] if pictures else []), table]
