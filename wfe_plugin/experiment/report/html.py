"""A report as one HTML page that needs nothing else: no script, no request, light and dark."""

from __future__ import annotations

import re
from html import escape
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
from wfe_plugin.experiment.report.style import STYLE
from wfe_plugin.pipeline.explanation_page import shaded


def render(document: Document, files: dict[int, str] | None = None) -> str:
    """The page; `files` are the relative paths of CSV files, by the `id` of their table."""
    blocks = Blocks(files or {})
    body = "\n".join(map(blocks.render, document.blocks))
    headings = [block.text for block in document.blocks if isinstance(block, Heading)]
    links = "".join(f'<li><a href="#{_anchor(text)}">{escape(text)}</a></li>' for text in headings)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(document.title)}</title>
<style>
{STYLE}</style>
</head>
<body>
<header>
<h1>{escape(document.title)}</h1>
<p class="subtitle">{escape(document.subtitle)}</p>
<nav aria-label="Contents"><ul>{links}</ul></nav>
</header>
<main>
{body}
</main>
</body>
</html>
"""


def _anchor(text: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in text.lower())


class Blocks:
    """One block after the other."""

    def __init__(self, files: dict[int, str]):
        self.files = files

    def render(self, block) -> str:
        return {
            Heading: self.heading,
            Paragraph: lambda block: f"<p>{escape(block.text)}</p>",
            Warning: lambda block: f'<p class="warning" role="note">{escape(block.text)}</p>',
            Table: self.table,
            Picture: self.picture,
            Pictures: self.pictures,
            Examples: self.examples,
            Links: self.links,
            Code: self.code,
        }[type(block)](block)

    def heading(self, block: Heading) -> str:
        return f'<h2 id="{_anchor(block.text)}">{escape(block.text)}</h2>'

    def table(self, table: Table) -> str:
        head = "".join(f'<th scope="col">{_label(name)}</th>' for name in table.columns)
        rows, group = [], ""
        for row in table.rows:
            if row.group != group:
                group = row.group
                rows.append(f'<tr class="group"><th colspan="{len(table.columns)}">{escape(group)}</th></tr>')
            cells = "".join(map(_cell, row.cells))
            rows.append(f'<tr><th scope="row">{_label(row.label)}</th>{cells}</tr>')
        content = (
            f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n<tbody>\n'
            + "\n".join(rows)
            + "\n</tbody></table></div>"
        )
        notes = f'<p class="notes">{escape(table.notes)}</p>' if table.notes else ""
        if id(table) in self.files:
            notes += f'<p class="notes"><a href="{escape(self.files[id(table)])}">CSV</a></p>'
        if table.folded:
            return f"<details><summary>{escape(table.caption)}</summary>\n{content}{notes}</details>"
        caption = f"<figcaption>{escape(table.caption)}</figcaption>" if table.caption else ""
        return f'<figure class="table">{caption}\n{content}{notes}</figure>'

    def picture(self, picture: Picture) -> str:
        numbers = self.table(picture.table) if picture.table else ""
        return f"<figure>\n<figcaption>{escape(picture.caption)}</figcaption>\n{picture.svg}\n{numbers}</figure>"

    def pictures(self, block: Pictures) -> str:
        return '<div class="pictures">\n' + "\n".join(map(self.picture, block.pictures)) + "\n</div>"

    def examples(self, block: Examples) -> str:
        items = []
        for example in block.examples:
            outputs = "".join(f"<dt>{escape(label)}</dt><dd>{_marked(text)}</dd>" for label, text in example.outputs)
            shown = shaded(example.votes) if example.votes else escape(example.source)
            source = f'<dt>Source</dt><dd class="source">{shown}</dd>'
            if example.link:
                outputs += f'<dt>Explained</dt><dd><a href="{escape(quote(example.link, safe="/+#"))}">why these words?</a></dd>'
            items.append(f'<div class="example"><dl>{source}{outputs}</dl></div>')
        return f"<h3>{escape(block.caption)}</h3>\n" + "\n".join(items)

    def links(self, block: Links) -> str:
        items = "".join(
            f'<li><a href="{escape(quote(path, safe="/+"))}">{escape(label)}</a></li>' for label, path in block.links
        )
        return f"<details><summary>{escape(block.caption)}</summary>\n<ul>{items}</ul></details>"

    def code(self, block: Code) -> str:
        return f"<details><summary>{escape(block.caption)}</summary>\n<pre>{escape(block.text)}</pre></details>"


def _label(text: str) -> str:
    """ROUGE-1 and "beam 10" stay on one line; longer labels may break at blanks."""
    text = text.replace("-", "\u2011")
    return escape(text if len(text) > 10 else text.replace(" ", "\u00a0"))


def _cell(cell: Cell) -> str:
    text = _hanging(escape(cell.text))
    if cell.strong:
        text = f"<strong>{text}</strong>"
    for detail, tone in ((cell.detail, cell.tone), (cell.second, cell.second_tone)):
        if detail:
            kind = f"detail {tone}".strip()
            text += f'<span class="{kind}">{_hanging(escape(detail))}</span>'
    return f"<td>{text}</td>"


def _hanging(detail: str) -> str:
    """A mark of significance takes no room, so that digits are below digits."""
    return re.sub("[†‡]$", r'<span class="sign">\g<0></span>', detail)


def _marked(text: str) -> str:
    words = [f"<mark>{escape(word)}</mark>" if repeated else escape(word) for word, repeated in repeated_words(text)]
    return " ".join(words) or "<em>(empty)</em>"
