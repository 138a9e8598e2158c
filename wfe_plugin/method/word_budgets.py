"""The user's own budgets: how often whole words may occur, whatever pieces they are made of.

A piece that ends in `@@` is continued by the next one, as subword-nmt writes BPE; without such pieces, each
token is a word. To forbid a word is to forbid the piece that would complete it after what was begun:
after "ger@@", the piece "many" completes "germany", and nothing else is lost.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Optional, Union

from wfe_plugin.errors import UserError

CONTINUED = "@@"


class WordBudgets(NamedTuple):
    """How often words may occur at most, and which must occur."""

    limits: dict[str, int]
    required: tuple[str, ...] = ()
    firsts: dict[str, str] = {}  # the first piece of each required word, see `in_pieces`

    @classmethod
    def of(cls, given: Union[None, str, Mapping, "WordBudgets"]) -> Optional["WordBudgets"]:
        """From `germany=0 pinochet=1 olympics=+`, or {"germany": 0, "pinochet": 1, "olympics": "+"}."""
        if given is None or isinstance(given, WordBudgets):
            return given
        pairs = (
            [tuple(part.rpartition("=")[::2]) for part in given.split()] if isinstance(given, str) else given.items()
        )
        limits, required = {}, []
        for word, value in pairs:
            if not word or word in limits or word in required:
                problem = f"{word} is duplicated" if word else f"{value!r} is not WORD=N or WORD=+"
                raise UserError(f"budget {given!r}: {problem}")
            if str(value) == "+":
                required.append(word)
            elif str(value).isdecimal():
                limits[word] = int(value)
            else:
                raise UserError(f"budget {given!r}: {word}={value}: give 0 or more, or + for a word that must appear")
        return cls(limits, tuple(required))

    def updated(self, other: Optional["WordBudgets"]) -> "WordBudgets":
        """With another's budgets, which win."""
        if other is None:
            return self
        limits = {word: limit for word, limit in self.limits.items() if word not in other.required}
        required = [word for word in self.required if word not in other.limits and word not in other.required]
        return WordBudgets({**limits, **other.limits}, (*required, *other.required))

    @property
    def words(self) -> list[str]:
        return [*self.limits, *self.required]


def words_of(pieces: Sequence[str]) -> tuple[list[str], str]:
    """The complete words of an output, and what is begun of the next one; empty: nothing."""
    words, begun = [], ""
    for piece in pieces:
        if piece.endswith(CONTINUED):
            begun += piece[: -len(CONTINUED)]
        else:
            words.append(begun + piece)
            begun = ""
    return words, begun


def completing_piece(word: str, begun: str) -> Optional[str]:
    """The piece by which what is begun becomes this word; empty: it has become it; None: it will not at once."""
    return word[len(begun) :] if word.startswith(begun) else None


def segmented(word: str, pieces: Mapping[str, int]) -> Optional[list[str]]:
    """The word in the fewest pieces, and of these in the most frequent; None if it cannot be said.

    Args:
        pieces: {piece: place in the vocabulary}, the most frequent first
    """
    # The best way to write the rest of the word from each position on: (number, places, pieces).
    best: list[Optional[tuple]] = [None] * len(word) + [(0, (), ())]
    for start in range(len(word) - 1, -1, -1):
        for stop in range(start + 1, len(word) + 1):
            piece = word[start:stop] + (CONTINUED if stop < len(word) else "")
            rest = best[stop]
            if piece in pieces and rest is not None:
                way = (rest[0] + 1, (pieces[piece], *rest[1]), (piece, *rest[2]))
                best[start] = min(best[start] or way, way)
    return None if best[0] is None or not word else list(best[0][2])


def in_pieces(budgets: WordBudgets, pieces: Mapping[str, int]) -> WordBudgets:
    """The budgets for a vocabulary. Raises UserError for words that no sequence of its pieces makes."""
    found = {word: segmented(word, pieces) or [] for word in budgets.words}
    unsayable = [word for word, way in found.items() if not way]
    if unsayable:
        raise UserError(
            f"budget: cannot be said with the model's vocabulary: {' '.join(unsayable)}; "
            "write words as summaries do, for example in lower case"
        )
    return budgets._replace(firsts={word: found[word][0] for word in budgets.required})


def spent_words(pieces: Sequence[str], budgets: WordBudgets) -> list[str]:
    """The pieces that an output may not go on with; empty: its end.

    Beside those that would complete a word beyond its budget: while a required word is missing, pieces of
    other words must not look like its beginning.

    Args:
        pieces: of the output so far
    """
    words, begun = words_of(pieces)
    spent = (word for word, limit in budgets.limits.items() if words.count(word) >= limit)
    forbidden = [piece for piece in (completing_piece(word, begun) for word in spent) if piece is not None]
    if begun:
        forbidden += [first for word, first in budgets.firsts.items() if word not in words]
    return forbidden
