"""Repetition rates, by hand and against a literal count."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wfe_plugin.errors import UserError
from wfe_plugin.evaluation.repetition import is_content_word, repetition


def test_rates_by_hand():
    rates = repetition(
        [
            "the end of the line",  # a function word twice; 1 of 5 words is a repetition
            "germany beats germany",  # a content word twice; 1 of 3
            "pinochet 's case pinochet 's",  # a bigram twice; 2 of 5 words, 1 of 4 bigrams
            "nothing is said twice here",
            "",
        ]
    )
    assert rates.outputs == 5
    assert rates.any_word == pytest.approx(100 * 3 / 5)
    assert rates.content_word == pytest.approx(100 * 2 / 5)
    assert rates.bigram == pytest.approx(100 * 1 / 5)
    assert rates.rep_1 == pytest.approx(100 * (1 / 5 + 1 / 3 + 2 / 5) / 5)
    assert rates.rep_2 == pytest.approx(100 * (1 / 4) / 5)
    assert rates.mean_length == pytest.approx((5 + 3 + 5 + 5 + 0) / 5)


def test_case_does_not_distinguish_words():
    assert repetition(["China meets china"]).content_word == 100


@pytest.mark.parametrize(
    "token, expected",
    [
        ("germany", True),
        ("caf\u00e9", True),
        ("u.s.", True),
        ("the", False),
        ("'s", False),
        ("--", False),
        ("####", False),
        ("2004", False),
        ("<unk>", False),
    ],
)
def test_content_words(token, expected):
    assert is_content_word(token) is expected


def test_function_words_of_other_languages():
    """By hand: "die" is a function word of German alone."""
    lines = ["die bank und die börse", "bank kauft bank"]
    assert repetition(lines, "de").content_word == 50
    assert repetition(lines).content_word == 100
    assert repetition(lines, "ja").content_word is None and repetition(lines, "ja").any_word == 100


def test_three_equal_words_hold_one_bigram_twice():
    rates = repetition(["no no no"])
    assert (rates.bigram, rates.content_word) == (100, 0)
    assert rates.rep_2 == pytest.approx(50)


def test_nothing_to_measure():
    with pytest.raises(UserError, match="at least one output"):
        repetition([])


def literal_repeats(items):
    return any(items[i] == items[j] for i in range(len(items)) for j in range(i + 1, len(items)))


def literal_repeated_share(items):
    seen, repeated = [], 0
    for item in items:
        if item in seen:
            repeated += 1
        seen.append(item)
    return repeated / len(items) if items else 0


@given(st.lists(st.lists(st.sampled_from(["a", "b", "dog", "cat", ","]), max_size=8), min_size=1))
def test_against_a_literal_count(outputs):
    rates = repetition([" ".join(output) for output in outputs])
    bigrams = [[output[i : i + 2] for i in range(len(output) - 1)] for output in outputs]
    content = [[word for word in output if word not in ("a", ",")] for output in outputs]
    share = 100 / len(outputs)
    assert rates.any_word == pytest.approx(share * sum(map(literal_repeats, outputs)))
    assert rates.content_word == pytest.approx(share * sum(map(literal_repeats, content)))
    assert rates.bigram == pytest.approx(share * sum(map(literal_repeats, bigrams)))
    assert rates.rep_1 == pytest.approx(share * sum(map(literal_repeated_share, outputs)))
    assert rates.rep_2 == pytest.approx(share * sum(map(literal_repeated_share, bigrams)))
    assert rates.bigram <= rates.any_word  # a bigram cannot repeat unless its words do
    assert rates.content_word <= rates.any_word
