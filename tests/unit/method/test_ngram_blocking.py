"""N-gram blocking against literal loops."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers.literal_scores import literal_repeating_words
from wfe_plugin.method.ngram_blocking import repeating_words

FILLER = 0


def test_by_hand():
    generated = torch.tensor([[5, 6, 7, 5, 6], [5, 6, 5, 7, 5]])
    # Trigrams: "5 6 7" again? after "5 6": 7. Row two ends in "7 5", never seen before.
    assert repeating_words(generated, 3, FILLER).tolist() == [[7, 0, 0], [0, 0, 0]]
    # Bigrams: after 6 came 7; after 5 came 6 and 7.
    assert repeating_words(generated, 2, FILLER).tolist() == [[0, 7, 0, 0], [6, 0, 7, 0]]
    # Single words: all that were said.
    assert repeating_words(generated, 1, FILLER).tolist() == generated.tolist()


@given(st.lists(st.integers(3, 6), max_size=10), st.integers(1, 5))
def test_against_literal_loops(words, n):
    generated = torch.tensor([words]).long().view(1, len(words))
    blocked = set(repeating_words(generated, n, FILLER)[0].tolist()) - {FILLER}
    assert blocked == literal_repeating_words(words, n)


def test_ignored_words_by_hand():
    generated = torch.tensor([[5, 6, 7, 5, 6], [5, 6, 5, 7, 5]])
    # "5 6 7" may come again if any of its words is ignored.
    for ignored in (5, 6, 7):
        assert not repeating_words(generated, 3, FILLER, torch.tensor([ignored])).any()
    # Row two: after 5 came 6, which is ignored, and 7, which is not.
    found = repeating_words(generated, 2, FILLER, torch.tensor([6, 9]))
    assert found.tolist() == [[0, 0, 0, 0], [0, 0, 7, 0]]


@given(
    st.lists(st.integers(3, 6), max_size=10),
    st.integers(1, 4),
    st.lists(st.integers(3, 6), min_size=1, max_size=2),
)
def test_ignored_words_against_literal_loops(words, n, ignored):
    generated = torch.tensor([words]).long().view(1, len(words))
    blocked = repeating_words(generated, n, FILLER, torch.tensor(ignored))
    assert set(blocked[0].tolist()) - {FILLER} == literal_repeating_words(words, n, ignored)
