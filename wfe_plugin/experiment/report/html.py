"""A report as one HTML page that needs nothing else: no script, no request, light and dark."""

from __future__ import annotations

import re
from html import escape

from wfe_plugin.experiment.report.document import (
    Cell,
    Code,
    Document,
    Examples,
    Heading,
    Paragraph,
    Picture,
    Pictures,
    Table,
    repeated_words,
)
from wfe_plugin.experiment.report.style import STYLE


def render(document: Document) -> str:
    body = "\n".join(_block(block) for block in document.blocks)
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


def _block(block) -> str:
    return _RENDERERS[type(block)](block)


def _heading(block: Heading) -> str:
    return f'<h2 id="{_anchor(block.text)}">{escape(block.text)}</h2>'


def _paragraph(block: Paragraph) -> str:
    return f"<p>{escape(block.text)}</p>"


def _table(table: Table) -> str:
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
    if table.folded:
        return f"<details><summary>{escape(table.caption)}</summary>\n{content}{notes}</details>"
    caption = f"<figcaption>{escape(table.caption)}</figcaption>" if table.caption else ""
    return f'<figure class="table">{caption}\n{content}{notes}</figure>'


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
    """A mark of significance takes no room, so that digits stand below digits."""
    return re.sub("[†‡]$", r'<span class="sign">\g<0></span>', detail)


def _picture(picture: Picture) -> str:
    numbers = ""
    if picture.table:
        numbers = _table(picture.table)
    return f"<figure>\n<figcaption>{escape(picture.caption)}</figcaption>\n{picture.svg}\n{numbers}</figure>"


def _pictures(block: Pictures) -> str:
    return '<div class="pictures">\n' + "\n".join(map(_picture, block.pictures)) + "\n</div>"


def _examples(block: Examples) -> str:
    items = []
    for example in block.examples:
        outputs = "".join(f"<dt>{escape(label)}</dt><dd>{_marked(text)}</dd>" for label, text in example.outputs)
        items.append(
            f'<div class="example"><dl>{outputs}</dl>'
            f"<details><summary>input</summary><p>{escape(example.source)}</p></details></div>"
        )
    return f"<h3>{escape(block.caption)}</h3>\n" + "\n".join(items)


def _marked(text: str) -> str:
    words = [f"<mark>{escape(word)}</mark>" if repeated else escape(word) for word, repeated in repeated_words(text)]
    return " ".join(words) or "<em>(empty)</em>"


def _code(block: Code) -> str:
    return f"<details><summary>{escape(block.caption)}</summary>\n<pre>{escape(block.text)}</pre></details>"


_RENDERERS = {
    Heading: _heading,
    Paragraph: _paragraph,
    Table: _table,
    Picture: _picture,
    Pictures: _pictures,
    Examples: _examples,
    Code: _code,
}
