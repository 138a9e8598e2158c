"""N-gram blocking by hand; against literal loops: unit/generation/rules/."""

import torch

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


def test_ignored_words_by_hand():
    generated = torch.tensor([[5, 6, 7, 5, 6], [5, 6, 5, 7, 5]])
    # "5 6 7" may come again if any of its words is ignored.
    for ignored in (5, 6, 7):
        assert not repeating_words(generated, 3, FILLER, torch.tensor([ignored])).any()
    # Row two: after 5 came 6, which is ignored, and 7, which is not.
    found = repeating_words(generated, 2, FILLER, torch.tensor([6, 9]))
    assert found.tolist() == [[0, 0, 0, 0], [0, 0, 7, 0]]
