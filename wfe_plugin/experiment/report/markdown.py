"""A report as Markdown; pictures become the tables that belong to them."""

from __future__ import annotations

import re
from urllib.parse import quote

from wfe_plugin.experiment.report.document import (
    Cell,
    Code,
    Document,
    Examples,
    Heading,
    Links,
    Paragraph,
    Picture,
    Pictures,
    Table,
    Warning,
    repeated_words,
)


def render(document: Document) -> str:
    blocks = [f"# {plain(document.title)}", plain(document.subtitle), *map(_block, document.blocks)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def plain(text: str) -> str:
    """Text in which nothing is taken for Markdown or HTML."""
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    # What would begin a list, a quotation or a heading does so only at the start of a line.
    return re.sub(r"[\\`*_\[\]|~]|^(?=[#>]|[+-] )", lambda match: "\\" + match[0], text)


def _block(block) -> str:
    return _RENDERERS[type(block)](block)


def _table(table: Table) -> str:
    grouped = any(row.group for row in table.rows)
    names = [plain(name) for name in table.columns]
    columns = ["", *names] if grouped else names
    lines = [columns, ["---"] * (len(columns) - len(names) + 1) + ["---:"] * (len(names) - 1)]
    group = ""
    for row in table.rows:
        first = []
        if grouped:
            # Named once, as in print.
            first = [plain(row.group) if row.group != group else ""]
            group = row.group
        lines.append([*first, plain(row.label), *map(_cell, row.cells)])
    text = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
    parts = [f"**{plain(table.caption)}**" if table.caption else "", text, plain(table.notes)]
    return "\n\n".join(part for part in parts if part)


def _cell(cell: Cell) -> str:
    text = f"**{plain(cell.text)}**" if cell.strong else plain(cell.text)
    details = [plain(detail) for detail in (cell.detail, cell.second) if detail]
    return f"{text} ({'; '.join(details)})" if details else text


def _picture(picture: Picture) -> str:
    return _table(picture.table) if picture.table else ""


def _pictures(block: Pictures) -> str:
    return "\n\n".join(filter(None, map(_picture, block.pictures)))


def _examples(block: Examples) -> str:
    lines = [f"### {plain(block.caption)}"]
    for example in block.examples:
        outputs = [f"- {plain(label)}: {_marked(text)}" for label, text in example.outputs]
        outputs += [f"- Explained: [why these words?]({quote(example.link, safe='/+#')})"] if example.link else []
        lines.append("\n".join([f"- Source: {plain(example.source)}", *outputs, "", "<!-- -->"]))
    return "\n\n".join(lines)


def _marked(text: str) -> str:
    words = [f"**{plain(word)}**" if repeated else plain(word) for word, repeated in repeated_words(text)]
    return " ".join(words) or "(empty)"


def _links(block: Links) -> str:
    lines = [f"- [{plain(label)}]({quote(path, safe='/+')})" for label, path in block.links]
    return "\n".join([f"**{plain(block.caption)}**", "", *lines])


def _code(block: Code) -> str:
    # A fence longer than any in the text.
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", block.text)), default=0))
    return f"**{plain(block.caption)}**\n\n{fence}\n{block.text}\n{fence}"


_RENDERERS = {
    Heading: lambda block: f"## {plain(block.text)}",
    Paragraph: lambda block: plain(block.text),
    Warning: lambda block: f"**Warning:** {plain(block.text)}",
    Table: _table,
    Picture: _picture,
    Pictures: _pictures,
    Examples: _examples,
    Links: _links,
    Code: _code,
}
