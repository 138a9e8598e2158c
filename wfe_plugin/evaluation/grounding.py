"""Where the words of summaries come from: the source, the reference, or neither.

A bonus for words of the source can buy ROUGE by stringing keywords together, and a language
model can invent. These shares, beside length, repetition and perplexity, show which of the two
a system does. Words are compared as they are, without stemming.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from wfe_plugin.errors import UserError

# Runs of letters, digits and the mark that stands for a digit, so that "trade," is "trade".
WORD = re.compile(r"[\w#]+")


@dataclass(frozen=True)
class Grounding:
    """Shares of all words of all outputs, in percent.

    ``copied`` words are in the source; ``invented`` words are neither in the source nor in
    any of the references.
    """

    copied: float
    invented: float


def grounding(outputs: Sequence[str], sources: Sequence[str], references: Sequence[Sequence[str]]) -> Grounding:
    """Look up every word of every output in its source and its references."""
    if not len(outputs) == len(sources) == len(references):
        raise UserError(
            f"{len(outputs)} outputs, {len(sources)} sources and references for {len(references)} sentences: "
            "give one of each per sentence"
        )
    total = copied = invented = 0
    for output, source, texts in zip(outputs, sources, references):
        in_source = set(words(source))
        in_references = {word for text in texts for word in words(text)}
        for word in words(output):
            total += 1
            copied += word in in_source
            invented += word not in in_source and word not in in_references
    return Grounding(100 * copied / max(total, 1), 100 * invented / max(total, 1))


def words(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation."""
    return WORD.findall(text.lower())
