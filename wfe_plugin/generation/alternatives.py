"""The alternatives to a learnt bound: what the user asks for, checked."""

from dataclasses import dataclass, field, fields
from typing import Optional

from fairseq.dataclass import FairseqDataclass

from wfe_plugin.option_values import option_of, require


@dataclass
class AlternativesConfig(FairseqDataclass):
    """Options of the task; `--no-repeat-ngram-size` is fairseq's own."""

    ignore_when_blocking: str = field(
        default="",
        metadata={
            "help": "words (with BPE: pieces) that may repeat although "
            "--no-repeat-ngram-size is given, separated by spaces and written as in the "
            "dictionary: an n-gram with one of them is not blocked"
        },
    )
    word_cap: int = field(
        default=0,
        metadata={"help": "each word (with BPE: piece) at most so many times in an output; 0 means no cap"},
    )
    repetition_penalty: float = field(
        default=1.0,
        metadata={
            "help": "multiply the log-probability of every word that the output has "
            "already (CTRL, Keskar et al. 2019); 1 means no penalty"
        },
    )
    frequency_penalty: float = field(
        default=0.0,
        metadata={
            "help": "subtract this from a word's log-probability once for each time that "
            "the output has it already; 0 means no penalty"
        },
    )
    presence_penalty: float = field(
        default=0.0,
        metadata={
            "help": "subtract this from the log-probability of every word that the output "
            "has already, however often; 0 means no penalty"
        },
    )
    coverage_penalty: float = field(
        default=0.0,
        metadata={
            "help": "beta of the coverage penalty of Wu et al. (2016, Equation 14): of the "
            "finished outputs of the beam, prefer those whose attention has covered the "
            "source; 0 means no penalty"
        },
    )
    gnmt_length_penalty: Optional[float] = field(
        default=None,
        metadata={
            "help": "alpha of the length penalty of Wu et al. (2016, Equation 14) for the "
            "finished outputs of the beam, in the place of fairseq's division by the "
            "length (--lenpen and --unnormalized have no effect then); 0 means scores "
            "that are not normalised"
        },
    )


# The largest that makes sense; far beyond, scores would overflow to -inf.
RANGES = {
    "repetition_penalty": (1.0, 1000.0),
    "frequency_penalty": (0.0, 1000.0),
    "presence_penalty": (0.0, 1000.0),
    "coverage_penalty": (0.0, 1000.0),
    "gnmt_length_penalty": (0.0, 10.0),
}


@dataclass(frozen=True)
class Alternatives:
    """What is to be done against repetition, beside or instead of the bound."""

    no_repeat_ngram_size: int = 0
    ignored_words: tuple[int, ...] = ()  # n-grams with one of them may repeat
    word_cap: int = 0
    repetition_penalty: float = 1.0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    coverage_penalty: float = 0.0
    gnmt_length_penalty: Optional[float] = None

    def options(self) -> list[str]:
        """The options that are on, as the user writes them."""
        off = Alternatives()
        return [
            f"{option_of(field.name)} {getattr(self, field.name)}"
            for field in fields(self)
            if field.name != "ignored_words" and getattr(self, field.name) != getattr(off, field.name)
        ]

    @property
    def penalizes_words(self) -> bool:
        return self.repetition_penalty != 1.0 or self.frequency_penalty != 0.0 or self.presence_penalty != 0.0

    @property
    def ranks_outputs(self) -> bool:
        return self.coverage_penalty != 0.0 or self.gnmt_length_penalty is not None


def requested_alternatives(config, args, dictionary) -> Alternatives:
    """Read and check the options; raises ValueError for values that make no sense.

    Args:
        config: the task's options
        args: fairseq's options of generation, and any that override the task's
        dictionary: of the target language
    """

    def value(name):
        return getattr(args, name, getattr(config, name, None))

    size = getattr(args, "no_repeat_ngram_size", 0)
    longest = getattr(args, "max_len_b", 200)
    require(size >= 0, "--no-repeat-ngram-size", size, "1 or more, or 0 to block none")
    if getattr(args, "max_len_a", 0) == 0 and size > max(longest, 0):
        raise ValueError(
            f"--no-repeat-ngram-size {size} is larger than the maximum length, "
            f"--max-len-b {longest}: nothing could ever be blocked"
        )
    cap = value("word_cap")
    require(cap >= 0, "--word-cap", cap, "1 or more, or 0 for no cap")
    for name, (least, most) in RANGES.items():
        given = value(name)
        if given is not None:
            require(least <= given <= most, option_of(name), given, f"from {least:g} to {most:g}")
    words = (value("ignore_when_blocking") or "").split()
    if words and size == 0:
        raise ValueError(
            "--ignore-when-blocking names words that may repeat although n-grams are "
            "blocked: give --no-repeat-ngram-size, too"
        )
    unknown = [word for word in words if word not in dictionary]
    if unknown:
        raise ValueError(
            f"--ignore-when-blocking: not in the target dictionary: {' '.join(unknown)}; "
            "write them as they are there (in lower case, for example, or BPE pieces with @@)"
        )
    return Alternatives(
        no_repeat_ngram_size=size,
        ignored_words=tuple(dictionary.index(word) for word in words),
        word_cap=value("word_cap"),
        **{name: value(name) for name in RANGES},
    )
