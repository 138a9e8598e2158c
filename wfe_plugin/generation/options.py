"""The options of decoding, and what they come to for the models at hand."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Optional

from fairseq.dataclass import ChoiceEnum, FairseqDataclass

from wfe_plugin.errors import UserError, check_ranges, option_of
from wfe_plugin.method.bound import DECODING_MODES
from wfe_plugin.method.calibration import PAPER, Calibration
from wfe_plugin.method.word_budgets import WordBudgets

MODES = ("auto", *DECODING_MODES, "off")
WITH_GATES = ("auto", "full", "strict", "gate")
WITH_ESTIMATE = ("full", "strict", "bound", "gate")

# Far beyond, scores would overflow to -inf.
RANGES = {
    **dict.fromkeys(("wfe_gate_weight", "wfe_base_rate_weight"), "[0, 100]"),
    **dict.fromkeys(("wfe_shortlist", "word_cap"), "[0, inf)"),
    "word_reward": "[-100, 100]",
    "repetition_penalty": "[1, 1000]",
    **dict.fromkeys(
        ("out_of_source_penalty", "frequency_penalty", "presence_penalty", "coverage_penalty"), "[0, 1000]"
    ),
    "gnmt_length_penalty": "[0, 10]",
}
# Values with which an option of a rule does nothing.
NEUTRAL = {
    "word_reward": 0.0,
    "out_of_source_penalty": 0.0,
    "word_cap": 0,
    "repetition_penalty": 1.0,
    "frequency_penalty": 0.0,
    "presence_penalty": 0.0,
    "coverage_penalty": 0.0,
    "gnmt_length_penalty": None,
    "budget": "",
}


@dataclass
class DecodingConfig(FairseqDataclass):
    """The task's options of decoding; `--no-repeat-ngram-size` is fairseq's own."""

    wfe_decoding: ChoiceEnum(list(MODES)) = field(  # type: ignore[valid-type]
        default="auto",
        metadata={
            "help": "auto: full, with the weights that the model was calibrated to, or off for models without a "
            "word-frequency estimate; full: the paper's mask; strict: the same, but a word may repeat only up to its "
            "estimated frequency, not its upper bound; bound: only the upper bound on frequencies; gate: only the "
            "occurrence gate; oracle: budgets are the true frequencies in the reference, to see what a perfect "
            "estimate would give (any model); off: no mask, and without any rule below fairseq's own decoding"
        },
    )
    wfe_gate_weight: Optional[float] = field(
        default=None,
        metadata={"help": "weight of the occurrence gate in the mask; default: the model's calibration, or 1"},
    )
    wfe_base_rate_weight: Optional[float] = field(
        default=None,
        metadata={
            "help": "how much of a word's base rate in the training summaries to take out of its gate; "
            "default: the model's calibration, or 0"
        },
    )
    wfe_bound_eos: bool = field(
        default=False,
        metadata={"help": "bound the end of the sentence like any other word; by default it is exempt"},
    )
    wfe_shortlist: int = field(
        default=0,
        metadata={
            "help": "search only among the N words with the highest estimates of each sentence: several times "
            "faster with a large vocabulary; 0: all words"
        },
    )
    word_reward: Optional[float] = field(
        default=None,
        metadata={
            "help": "add this to the score of every new word but the end of the sentence, so that outputs get longer "
            "(any model); default: the model's calibration, or 0"
        },
    )
    out_of_source_penalty: float = field(
        default=0.0,
        metadata={
            "help": "subtract this from the log-probability of every word (with BPE: piece) that the source lacks "
            "(any model); 0: no penalty"
        },
    )
    word_cap: int = field(
        default=0,
        metadata={"help": "each word (with BPE: piece) at most N times per output; 0: no cap"},
    )
    repetition_penalty: float = field(
        default=1.0,
        metadata={
            "help": "multiply the log-probability of every word that the output already has (CTRL, Keskar et al. "
            "2019); 1: no penalty"
        },
    )
    frequency_penalty: float = field(
        default=0.0,
        metadata={
            "help": "subtract this from a word's log-probability for each time that the output already has it; "
            "0: no penalty"
        },
    )
    presence_penalty: float = field(
        default=0.0,
        metadata={
            "help": "subtract this from the log-probability of every word that the output already has, however "
            "often; 0: no penalty"
        },
    )
    exempt_words: str = field(
        default="",
        metadata={
            "help": "words (with BPE: pieces) that --word-cap, the penalties above and --out-of-source-penalty leave "
            "alone, separated by spaces and written as in the dictionary, for example 'of the ,'"
        },
    )
    ignore_when_blocking: str = field(
        default="",
        metadata={
            "help": "words (with BPE: pieces) whose n-grams may repeat despite --no-repeat-ngram-size, separated by "
            "spaces and written as in the dictionary"
        },
    )
    budget: str = field(
        default="",
        metadata={
            "help": "budgets of whole words, for example 'germany=0 pinochet=1 olympics=+': never, at most once, must "
            "appear (any model)"
        },
    )
    coverage_penalty: float = field(
        default=0.0,
        metadata={
            "help": "beta of the coverage penalty of Wu et al. (2016, Equation 14): rank finished outputs higher if "
            "their attention covers the source; 0: no penalty"
        },
    )
    gnmt_length_penalty: Optional[float] = field(
        default=None,
        metadata={
            "help": "alpha of the length penalty of Wu et al. (2016, Equation 14), which ranks finished outputs "
            "instead of fairseq's --lenpen and --unnormalized; 0: scores are not normalised"
        },
    )

    @classmethod
    def of(cls, *holders) -> "DecodingConfig":
        """Each option as the first holder has it that has it at all: the caller's, then the task's."""
        values = {}
        for option in fields(cls):
            for holder in holders:
                if option.name != "_name" and hasattr(holder, option.name):
                    values[option.name] = getattr(holder, option.name)
                    break
        return cls(**values)

    def validate(self) -> None:
        """Raise UserError for values that make no sense, whatever the model."""
        mode = str(self.wfe_decoding)
        if mode not in MODES:
            raise UserError(f"--wfe-decoding {mode}: choose one of {', '.join(MODES)}")
        check_ranges(self, RANGES)
        WordBudgets.of(self.budget)
        for name in ("wfe_gate_weight", "wfe_base_rate_weight"):
            if getattr(self, name) is not None and mode not in WITH_GATES:
                raise UserError(f"{option_of(name)} has no effect with --wfe-decoding {mode}: leave one out")
        if self.wfe_shortlist > 0 and mode == "off":
            raise UserError(
                "--wfe-shortlist takes its words from the estimate, which --wfe-decoding off does not use: leave one out"
            )

    def resolved(self, models: Sequence) -> tuple["DecodingConfig", str]:
        """`auto` replaced by what it comes to for these models, and a sentence that says so.

        In the result, weights and reward are numbers.
        """
        mode = str(self.wfe_decoding)
        estimates = [getattr(model, "wfe_head", None) is not None for model in models]
        if mode in ("auto", *WITH_ESTIMATE) and any(estimates) and not all(estimates):
            raise UserError(
                f"model {estimates.index(False) + 1} of {len(models)} has no word-frequency estimate, but others "
                "do: use only models with an estimate, or --wfe-decoding off"
            )
        if mode in WITH_ESTIMATE and not all(estimates):
            raise UserError(
                f"--wfe-decoding {mode} needs a word-frequency estimate, but the model has none "
                "(was it trained with --without-wfe?): use auto or off"
            )
        if mode != "auto":
            return self.weighted(mode, PAPER), f"decoding: {mode}"
        if not all(estimates):
            if self.wfe_gate_weight is not None or self.wfe_base_rate_weight is not None:
                raise UserError(
                    "weights of the gate or the base rate need a word-frequency estimate, but the model has none: leave them out"
                )
            return self.weighted("off", PAPER), "decoding: off (no word-frequency estimate in the model)"
        calibrations = [model.calibration for model in models]
        if None in calibrations:
            found, reason = self.weighted("full", PAPER), "the paper's mask: not calibrated"
            if any(calibrations):
                reason = "the paper's mask: some of the models are not calibrated"
        else:
            found, reason = self.weighted("full", Calibration.mean(calibrations)), "calibrated"
        return found, f"decoding: full, {found.calibration} ({reason})"

    def weighted(self, mode: str, calibration: Calibration) -> "DecodingConfig":
        """With this mode, and these weights where none are given."""
        given = (self.wfe_gate_weight, self.wfe_base_rate_weight, self.word_reward)
        gate, base_rate, reward = (
            default if value is None else value for value, default in zip(given, calibration[:3])
        )
        return replace(
            self, wfe_decoding=mode, wfe_gate_weight=gate, wfe_base_rate_weight=base_rate, word_reward=reward
        )

    def rules(self) -> list[str]:
        """The options beside the mask that change outputs, as the user writes them."""
        return [
            f"{option_of(name)} {getattr(self, name)}"
            for name, neutral in NEUTRAL.items()
            if getattr(self, name) not in (None, neutral)
        ]

    @property
    def calibration(self) -> Calibration:
        """Of resolved options."""
        gate, base_rate, reward = self.wfe_gate_weight, self.wfe_base_rate_weight, self.word_reward
        assert gate is not None and base_rate is not None and reward is not None
        return Calibration(gate, base_rate, reward)
