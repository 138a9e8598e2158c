"""The weights of what the mask of a step is made of, chosen on a validation set."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from wfe_plugin.errors import UserError

# As `Calibration` writes its fields.
NAMES = {"gate": "gate_weight", "base-rate": "base_rate_weight", "reward": "word_reward", "protocol": "protocol"}


class Calibration(NamedTuple):
    """Weights of the mask: log clip(r̂ − count, 0, 1) + λ·log ĝ − µ·log p̄, and a reward per word.

    The defaults are Equation 4 of the paper.
    """

    gate_weight: float = 1.0  # λ
    base_rate_weight: float = 0.0  # µ
    word_reward: float = 0.0  # added to every word but the end of the sentence
    protocol: str = ""  # what they were chosen by, such as "f1"; empty: not chosen

    def __str__(self) -> str:
        """For example `gate=0.75 base-rate=0.5 reward=0.5 protocol=f1`."""
        text = f"gate={self.gate_weight:g} base-rate={self.base_rate_weight:g} reward={self.word_reward:g}"
        return f"{text} protocol={self.protocol}" if self.protocol else text

    @classmethod
    def parse(cls, text: str) -> "Calibration":
        """The inverse of `str`; what is not named has its default."""
        values: dict[str, Any] = {}
        for part in text.split():
            name, _, value = part.partition("=")
            if name not in NAMES or not value:
                raise UserError(f"calibration {text!r}: {part!r} is not one of {', '.join(f'{n}=' for n in NAMES)}")
            try:
                values[NAMES[name]] = value if name == "protocol" else float(value)
            except ValueError:
                raise UserError(f"calibration {text!r}: {value!r} is not a number") from None
        return cls(**values)

    @classmethod
    def mean(cls, calibrations: Sequence["Calibration"]) -> "Calibration":
        """That of an ensemble: the mean of each weight; protocols are joined."""
        gate, base_rate, reward = (sum(values) / len(calibrations) for values in zip(*(c[:3] for c in calibrations)))
        return cls(gate, base_rate, reward, "+".join(dict.fromkeys(c.protocol for c in calibrations if c.protocol)))

    @property
    def is_equation_4(self) -> bool:
        """Whether the mask is the paper's; the reward is not part of it."""
        return self[:2] == PAPER[:2]


PAPER = Calibration()
