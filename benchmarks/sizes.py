"""How large the models and batches are, and how long is measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """One setting. Lengths are means, the end of the sentence included."""

    name: str
    preset: str  # of train.sh: where the optimizer's options come from
    source_words: int  # size of the source vocabulary
    target_words: int
    embedding: int  # D
    hidden: int  # H, of one direction of the encoder and of the decoder
    layers: int
    batch: int  # sentences in a training batch
    decoding_batch: int = 32
    source_length: int = 30
    target_length: int = 9
    output_length: int = 20  # words of every output, so that all searches take the same steps

    @property
    def steps(self) -> int:
        """Of a search: the words of an output, and the end of the sentence."""
        return self.output_length + 1


PAPER = Sizes("paper", "paper", 119_507, 68_887, embedding=200, hidden=400, layers=2, batch=256)
SMALL = Sizes("small", "small", 10_000, 10_000, embedding=128, hidden=160, layers=1, batch=32)
# Where growth curves start from beside SMALL: the paper's model, with fewer words and sentences.
GROWTH = Sizes("growth", "paper", 20_000, 20_000, embedding=200, hidden=400, layers=2, batch=32)
SETTINGS = {sizes.name: sizes for sizes in (PAPER, SMALL)}


@dataclass(frozen=True)
class Plan:
    """What is measured, and how often. Every measurement has one more round, to warm up."""

    training_rounds: dict[str, int]  # by the name of the sizes
    decoding_rounds: dict[tuple[str, int], int]  # by the name of the sizes and the beam
    seconds: int  # after which such a measurement begins no further round
    memory_of: tuple[tuple[str, str, int], ...]  # contender, name of the sizes, beam; a beam of 0 trains
    minutes: int  # after which growth is measured no further
    growth_rounds: int
    vocabularies: tuple[int, ...]
    batches: tuple[int, ...]
    lengths: tuple[int, ...]  # of the source
    beams: tuple[int, ...]
    mask_rounds: int
    preprocessing: tuple[int, ...]  # numbers of pairs
    texts: int  # that one process decodes, and two


FULL = Plan(
    training_rounds={"paper": 7, "small": 25},
    decoding_rounds={
        ("paper", 1): 7,
        ("paper", 5): 7,
        ("paper", 10): 3,
        ("small", 1): 9,
        ("small", 5): 9,
        ("small", 10): 9,
    },
    seconds=150,
    memory_of=(
        *((key, "paper", 0) for key in ("stock", "encdec", "literal", "shipped")),
        *((key, "small", 0) for key in ("stock", "encdec", "shipped", "votes", "estimate")),
        *((key, "paper", 5) for key in ("stock", "shipped")),
        *((key, "small", 5) for key in ("stock", "shipped", "votes", "stock_transformer", "votes_transformer")),
    ),
    minutes=27,
    growth_rounds=1,
    vocabularies=(5_000, 20_000, 69_000, 200_000),
    batches=(8, 32, 64, 128),
    lengths=(15, 30, 60, 120),
    beams=(1, 2, 5, 10),
    mask_rounds=25,
    preprocessing=(50_000, 200_000),
    texts=8000,
)
QUICK = Plan(
    training_rounds={"paper": 3, "small": 10},
    decoding_rounds={
        ("paper", 1): 2,
        ("paper", 5): 3,
        ("small", 1): 3,
        ("small", 5): 3,
        ("small", 10): 3,
    },
    seconds=30,
    memory_of=(("encdec", "paper", 0), ("shipped", "paper", 0)),  # those that a goal is about
    minutes=4,
    growth_rounds=1,
    vocabularies=(5_000, 20_000, 69_000),
    batches=(8, 32),
    lengths=(15, 30),
    beams=(1, 5),
    mask_rounds=9,
    preprocessing=(10_000, 40_000),
    texts=2000,
)
