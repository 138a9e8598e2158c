"""Each rule of a step against literal loops over plain Python numbers."""

import math
from collections import Counter

import pytest
import torch
from fairseq.data import Dictionary
from hypothesis import given
from hypothesis import strategies as st

from wfe_plugin.errors import UserError
from wfe_plugin.generation.batch import Sentences
from wfe_plugin.generation.options import DecodingConfig
from wfe_plugin.generation.rules import rules_of_step
from wfe_plugin.generation.rules.frequency_bound import WithinFrequencies
from wfe_plugin.generation.rules.minimum_length import MinimumLength
from wfe_plugin.generation.rules.ngram_blocking import NgramBlocking
from wfe_plugin.generation.rules.out_of_source import OutOfSourcePenalty
from wfe_plugin.generation.rules.rule import StepContext
from wfe_plugin.generation.rules.word_cap import WordCap
from wfe_plugin.generation.rules.word_penalties import WordPenalties
from wfe_plugin.generation.rules.word_reward import WordReward
from wfe_plugin.method.bound import LAST_RESORT, frequency_bound
from wfe_plugin.method.estimator import FrequencyEstimate

VOCABULARY = 9
PAD, EOS = 1, 2
INF = float("inf")
EXEMPT = torch.tensor([EOS, 5])


@st.composite
def steps(draw):
    """A beam of two sentences with two hypotheses each, words of the sources, a prefix and constraints."""
    word = st.integers(3, VOCABULARY - 1)
    length = draw(st.integers(0, 6))

    def rows(number, length):
        return draw(st.lists(st.lists(word, min_size=length, max_size=length), min_size=number, max_size=number))

    return rows(4, length), rows(2, draw(st.integers(1, 4))), rows(2, draw(st.integers(0, 4))), rows(2, 3)


def context(generated, sources=None, prefix=None, constraints=None, **facts):
    def tensor(rows):
        return None if rows is None else torch.tensor(rows, dtype=torch.long).view(len(rows), -1)

    sentences = Sentences(
        2, source_words=tensor(sources), prefix=tensor(prefix), constraints=tensor(constraints), **facts
    )
    return StepContext(tensor(generated), sentences)


def scores(rows=4):
    return torch.log_softmax(torch.randn(rows, VOCABULARY, generator=torch.Generator().manual_seed(rows)), dim=1)


def compare(rule, step, literal):
    """Args: literal: from (row, word, score before) to the expected score."""
    lprobs = scores()
    before = lprobs.tolist()
    assert rule(lprobs, step) is None
    expected = [[literal(row, word, score) for word, score in enumerate(line)] for row, line in enumerate(before)]
    for found, line in zip(lprobs.tolist(), expected):
        assert found == pytest.approx(line, abs=1e-4)


@given(steps(), st.floats(1, 3), st.floats(0, 2), st.floats(0, 2))
def test_word_penalties(case, theta, alpha, beta):
    generated, *_ = case

    def literal(row, word, score):
        count = generated[row].count(word)
        return score if count == 0 or word in EXEMPT else theta * score - alpha * count - beta

    compare(WordPenalties(theta, alpha, beta, EXEMPT), context(generated), literal)


