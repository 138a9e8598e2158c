"""What a report consists of, before it becomes HTML or Markdown. All texts are plain."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Heading:
    text: str


@dataclass(frozen=True)
class Paragraph:
    text: str


@dataclass(frozen=True)
class Cell:
    """A cell of a table; `detail` and `second` are set smaller, below or behind the text."""

    text: str
    detail: str = ""
    tone: str = ""  # "good" or "bad" colours the detail
    strong: bool = False
    second: str = ""
    second_tone: str = ""


@dataclass(frozen=True)
class Row:
    label: str
    cells: list[Cell]
    group: str = ""  # rows of one group are together under its name


@dataclass(frozen=True)
class Table:
    """`columns` has one name for the labels and one for each cell."""

    caption: str
    columns: list[str]
    rows: list[Row]
    notes: str = ""
    folded: bool = False  # shown only if the reader asks for it


@dataclass(frozen=True)
class Picture:
    """An inline SVG, and the same content as a table for Markdown and for readers who want numbers."""

    svg: str
    caption: str
    table: Table | None = None


@dataclass(frozen=True)
class Pictures:
    """Pictures side by side where there is room."""

    pictures: list[Picture]


@dataclass(frozen=True)
class Example:
    """One input and several outputs, in which repeated words are marked."""

    source: str
    outputs: list[tuple[str, str]]  # label and text
    votes: list = field(default_factory=list)  # the source's words, each with its gate; empty: not known
    link: str = ""  # to an explanation


@dataclass(frozen=True)
class Examples:
    caption: str
    examples: list[Example]


@dataclass(frozen=True)
class Links:
    """Files beside the report."""

    caption: str
    links: list[tuple[str, str]]  # label and relative path


@dataclass(frozen=True)
class Warning:
    """What a reader must know before the numbers."""

    text: str


@dataclass(frozen=True)
class Code:
    caption: str
    text: str


@dataclass(frozen=True)
class Document:
    title: str
    subtitle: str
    blocks: list = field(default_factory=list)

    def tables(self) -> list[Table]:
        """All of them, those of pictures as well."""
        found: list[Table] = []
        for block in self.blocks:
            pictures = block.pictures if isinstance(block, Pictures) else [block] if isinstance(block, Picture) else []
            found += [block] if isinstance(block, Table) else [one.table for one in pictures if one.table]
        return found


def repeated_words(text: str) -> list[tuple[str, bool]]:
    """The words of a text, each with whether it occurs more than once, as the rates count it."""
    words = text.split()
    counts = Counter(word.lower() for word in words)
    return [(word, counts[word.lower()] > 1) for word in words]
