"""How much summaries repeat themselves.

References repeat words too ("of ... of", "bank to bank"), so a system's rates say
something only beside the references' own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from wfe_plugin.errors import UserError

# English function words, clitics as tokenisers split them off, and the unknown
# word's symbols, which may hide a different word each time.
STOP_WORDS = frozenset(
    """
    a an the this that these those some any no every each all both either neither such
    i you he she it we they me him her us them my your his its our their who whom whose which what
    and or but nor so yet if because as than while when where why how though although since until
    of in on at by for from to with without into onto over under after before between among
    against about during through within upon off out up down near per via amid
    is are was were be been being am has have had do does did will would can could may might
    shall should must not also there here then too very more most less least other another own same
    's 't 'd 'll 're 've 'm n't s t
    <unk> unk
    """.split()
)


@dataclass(frozen=True)
class Repetition:
    """Rates over a list of outputs; all but ``mean_length`` are percentages.

    ``any_word``, ``content_word`` and ``bigram`` are shares of the outputs that hold
    such a thing twice. ``rep_1`` and ``rep_2`` are 1 - distinct / total n-grams of
    each output, averaged over outputs; an output too short for an n-gram repeats
    nothing and counts as 0.
    """

    outputs: int
    any_word: float
    content_word: float
    bigram: float
    rep_1: float
    rep_2: float
    mean_length: float  # in words, that is, tokens between spaces


def repetition(outputs: Sequence[str]) -> Repetition:
    """Measure the repetition within each output; case does not distinguish words."""
    if not outputs:
        raise UserError("nothing to measure: give at least one output")
    words = [output.lower().split() for output in outputs]

    def mean(rate: Callable[[list[str]], float]) -> float:
        return sum(map(rate, words)) / len(words)

    return Repetition(
        outputs=len(words),
        any_word=100 * mean(_repeats),
        content_word=100 * mean(lambda tokens: _repeats([*filter(is_content_word, tokens)])),
        bigram=100 * mean(lambda tokens: _repeats(_bigrams(tokens))),
        rep_1=100 * mean(_repeated_share),
        rep_2=100 * mean(lambda tokens: _repeated_share(_bigrams(tokens))),
        mean_length=mean(len),
    )


def is_content_word(token: str) -> bool:
    """Whether a lower-case token is neither a function word, a number nor punctuation."""
    return token not in STOP_WORDS and any(character.isalpha() for character in token)


def _bigrams(tokens: list[str]) -> list[tuple[str, str]]:
    return list(zip(tokens, tokens[1:]))


def _repeats(items: list) -> bool:
    return len(set(items)) < len(items)


def _repeated_share(items: list) -> float:
    return 1 - len(set(items)) / len(items) if items else 0.0
