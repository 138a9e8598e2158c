"""The stemmer of ROUGE-1.5.5: WordNet's irregular forms, then Porter's rules.

ROUGE-1.5.5 departs from Porter (1980) in step 4: it tries ``-ment``, ``-ent`` and
``-ion`` *after* another suffix was removed, so ``governmental`` becomes ``govern``
where other Porter stemmers (nltk's, hence rouge-score's) stop at ``government``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

SHORTEST_STEMMED_WORD = 4

# A suffix and its replacement, for stems of measure > 0.
STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize",
    "bli": "ble", "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous",
    "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al", "iveness": "ive",
    "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
    "logi": "log",
}  # fmt: skip
STEP_3 = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": "",
}  # fmt: skip
# Suffixes dropped from stems of measure > 1; "ment", "ent" and "ion" are tried afterwards.
STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
)  # fmt: skip


def read_exceptions(directory: str | Path) -> dict[str, str]:
    """Map irregular forms to base forms, from WordNet's ``*.exc`` files.

    Four words have different base forms in two files (``better`` is "good" as an
    adjective, "well" as an adverb); the last file in alphabetical order wins, here
    and in the database that the Perl script reads.
    """
    exceptions = {}
    for path in sorted(Path(directory).glob("*.exc")):
        for line in path.read_text(encoding="utf-8").splitlines():
            irregular, base, *_ = line.split()
            exceptions[irregular] = base
    return exceptions


class RougeStemmer:
    """Stem lower-case words as ROUGE-1.5.5 does under its option ``-m``."""

    def __init__(self, exceptions: dict[str, str]):
        self.exceptions = exceptions

    def __call__(self, word: str) -> str:
        if len(word) < SHORTEST_STEMMED_WORD:
            return word
        return self.exceptions.get(word) or porter_stem(word)


@lru_cache(maxsize=100_000)
def porter_stem(word: str) -> str:
    word = _plurals(word)
    word = _past_and_progressive(word)
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _replace_suffix(word, STEP_2)
    word = _replace_suffix(word, STEP_3)
    word = _drop_residual_suffixes(word)
    return _tidy_ending(word)


def _shape(word: str) -> str:
    """Write ``c`` for each consonant and ``v`` for each vowel of the word.

    A y is a vowel after a consonant; everything else outside "aeiou" (digits
    too) is a consonant.
    """
    shape = ""
    for letter in word:
        is_vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        shape += "v" if is_vowel else "c"
    return shape


def _measure(word: str) -> int:
    """Count the vowel-consonant sequences: Porter's m."""
    return _shape(word).count("vc")


def _is_short(word: str) -> bool:
    """Whether the word is consonants, one vowel, one consonant, as "hop" is."""
    return bool(re.fullmatch("c+vc", _shape(word))) and word[-1] not in "wxy"


def _longest_suffix(word: str, suffixes) -> str:
    return max((suffix for suffix in suffixes if word.endswith(suffix)), key=len, default="")


def _plurals(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _past_and_progressive(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    stem = word.removesuffix(_longest_suffix(word, ("ed", "ing")))
    if stem == word or "v" not in _shape(stem):
        return word
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if stem[-1:] == stem[-2:-1] and stem[-1] not in "aeiouylsz":
        return stem[:-1]
    return stem + "e" if _is_short(stem) else stem


def _replace_suffix(word: str, replacements: dict[str, str]) -> str:
    suffix = _longest_suffix(word, replacements)
    stem = word.removesuffix(suffix)
    return stem + replacements[suffix] if suffix and _measure(stem) > 0 else word


def _drop_suffix(word: str, suffix: str) -> str:
    stem = word.removesuffix(suffix)
    return stem if _measure(stem) > 1 else word


def _drop_residual_suffixes(word: str) -> str:
    word = _drop_suffix(word, _longest_suffix(word, STEP_4))
    if word.endswith("ment"):
        word = _drop_suffix(word, "ment")
    if word.endswith("ent"):
        return _drop_suffix(word, "ent")
    if word.endswith(("sion", "tion")):
        return _drop_suffix(word, "ion")
    return word


def _tidy_ending(word: str) -> str:
    if word.endswith("e"):
        stem = word[:-1]
        measure = _measure(stem)
        if measure > 1 or (measure == 1 and not _is_short(stem)):
            word = stem
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word
