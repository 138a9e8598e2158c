"""Budgets of whole words under BPE, against what happens to the text itself."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wfe_plugin.errors import UserError
from wfe_plugin.method.word_budgets import WordBudgets, completing_piece, in_pieces, segmented, spent_words, words_of

PIECES = ["a", "b", "ab", "ba", "a@@", "b@@", "ab@@"]


def text(pieces):
    """As fairseq removes BPE."""
    return (" ".join(pieces) + " ").replace("@@ ", "").split()


def test_parsing():
    budgets = WordBudgets({"germany": 0, "a=b": 2}, ("olympics",))
    assert WordBudgets.of("germany=0 a=b=2 olympics=+") == budgets
    assert WordBudgets.of({"germany": 0, "a=b": 2, "olympics": "+"}) == budgets
    assert WordBudgets.of(budgets) is budgets
    assert WordBudgets.of(None) is None
    assert WordBudgets.of("") == WordBudgets({})


@pytest.mark.parametrize("wrong", ["germany", "=1", "germany=-1", "germany=x", "germany=0.5", "a=1 a=+", {"a": None}])
def test_what_is_no_budget(wrong):
    with pytest.raises(UserError, match="budget"):
        WordBudgets.of(wrong)


def test_those_of_a_sentence_win():
    common = WordBudgets.of("a=0 b=+ c=1")
    assert common.updated(WordBudgets.of("a=+ b=2 d=0")) == WordBudgets({"c": 1, "b": 2, "d": 0}, ("a",))
    assert common.updated(None) == common


def test_completing_piece_by_hand():
    assert completing_piece("germany", "") == "germany"
    assert completing_piece("germany", "ger") == "many"
    assert completing_piece("germany", "germany") == ""
    assert completing_piece("germany", "gem") is None


@given(st.lists(st.sampled_from(PIECES), max_size=6))
def test_words_are_those_of_the_text(pieces):
    words, begun = words_of(pieces)
    assert words + ([begun] if begun else []) == text(pieces)


@given(st.lists(st.sampled_from(PIECES), max_size=6), st.sampled_from(["a", "ab", "aab", "abba"]), st.integers(0, 2))
def test_what_is_forbidden_is_what_would_go_beyond_the_budget(pieces, word, limit):
    """Each next piece, and the end, is forbidden if and only if it completes the word once too often."""
    forbidden = spent_words(pieces, WordBudgets({word: limit}))
    before = words_of(pieces)[0].count(word)
    for piece in PIECES:
        after = words_of([*pieces, piece])[0].count(word)
        assert (piece in forbidden) == (after > before and after > limit)
    assert ("" in forbidden) == (text(pieces).count(word) > before >= limit)


def test_no_other_word_looks_like_a_required_one():
    budgets = in_pieces(WordBudgets({}, ("ba", "aab")), {piece: place for place, piece in enumerate(PIECES)})
    assert budgets.firsts == {"ba": "ba", "aab": "a@@"}
    assert spent_words(["ab"], budgets) == []
    assert spent_words(["ab", "b@@"], budgets) == ["ba", "a@@"]
    assert spent_words(["ba", "b@@"], budgets) == ["a@@"]


def test_segmentation_has_the_fewest_pieces_and_of_these_the_most_frequent():
    pieces = {piece: place for place, piece in enumerate(PIECES)}
    for word in map("".join, itertools.product("ab", repeat=4)):
        found = segmented(word, pieces)
        ways = [
            way
            for number in range(1, 5)
            for way in itertools.product(PIECES, repeat=number)
            if words_of(way) == ([word], "")
        ]
        best = min(ways, key=lambda way: (len(way), [pieces[piece] for piece in way]))
        assert found == list(best)
    assert segmented("abc", pieces) is None
    assert segmented("", pieces) is None


def test_words_that_cannot_be_said():
    pieces = {piece: place for place, piece in enumerate(PIECES)}
    in_pieces(WordBudgets.of("abab=0 b=+"), pieces)
    with pytest.raises(UserError, match="cannot be said.*: abc x;"):
        in_pieces(WordBudgets.of("a=0 abc=1 x=+"), pieces)
