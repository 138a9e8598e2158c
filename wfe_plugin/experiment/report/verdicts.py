"""What the numbers say, in a sentence or two for each system."""

from __future__ import annotations

from wfe_plugin.evaluation.rouge_protocol import METRICS
from wfe_plugin.experiment.report import document as doc
from wfe_plugin.experiment.report.view import View, name_of

SIGNIFICANT = 0.05


class VerdictsSection(View):
    def blocks(self) -> list:
        """Nothing where there is only one system."""
        compared = [system for system in self.experiment.systems if system.rivals]
        if not compared:
            return []
        return [
            self.heading("What the numbers say"),
            doc.Paragraph(self.explanation()),
            *(doc.Paragraph(self.sentences(system)) for system in compared),
        ]

    def explanation(self) -> str:
        text = (
            f"Beam {self.beam}. Better or worse means p < {SIGNIFICANT} by paired bootstrap over sentences, without "
            f"correction for multiple tests. In brackets: the differences in {', '.join(self.metrics)}."
        )
        if self.seeds == 1:
            text += " There is one model per system: another seed may give other differences."
        return text

    def sentences(self, system) -> str:
        against = " and ".join(self.against(system.name, rival) for rival in system.rivals)
        truth = self.test.reference_rates
        others = [(rival, self.rates(rival)) for rival in system.rivals]
        others.append(("the references", (truth["any_word"], truth["mean_length"])))
        repeating, length = self.rates(system.name)
        return (
            f"{system.name} is {against}. {repeating:.1f} % of its summaries repeat a word ("
            + ", ".join(f"{name}: {rate:.1f} %" for name, (rate, _) in others)
            + f"), and they have {length:.1f} words ("
            + ", ".join(f"{name}: {words:.1f}" for name, (_, words) in others)
            + ")."
        )

    def rates(self, system: str) -> tuple[float, float]:
        """Percent of the summaries that repeat a word, and their mean length."""
        return tuple(self.test.rate(system, self.beam, rate) for rate in ("any_word", "mean_length"))

    def against(self, system: str, rival: str) -> str:
        pair = (system, self.beam), (rival, self.beam)
        found = [self.test.difference(*pair, metric) for metric in METRICS]
        gains = [self.gain(*pair, metric) for metric in METRICS]
        shown = ", ".join(f"{gain:+.2f}" for gain in gains)
        signs = [(gain > 0) - (gain < 0) if one.p_value < SIGNIFICANT else 0 for gain, one in zip(gains, found)]
        return f"{verdict(signs, rival)} ({shown})"


def verdict(signs: list[int], rival: str) -> str:
    """How a system compares, by the sign of each significant difference in METRICS; 0: none."""
    better, worse = (
        " and ".join(name_of(metric) for metric, sign in zip(METRICS, signs) if sign == wanted) for wanted in (1, -1)
    )
    if not better and not worse:
        return f"not significantly different from {rival}"
    if all(sign > 0 for sign in signs):
        return f"better than {rival}"
    if all(sign < 0 for sign in signs):
        return f"worse than {rival}"
    if better and worse:
        return f"better than {rival} in {better}, worse in {worse}"
    return f"better than {rival} in {better} only" if better else f"worse than {rival} in {worse} only"
