"""How much summaries repeat themselves.

References repeat words too ("of ... of", "bank to bank"), so a system's rates say
something only beside the references' own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from wfe_plugin.errors import UserError
from wfe_plugin.evaluation.stop_words import STOP_WORDS

# Symbols of the unknown word, which may hide a different word each time.
UNKNOWN = frozenset(("<unk>", "unk"))


@dataclass(frozen=True)
class Repetition:
    """Rates over a list of outputs; all but ``mean_length`` are percentages.

    ``any_word``, ``content_word`` and ``bigram`` are shares of the outputs that hold
    such a thing twice. ``rep_1`` and ``rep_2`` are 1 - distinct / total n-grams of
    each output, averaged over outputs; an output too short for an n-gram repeats
    nothing and counts as 0. ``content_word`` is None where the language's function words are not known.
    """

    outputs: int
    any_word: float
    content_word: float | None
    bigram: float
    rep_1: float
    rep_2: float
    mean_length: float  # in words, that is, tokens between spaces


def repetition(outputs: Sequence[str], lang: str = "en") -> Repetition:
    """Measure the repetition within each output; case does not distinguish words."""

    def content_words(tokens: list[str]) -> list[str]:
        return [token for token in tokens if is_content_word(token, lang)]

    if not outputs:
        raise UserError("nothing to measure: give at least one output")
    words = [output.lower().split() for output in outputs]

    def mean(rate: Callable[[list[str]], float]) -> float:
        return sum(map(rate, words)) / len(words)

    return Repetition(
        outputs=len(words),
        any_word=100 * mean(_repeats),
        content_word=100 * mean(lambda tokens: _repeats(content_words(tokens))) if lang in STOP_WORDS else None,
        bigram=100 * mean(lambda tokens: _repeats(_bigrams(tokens))),
        rep_1=100 * mean(_repeated_share),
        rep_2=100 * mean(lambda tokens: _repeated_share(_bigrams(tokens))),
        mean_length=mean(len),
    )


def is_content_word(token: str, lang: str = "en") -> bool:
    """Whether a lower-case token is neither a function word, a number nor punctuation."""
    function_word = token in STOP_WORDS[lang] or token in UNKNOWN
    return not function_word and any(character.isalpha() for character in token)


def _bigrams(tokens: list[str]) -> list[tuple[str, str]]:
    return list(zip(tokens, tokens[1:]))


def _repeats(items: list) -> bool:
    return len(set(items)) < len(items)


def _repeated_share(items: list) -> float:
    return 1 - len(set(items)) / len(items) if items else 0.0
