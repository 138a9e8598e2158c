"""Explanations for people: as text for a terminal, and as one HTML page that needs nothing else."""

from collections.abc import Sequence
from html import escape
from typing import Optional

from wfe_plugin.pipeline.explain import Candidate, Explanation, SourceWord, Step

STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --page: #fdfdfc; --line: #d9d9d4; --soft: #6a6d70; --votes: 200 120 0; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e3; --page: #17181a; --line: #3a3c40; --soft: #a0a3a6; --votes: 255 176 60; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 60rem; font: 16px/1.5 system-ui, sans-serif; color: var(--ink);
  background: var(--page); overflow-wrap: anywhere; }
h1 { font-size: 1.3rem; } h2 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
p.soft, td.soft, .soft { color: var(--soft); }
.source span { border-radius: .2rem; padding: .05rem .1rem; }
.outputs { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(16rem, 1fr)); }
.outputs div { border: 1px solid var(--line); border-radius: .4rem; padding: .6rem .8rem; }
.outputs b { display: block; font-size: .8rem; color: var(--soft); font-weight: 600; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; color: var(--soft); white-space: nowrap; } td.n { text-align: right; font-variant-numeric: tabular-nums; }
s { color: var(--soft); } form { display: grid; gap: .6rem; } textarea, input, select { font: inherit; width: 100%;
  padding: .4rem; color: inherit; background: transparent; border: 1px solid var(--line); border-radius: .3rem; }
option { color: #000; background: #fff; } .fields { display: grid; gap: .6rem; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); }
button { font: inherit; padding: .5rem 1rem; justify-self: start; } .error { color: #c0392b; }
"""


def page(explanations: Sequence[Explanation], form: str = "") -> str:
    """A whole document; `form` is HTML that comes first."""
    sections = "\n".join(section(explanation) for explanation in explanations)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Why these words?</title><style>{STYLE}</style></head>\n"
        f"<body><h1>Why these words?</h1>\n{form}{sections}\n</body></html>\n"
    )


def section(explanation: Explanation) -> str:
    parts = [
        "<section>",
        f'<p class="soft">{escape(explanation.decoding)}</p>',
        "<h2>The source, shaded by how likely each word is to be in the summary</h2>",
        f'<p class="source">{shaded(explanation.source)}</p>',
        '<div class="outputs">',
        f'<div><b>summary</b><span id="summary">{escape(explanation.summary)}</span></div>',
        f"<div><b>without any rule</b>{escape(explanation.without)}</div></div>",
    ]
    if explanation.words:
        heads = ("word", "budget", "gate", "base rate", "mask adds")
        rows = [
            (escape(w.word), *map(number, (w.budget, w.gate, w.base_rate)), signed(w.mask)) for w in explanation.words
        ]
        parts += ["<h2>Words with the highest estimates</h2>", table(heads, rows)]
    heads = ("said", "log p", "what the rules added", "budget before", "what the model wanted")
    parts += ["<h2>Word by word</h2>", table(heads, [row(step) for step in explanation.steps]), "</section>"]
    return "\n".join(parts)


def shaded(source: Sequence[SourceWord]) -> str:
    """The source's words; pieces of one word stand together."""
    shown = []
    for word in source:
        text, joined = (word.word[:-2], True) if word.word.endswith("@@") else (word.word, False)
        style = title = ""
        if word.gate is not None:
            style = f' style="background: rgb(var(--votes) / {min(word.gate, 1.0) * 0.75:.2f})"'
            title = f' title="{word.gate:.2f}"'
        shown.append(f"<span{style}{title}>{escape(text)}</span>" + ("" if joined else " "))
    return "".join(shown)


def row(step: Step) -> tuple[str, ...]:
    added = ", ".join(f"{escape(name)} {signed(change)}" for name, change in step.changes.items())
    wanted = ", ".join(map(candidate, step.wanted))
    return escape(step.word) or END, number(step.log_prob), added, number(step.budget_left), wanted


END = '<span class="soft">(end)</span>'


def candidate(one: Candidate) -> str:
    """What the rules forbid is struck out."""
    word = escape(one.word) or END
    if one.change is None:
        return f"<s>{word}</s>"
    return f'{word} <span class="soft">{signed(one.change)}</span>' if abs(one.change) >= 0.005 else word


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>" for cells in rows)
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'


def number(value: Optional[float]) -> str:
    return "" if value is None else f"{value:.2f}" if abs(value) >= 0.01 or value == 0 else f"{value:.1g}"


def signed(value: Optional[float]) -> str:
    return "forbidden" if value is None else f"{value:+.2f}".replace("-", "−")


def text(explanation: Explanation, width: int = 100) -> str:
    """For a terminal."""
    lines = [f"source:   {explanation.text}", f"summary:  {explanation.summary}"]
    lines += [f"without:  {explanation.without}", f"({explanation.decoding})", ""]
    if explanation.words:
        lines += ["words with the highest estimates:", f"  {'word':20} {'budget':>7} {'gate':>6} {'base':>8}  mask"]
        lines += [
            f"  {w.word:20} {number(w.budget):>7} {number(w.gate):>6} {number(w.base_rate):>8} {signed(w.mask):>6}"
            for w in explanation.words
        ]
    lines += ["", "word by word:", f"  {'said':20} {'log p':>7} {'left':>6}  rules; what the model wanted"]
    for step in explanation.steps:
        rules = ", ".join(f"{name} {signed(change)}" for name, change in step.changes.items()) or "-"
        wanted = ", ".join(
            f"{one.word or '(end)'}{' (forbidden)' if one.change is None else ''}" for one in step.wanted
        )
        left = number(step.budget_left)
        lines.append(f"  {step.word or '(end)':20} {step.log_prob:7.2f} {left:>6}  {rules}; {wanted}")
    return "\n".join(lines)
