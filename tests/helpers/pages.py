"""The code blocks of Markdown pages.

A comment on the line before a fence says what a test does with the block:

    <!-- not run: needs two machines -->
    <!-- file: wfe_plugin/models/wfe_lightconv.py -->
"""

import re
from pathlib import Path
from typing import NamedTuple

FENCE = re.compile(
    r"^(?:<!-- (?P<key>not run|file): (?P<value>.+?) -->\n\n?)?(?P<fence>```+)(?P<language>[^\n`]*)\n(?P<text>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    line: int  # of its first line on the page, from 1
    language: str
    text: str
    reason: str  # why it is not run; empty if it is
    file: str  # where the reader writes it; empty if it is run


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        comment = {match["key"]: match["value"]}
        line = text.count("\n", 0, match.start("text")) + 1
        reason, file = comment.get("not run", ""), comment.get("file", "")
        found.append(Block(line, match["language"].strip(), match["text"], reason, file))
    return found


def outside_of_blocks(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def commands(text: str) -> list[str]:
    """The lines of a block of shell commands, continued lines as one."""
    return [line for line in re.sub(r"\\\n\s*", "", text).splitlines() if line.strip()]
