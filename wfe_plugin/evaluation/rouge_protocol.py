"""What is measured under the name of ROUGE: metrics, measures and protocols."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

METRICS = ("rouge-1", "rouge-2", "rouge-l")
MEASURES = ("recall", "precision", "f1")
IMPLEMENTATIONS = ("auto", "perl", "python", "files2rouge")
# How words are stemmed: by WordNet's irregular forms and then by Porter's rules, as ROUGE-1.5.5 is
# published, or by Porter's rules alone, as files2rouge does with its empty database of irregular forms.
STEMMERS = ("wordnet", "porter")


@dataclass(frozen=True)
class Protocol:
    """One way of running ROUGE-1.5.5 that published results share."""

    name: str
    description: str
    headline: str  # the measure that papers report
    byte_limit: int | None  # only this many bytes of every text count

    @property
    def options(self) -> str:
        limit = f" -b {self.byte_limit}" if self.byte_limit else ""
        return f"-m{limit} -n 2 -w 1.2 -a"


PROTOCOLS = {
    "gigaword": Protocol("gigaword", "full-length F1", headline="f1", byte_limit=None),
    "duc2004": Protocol("duc2004", "recall at 75 bytes", headline="recall", byte_limit=75),
}


class Estimate(NamedTuple):
    """A corpus score with its 95 % confidence interval, in percent."""

    value: float
    low: float
    high: float
