"""What all sections about a test set share."""

from __future__ import annotations

from wfe_plugin.experiment.report import document as doc
from wfe_plugin.experiment.report.comparison import Comparison
from wfe_plugin.experiment.results import Results, TestResults

# Numbers of the palette. They tell what a system is, since there may be more systems than colours.
COLOURS = {"baseline": 1, "alternative": 5, "WFE": 2, "proposed": 3, "oracle": 4}


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
        self.comparison = Comparison(results, test)

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
