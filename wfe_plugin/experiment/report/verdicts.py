"""What the numbers say, in a sentence or two for each system."""

from __future__ import annotations

from wfe_plugin.evaluation.rouge_protocol import METRICS
from wfe_plugin.experiment.report import document as doc
from wfe_plugin.experiment.report.comparison import name_of
from wfe_plugin.experiment.report.view import View

SIGNIFICANT = 0.05


class VerdictsSection(View):
    def blocks(self) -> list:
        """Nothing where there is only one system."""
        compared = [system for system in self.experiment.systems if system.rivals]
        if not compared:
            return []
        return [
            self.heading("What the numbers say"),
            doc.Paragraph(
                f"Beam {self.beam}. Better or worse: p < {SIGNIFICANT} by paired bootstrap over sentences, each test by "
                "itself. In brackets the differences in " + ", ".join(map(name_of, METRICS)) + "."
            ),
            *(doc.Paragraph(self.sentences(system)) for system in compared),
        ]

    def sentences(self, system) -> str:
        against = " and ".join(self.against(system.name, rival) for rival in system.rivals)
        repeating = ", ".join(f"{rival} in {self.repeating(rival):.1f} %" for rival in system.rivals)
        return (
            f"{system.name} is {against}. It repeats a word in {self.repeating(system.name):.1f} % of its summaries, "
            f"{repeating}, the references in {self.test.reference_repetition.any_word:.1f} %."
        )

    def repeating(self, system: str) -> float:
        return self.test.rate(system, self.beam, "any_word")

    def against(self, system: str, rival: str) -> str:
        found = [self.test.difference((system, self.beam), (rival, self.beam), metric) for metric in METRICS]
        gains = [self.test.rouge(system, self.beam, m) - self.test.rouge(rival, self.beam, m) for m in METRICS]
        shown = ", ".join(f"{gain:+.2f}" for gain in gains)
        signs = [(gain > 0) - (gain < 0) if one.p_value < SIGNIFICANT else 0 for gain, one in zip(gains, found)]
        return f"{verdict(signs, rival)} ({shown})"


def verdict(signs: list[int], rival: str) -> str:
    """How a system compares, by the sign of each significant difference in METRICS; 0: none."""
    better, worse = (
        " and ".join(name_of(metric) for metric, sign in zip(METRICS, signs) if sign == wanted) for wanted in (1, -1)
    )
    if not better and not worse:
        return f"as good as {rival}, as far as this set can tell"
    if all(sign > 0 for sign in signs):
        return f"better than {rival}"
    if all(sign < 0 for sign in signs):
        return f"worse than {rival}"
    if better and worse:
        return f"better than {rival} in {better}, worse in {worse}"
    return f"better than {rival} in {better} only" if better else f"worse than {rival} in {worse} only"
