"""Parts of equal work, for several processes or machines."""

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple, Optional

from wfe_plugin.errors import UserError
from wfe_plugin.pipeline.decode import windows

EACH = 20  # what a text costs beside its words, in words


class Part(NamedTuple):
    """One part of several; the first is number 1."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> "Part":
        found = re.fullmatch(r"([0-9]+)/([0-9]+)", text)
        if not found or not 1 <= int(found[1]) <= int(found[2]):
            raise UserError(f"--part {text}: write it as I/N, with I from 1 to N")
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        """As in names of files, which sort in the order of the parts."""
        return f"{self.number:0{len(str(self.count))}}-of-{self.count}"

    def of(self, lengths: Sequence[int]) -> range:
        """The texts of this part: whole windows, one after the other, with about as many words as the other parts."""
        every = windows(len(lengths))
        work = list(accumulate(sum(lengths[number] + EACH for number in window) for window in every))
        total = work[-1] if work else 0
        # A window belongs to the part in which its middle lies.
        middles = [(before + after) / 2 for before, after in zip([0, *work], work)]
        chosen = [
            window
            for window, middle in zip(every, middles)
            if self.number - 1 <= middle * self.count / total < self.number
        ]
        return range(chosen[0].start, chosen[-1].stop) if chosen else range(0)


def texts_of(part: Optional[Part], lengths: Sequence[int]) -> range:
    return part.of(lengths) if part else range(len(lengths))
