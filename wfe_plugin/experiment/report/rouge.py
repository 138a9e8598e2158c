"""Table 2 of the paper: ROUGE by system and beam, with gains."""

from __future__ import annotations

from wfe_plugin.evaluation.rouge_protocol import METRICS
from wfe_plugin.experiment.report import document as doc
from wfe_plugin.experiment.report.comparison import name_of, stars, tone_of
from wfe_plugin.experiment.report.pictures import interval_chart
from wfe_plugin.experiment.report.view import View


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
                f"Table 2 of the paper: ROUGE {self.test.measure}, gains over {self.baseline} at the same beam",
                ["", *map(name_of, METRICS)],
                rows,
                f"Bold: the best of a column, oracle aside. {self.comparison.significance()}",
            ),
            self.seed_table(),
            *self.gains(),
        ]

    def gain(self, system: str, beam: int, metric: str) -> float:
        return self.test.rouge(system, beam, metric) - self.test.rouge(self.baseline, beam, metric)

    def rouge_cell(self, system: str, beam: int, metric: str) -> doc.Cell:
        value = self.test.rouge(system, beam, metric)
        best = max(
            self.test.rouge(other.name, k, metric)
            for other in self.experiment.systems
            for k in self.beams
            if other.role != "oracle"
        )
        strong = value == best and self.roles[system] != "oracle"
        if system == self.baseline:
            return doc.Cell(f"{value:.2f}", strong=strong)
        gain = self.gain(system, beam, metric)
        p = self.test.difference((system, beam), (self.baseline, beam), metric).p_value
        return doc.Cell(f"{value:.2f}", f"{gain:+.2f}{stars(p)}", tone_of(gain, p), strong)

    def best_against_best(self) -> list[doc.Row]:
        """The paper's last row; it takes the best beam of each, as measured on this test set."""
        if self.proposed == self.baseline or len(self.beams) < 2:
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
            ["", *map(name_of, METRICS)],
            rows,
            folded=True,
        )
        return [*([doc.Pictures(pictures)] if pictures else []), table]
