"""Random sentences: words as frequent as Zipf says, lengths as headlines have them."""

from __future__ import annotations

import functools

import torch
from fairseq.data import Dictionary, LanguagePairDataset

from benchmarks.sizes import Sizes

SEED = 1
BATCHES = 16  # batches are cut from so many batches' pairs, sorted by length


@functools.lru_cache(maxsize=4)
def dictionary(words: int) -> Dictionary:
    """With `words` entries, fairseq's own symbols among them."""
    made = Dictionary()
    for number in range(words - len(made)):
        made.add_symbol(f"w{number}")
    return made


def zipf_sentences(count: int, mean_length: int, words: Dictionary, generator: torch.Generator) -> list[torch.Tensor]:
    """Sentences of `mean_length` words and more or less, the end of the sentence included."""
    spread = mean_length / 4
    lengths = (mean_length + spread * torch.randn(count, generator=generator)).round().long()
    lengths = lengths.clamp(2, 2 * mean_length)
    ranks = torch.arange(1, len(words) - words.nspecial + 1, dtype=torch.float64)
    # By the inverse of the distribution function: torch.multinomial takes no more than 2^24 words.
    cumulative = ranks.reciprocal().cumsum(0)
    drawn = torch.rand(int(lengths.sum()), generator=generator, dtype=torch.float64) * cumulative[-1]
    tokens = torch.searchsorted(cumulative, drawn).clamp(max=len(ranks) - 1) + words.nspecial
    sentences = list(tokens.split(lengths.tolist()))
    for sentence in sentences:
        sentence[-1] = words.eos()
    return sentences


def middle_batch(sizes: Sizes, batch: int) -> dict:
    """A batch of pairs with lengths about the mean, as fairseq makes it.

    fairseq sorts the pairs by length before it cuts them into batches, for training and for
    decoding, so that the sources of a batch are about equally long.
    """
    generator = torch.Generator().manual_seed(SEED)
    count = BATCHES * batch
    source_words, target_words = dictionary(sizes.source_words), dictionary(sizes.target_words)
    sources = zipf_sentences(count, sizes.source_length, source_words, generator)
    targets = zipf_sentences(count, sizes.target_length, target_words, generator)
    pairs = LanguagePairDataset(
        sources,
        [len(sentence) for sentence in sources],
        source_words,
        targets,
        [len(sentence) for sentence in targets],
        target_words,
        shuffle=False,
    )
    start = count // 2
    chosen = pairs.ordered_indices()[start : start + batch]
    return pairs.collater([pairs[index] for index in chosen])
