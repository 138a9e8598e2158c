"""How far something is: a bar on a terminal, a line every half minute elsewhere."""

import sys
import time
from typing import Callable

from tqdm import tqdm

EVERY = 30  # seconds between two lines


class Progress:
    """Call it with how many more are done.

    Args:
        total: how many there are
        what: their name, in the plural
        say: shows a line
        bar: whether a terminal may show a bar: several processes would draw over each other
    """

    def __init__(self, total: int, what: str, say: Callable[[str], None], bar: bool = True):
        self.total, self.what, self.say, self.done = total, what, say, 0
        self.started = self.told = time.monotonic()
        on_terminal = bar and sys.stderr is not None and sys.stderr.isatty()
        self.bar = tqdm(total=total, unit=f" {what}", file=sys.stderr, dynamic_ncols=True) if on_terminal else None

    def __call__(self, more: int) -> None:
        self.done += more
        if self.bar is not None:
            self.bar.update(more)
        elif time.monotonic() - self.told > EVERY:
            self.told = time.monotonic()
            left = (self.told - self.started) * (self.total / self.done - 1)
            self.say(f"{self.done} of {self.total} {self.what}, about {duration(left)} left")

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_) -> None:
        if self.bar is not None:
            self.bar.close()


def duration(seconds: float) -> str:
    """Such as 1:05 or 2:01:05."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
