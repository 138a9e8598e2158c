"""Where the words of summaries come from, by hand."""

import pytest

from wfe_plugin.errors import UserError
from wfe_plugin.evaluation.grounding import grounding, words


def test_shares_by_hand():
    found = grounding(
        outputs=["Japan cuts rates again", "bank bank dollar", ""],
        sources=["japan 's bank cuts rates .", "the bank said nothing", "nothing"],
        references=[["japan eases", "rates fall again"], ["dollar steady"], ["x"]],
    )
    # Of seven words, five are in their source (japan cuts rates, bank bank); "again" and "dollar"
    # are in a reference, so that nothing is invented.
    assert found.copied == pytest.approx(100 * 5 / 7)
    assert found.invented == 0


def test_invented_words_are_counted_each_time():
    found = grounding(["gold gold falls", "oil"], ["silver falls", "oil"], [["gold"], ["oil"]])
    assert (found.copied, found.invented) == (50, 0)
    found = grounding(["tin tin falls", "oil"], ["silver falls", "oil"], [["gold"], ["oil"]])
    assert (found.copied, found.invented) == (50, 50)


def test_a_word_of_another_sentence_does_not_count():
    assert grounding(["a", "b"], ["b", "a"], [["b"], ["a"]]).invented == 100


def test_outputs_without_words():
    found = grounding(["", "..."], ["a", "b"], [["a"], ["b"]])
    assert (found.copied, found.invented) == (0, 0)


def test_words_lose_case_and_punctuation():
    assert words('"U.S. trade," said O\'Neill: ##-year') == ["u", "s", "trade", "said", "o", "neill", "##", "year"]


def test_one_of_each_per_sentence():
    with pytest.raises(UserError, match="1 outputs, 2 sources"):
        grounding(["a"], ["a", "b"], [["a"]])
