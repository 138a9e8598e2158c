"""How far something is: a bar on a terminal, a line for every tenth elsewhere."""

import sys
from typing import Callable

from tqdm import tqdm


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
        on_terminal = bar and sys.stderr is not None and sys.stderr.isatty()
        self.bar = tqdm(total=total, unit=f" {what}", file=sys.stderr, dynamic_ncols=True) if on_terminal else None

    def __call__(self, more: int) -> None:
        before, self.done = self.done, self.done + more
        if self.bar is not None:
            self.bar.update(more)
        elif 10 * self.done // self.total > 10 * before // self.total:
            self.say(f"{self.done} of {self.total} {self.what}")

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_) -> None:
        if self.bar is not None:
            self.bar.close()
