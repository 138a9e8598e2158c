"""ROUGE in Python: its parts against literal ones, and bad input."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wfe_plugin.errors import UserError
from wfe_plugin.evaluation import rouge_python
from wfe_plugin.evaluation.rouge import rouge
from wfe_plugin.evaluation.rouge_protocol import MEASURES
from wfe_plugin.evaluation.stemmer import RougeStemmer, porter_stem


def values(result, metric):
    return tuple(result.scores[metric][measure].value for measure in MEASURES)


@pytest.mark.parametrize(
    "word, stem",
    [
        # step 1
        ("caresses", "caress"), ("ponies", "poni"), ("cats", "cat"), ("glass", "glass"),
        ("agreed", "agre"), ("feed", "feed"), ("conflated", "conflat"), ("hopping", "hop"),
        ("falling", "fall"), ("filing", "file"), ("string", "string"), ("happy", "happi"),
        # steps 2 and 3
        ("relational", "relat"), ("conditional", "condit"), ("digitizer", "digit"),
        ("vietnamization", "vietnam"), ("hopefulness", "hope"), ("electrical", "electr"),
        # step 4 and ROUGE's chain of suffixes
        ("allowance", "allow"), ("replacement", "replac"), ("adoption", "adopt"),
        ("governmental", "govern"), ("cement", "cement"), ("element", "elem"),
        # step 5 and the letter y
        ("probate", "probat"), ("rate", "rate"), ("controll", "control"), ("sying", "sy"),
        ("yelling", "yell"),
    ],
)  # fmt: skip
def test_porter_stems(word, stem):
    assert porter_stem(word) == stem


def test_exceptions_come_before_the_rules_and_short_words_before_both():
    stem = RougeStemmer({"geese": "goose", "ran": "run"})
    assert [stem(word) for word in ("geese", "ran", "cats", "bus")] == ["goose", "ran", "cat", "bus"]


def literal_lcs(left, right):
    table = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            table[i + 1][j + 1] = table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


@given(st.text("abcd", max_size=40), st.text("abcd", max_size=40))
def test_longest_common_subsequence(left, right):
    assert rouge_python.longest_common_subsequence(left, right) == literal_lcs(left, right)


def literal_matches(hypothesis, reference, size):
    left = [hypothesis[i : i + size] for i in range(len(hypothesis) - size + 1)]
    matches = 0
    for i in range(len(reference) - size + 1):
        if reference[i : i + size] in left:
            left.remove(reference[i : i + size])
            matches += 1
    return matches


@settings(deadline=None)
@given(st.lists(st.sampled_from("abc"), min_size=2), st.lists(st.sampled_from("abc"), min_size=2))
def test_ngram_recall_and_precision(hypothesis, reference):
    result = rouge([" ".join(hypothesis)], [[" ".join(reference)]], implementation="python")
    for size, metric in ((1, "rouge-1"), (2, "rouge-2")):
        matches = literal_matches(hypothesis, reference, size)
        recall, precision, _ = values(result, metric)
        assert recall == pytest.approx(100 * matches / (len(reference) - size + 1), abs=0.001)
        assert precision == pytest.approx(100 * matches / (len(hypothesis) - size + 1), abs=0.001)


def literal_perl_bootstrap(scores):
    """Resample as ROUGE-1.5.5 does, with Perl's srand and rand spelt out."""
    means = []
    for seed in range(1000):
        state = (seed << 16) + 0x330E
        total = 0.0
        for _ in scores:
            state = (state * 0x5DEECE66D + 0xB) % 2**48
            total += scores[int(state / 2**48 * len(scores))]
        means.append(total / len(scores))
    means.sort()
    return sum(means) / 1000, means[25], means[974]


def test_bootstrap_draws_what_perl_draws():
    numbers = random.Random(1)
    scores = [numbers.random() for _ in range(37)]
    result = rouge_python._bootstrap(np.array(scores).reshape(-1, 1, 1))
    assert [float(part[0, 0]) for part in result] == pytest.approx(literal_perl_bootstrap(scores))


@settings(deadline=None)
@given(st.lists(st.text("ab c", min_size=1), min_size=1, max_size=5))
def test_a_copy_of_the_reference_is_perfect(texts):
    result = rouge(texts, [[text] for text in texts], implementation="python")
    expected = [100.0 if text.strip() else 0.0 for text in texts]
    assert result.sentence_scores["rouge-1"]["f1"] == expected


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((["a"], []), "1 hypotheses but references for 0 sentences"),
        (([], []), "nothing to score"),
        ((["a", "b"], [["a"], "b"]), "sentence 2: expected a list"),
        ((["a"], [[]]), "sentence 1: expected a list"),
        ((["a"], [["a"]], "cnn"), "'cnn': choose one of: gigaword, duc2004"),
        ((["a"], [["a"]], "gigaword", "ruby"), "'ruby': choose one of: auto"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(UserError, match=message):
        rouge(*arguments)