@given(steps(), st.randoms(use_true_random=False))
def test_within_frequencies(case, random):
    generated, *_ = case
    r = [[round(random.uniform(-1, 3), 3) for _ in range(VOCABULARY)] for _ in range(2)]
    g = [[random.uniform(-4, 4) for _ in range(VOCABULARY)] for _ in range(2)]

    def literal(row, word, score):
        left = min(1.0, max(0.0, r[row // 2][word]) - generated[row].count(word))
        return score + math.log(left) - math.log1p(math.exp(-g[row // 2][word])) if left > 0 else -INF

    bound = frequency_bound(FrequencyEstimate(torch.tensor(r), torch.tensor(g)))
    compare(WithinFrequencies(), context(generated, bound=bound), literal)


def test_no_bound_without_an_estimate():
    compare(WithinFrequencies(), context([[4]] * 4), lambda row, word, score: score)


@given(steps(), st.floats(-2, 2))
def test_word_reward(case, reward):
    generated, *_ = case

    def literal(row, word, score):
        if word == EOS or (reward > 0 and word in generated[row]):
            return score
        return score + reward

    compare(WordReward(reward, EOS), context(generated), literal)


@given(steps(), st.floats(0, 5))
def test_out_of_source_penalty(case, penalty):
    generated, sources, *_ = case

    def literal(row, word, score):
        return score if word in sources[row // 2] or word in EXEMPT else score - penalty

    compare(OutOfSourcePenalty(penalty, EXEMPT), context(generated, sources), literal)


@given(steps(), st.integers(1, 3), st.booleans(), st.booleans())
def test_word_cap(case, cap, with_prefix, with_constraints):
    generated, _, prefix, constraints = case

    def literal(row, word, score):
        wished = Counter(
            (prefix[row // 2] if with_prefix else []) + (constraints[row // 2] if with_constraints else [])
        )
        if word in EXEMPT or generated[row].count(word) < max(cap, wished[word]):
            return score
        return score + math.log(LAST_RESORT) if with_constraints and word in constraints[row // 2] else -INF

    step = context(generated, None, prefix if with_prefix else None, constraints if with_constraints else None)
    compare(WordCap(cap, EXEMPT), step, literal)


@given(steps(), st.integers(1, 3), st.booleans(), st.booleans())
def test_ngram_blocking(case, n, with_prefix, with_constraints):
    generated, _, prefix, constraints = case
    ignored = [6]

    def literal(row, word, score):
        words = generated[row]
        allowed = [EOS, *(constraints[row // 2] if with_constraints else [])]
        if with_prefix:
            allowed += prefix[row // 2][len(words) : len(words) + 1]
        gram = [*words[len(words) - n + 1 :], word] if n > 1 else [word]
        earlier = [words[i : i + n] for i in range(len(words) - n + 1)]
        blocked = len(words) >= n and gram in earlier and word not in allowed and not set(gram) & set(ignored)
        return -INF if blocked or (word == PAD and len(words) >= n) else score

    step = context(generated, None, prefix if with_prefix else None, constraints if with_constraints else None)
    rule = NgramBlocking(n, torch.tensor(ignored), PAD, EOS)
    lprobs = scores()
    expected = [[literal(row, word, s) for word, s in enumerate(line)] for row, line in enumerate(lprobs.tolist())]
    rule(lprobs, step)
    # Padding, which is never chosen, stands at places where nothing is blocked.
    for found, line in zip(lprobs.tolist(), expected):
        found[PAD] = line[PAD] = -INF
        assert found == line


@pytest.mark.parametrize("length, minimum, forbidden", [(0, 1, True), (1, 1, False), (3, 5, True), (2, 0, False)])
def test_minimum_length(length, minimum, forbidden):
    step = context([[4] * length] * 4)

    def literal(row, word, score):
        return -INF if word == EOS and forbidden else score

    compare(MinimumLength(minimum, EOS), step, literal)


def test_minimum_length_leaves_the_last_way_out():
    lprobs = torch.full((4, VOCABULARY), -INF)
    lprobs[:, EOS] = -1.0
    lprobs[1, 7] = -2.0
    MinimumLength(3, EOS)(lprobs, context([[4]] * 4))
    assert lprobs[:, EOS].tolist() == [-1.0, -INF, -1.0, -1.0]


class TestShortVocabulary:
    """The search knows special symbols and three words of the dictionary: 4, 6 and 8."""

    vocabulary = torch.tensor([0, 1, 2, 3, 4, 6, 8])

    def found(self, rule, generated, **facts):
        lprobs = torch.zeros(2, 7)
        rule(lprobs, StepContext(torch.tensor(generated), Sentences(2, vocabulary=self.vocabulary, **facts)))
        return lprobs.tolist()

    def test_exempt_words_are_those_of_the_dictionary(self):
        exempt = torch.tensor([EOS, 6, 5])  # 5 is not in the vocabulary, 6 is at its place 5
        assert self.found(WordCap(1, exempt), [[4, 5], [6, 6]]) == [[0, 0, 0, 0, -INF, 0, 0], [0, 0, 0, 0, 0, 0, -INF]]
        penalty = OutOfSourcePenalty(2.0, exempt)
        assert self.found(penalty, [[4], [4]], source_words=torch.tensor([[4], [6]])) == [
            [-2, -2, 0, -2, 0, 0, -2],
            [-2, -2, 0, -2, -2, 0, 0],
        ]

    def test_ignored_words_are_those_of_the_dictionary(self):
        rule = NgramBlocking(1, torch.tensor([6]), PAD, EOS)
        assert self.found(rule, [[5, 4], [6, 5]]) == [[0, -INF, 0, 0, -INF, 0, 0], [0, -INF, 0, 0, 0, 0, -INF]]


def dictionary():
    dictionary = Dictionary()
    for word in ("of", "the", "gold"):
        dictionary.add_symbol(word)
    return dictionary


def resolved(**options):
    return DecodingConfig(wfe_decoding="off", **options).resolved([])[0]


def test_rules_come_in_order():
    options = DecodingConfig(
        wfe_decoding="oracle", word_cap=1, out_of_source_penalty=2.0, word_reward=0.5, presence_penalty=1.0
    )
    rules = rules_of_step(options.resolved([])[0], dictionary(), no_repeat_ngram_size=2)
    expected = [WordPenalties, WithinFrequencies, WordReward, OutOfSourcePenalty, WordCap, NgramBlocking]
    assert [type(rule) for rule in rules] == expected


def test_no_option_no_rule():
    assert rules_of_step(resolved(), dictionary()) == []


def test_words_of_options():
    (rule,) = rules_of_step(resolved(word_cap=1, exempt_words=" of  the "), dictionary())
    assert set(rule.exempt.tolist()) == {EOS, 4, 5}
    (rule,) = rules_of_step(resolved(out_of_source_penalty=1.0, exempt_words="gold"), dictionary())
    assert set(rule.exempt.tolist()) == {0, PAD, EOS, 3, 6}
    with pytest.raises(UserError, match="--exempt-words: not in the target dictionary: silver"):
        rules_of_step(resolved(word_cap=1, exempt_words="gold silver"), dictionary())
