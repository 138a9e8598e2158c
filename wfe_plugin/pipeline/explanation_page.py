"""Explanations for people: as text for a terminal, and as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a report has pages without models
    from wfe_plugin.pipeline.explain import Candidate, Explanation, Spent, Step

STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --page: #fdfdfc; --card: #fff; --line: #dcdcd6; --soft: #63666a;
  --votes: 214 128 0; --spent: 30 110 190; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e3; --page: #17181a; --card: #1f2124; --line: #3a3c40;
  --soft: #a3a6a9; --votes: 255 176 60; --spent: 100 170 240; --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 60rem; font: 16px/1.55 system-ui, sans-serif; color: var(--ink);
  background: var(--page); overflow-wrap: break-word; }
h1 { font-size: 1.35rem; margin: .2rem 0 1rem; } h2 { font-size: 1rem; margin: 1.5rem 0 .4rem; }
section { border-top: 1px solid var(--line); padding-top: 1rem; margin-top: 1.5rem; }
.soft { color: var(--soft); } p { margin: .3rem 0; }
.source span { border-radius: .2rem; padding: .15rem 0; }
.scale { display: inline-block; width: 6rem; height: .7rem; border-radius: .2rem; border: 1px solid var(--line);
  background: linear-gradient(90deg, transparent, rgb(var(--votes) / .75)); }
.outputs { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(16rem, 100%), 1fr)); }
.outputs div { border: 1px solid var(--line); border-radius: .5rem; padding: .7rem .9rem; background: var(--card); }
.outputs b { display: block; font-size: .8rem; color: var(--soft); font-weight: 600; }
.again { text-decoration: underline wavy var(--bad); text-underline-offset: .2em; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .9rem; min-width: 100%; }
th, td { text-align: left; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; color: var(--soft); white-space: nowrap; }
.n td:not(:first-child), .n th:not(:first-child) { text-align: right; font-variant-numeric: tabular-nums; }
.grid td, .grid th { padding: .2rem .45rem; border: 1px solid var(--line); text-align: center; font-size: .8rem; }
.grid td:first-child, .grid th:first-child { text-align: left; position: sticky; left: 0; background: var(--page); }
.grid .said { outline: 2px solid rgb(var(--spent)); outline-offset: -2px; font-weight: 700; }
s { color: var(--bad); } summary { cursor: pointer; font-weight: 600; margin: 1.2rem 0 .4rem; }
form { display: grid; gap: .7rem; } label { font-size: .85rem; color: var(--soft); }
textarea, input, select { font: inherit; width: 100%; padding: .45rem; color: var(--ink); background: var(--card);
  border: 1px solid var(--line); border-radius: .3rem; }
.fields { display: grid; gap: .7rem; grid-template-columns: repeat(auto-fit, minmax(min(9rem, 100%), 1fr)); }
.fields label:last-child { grid-column: 1 / -1; } button { font: inherit; padding: .5rem 1.2rem; justify-self: start; } .error { color: var(--bad); }
.budgets [data-word] { cursor: pointer; }
"""


def page(explanations: Sequence[Explanation], form: str = "", script: str = "") -> str:
    """A whole document; `form` is HTML that comes first."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f"<title>Why these words?</title><style>{STYLE}</style></head>\n"
        f"<body><h1>Why these words?</h1>\n{form}<main>{sections(explanations)}</main>{script}\n</body></html>\n"
    )


def sections(explanations: Sequence[Explanation]) -> str:
    return "\n".join(section(one, place) for place, one in enumerate(explanations, start=1))


def section(explanation: Explanation, place: int) -> str:
    has_gates = any(word.gate is not None for word in explanation.source)
    legend = '<p class="soft">votes: 0 <span class="scale"></span> 1</p>' if has_gates else ""
    title = "The source, shaded by its votes for the summary" if has_gates else "The source"
    parts = [
        f'<section id="text-{place}"><div class="outputs">',
        f'<div><b>summary</b><span class="summary">{marked(explanation.summary)}</span></div>',
        f'<div><b>without any rule</b><span class="without">{marked(explanation.without)}</span></div></div>',
        f'<p class="soft">{escape(explanation.decoding)}</p>',
        f'<h2>{title}</h2><p class="source">{shaded(explanation.source)}</p>{legend}',
    ]
    if explanation.blocked:
        words = ", ".join(f"{spoken(word)} ({times}×)" for word, times in explanation.blocked.most_common())
        parts.append(f'<h2>Wanted by the model, and forbidden</h2><p class="blocked">{words}</p>')
    if explanation.budgets:
        parts += ["<h2>Budgets as they are spent, before each word</h2>", grid(explanation.budgets, explanation.steps)]
    if explanation.words:
        heads = ("word", "budget", "gate", "base rate", "mask adds")
        rows = [
            (spoken(w.word), *map(number, (w.budget, w.gate, w.base_rate)), signed(w.mask)) for w in explanation.words
        ]
        parts += ["<h2>Words with the highest estimates</h2>", table(heads, rows, "n")]
    heads = ("said", "log p", "what the rules added", "what the model wanted")
    steps = table(heads, [row(step) for step in explanation.steps])
    parts += [f"<details open><summary>Word by word</summary>{steps}</details></section>"]
    return "\n".join(parts)


def marked(summary: str) -> str:
    """A summary, with words that were said before underlined."""
    seen: set[str] = set()
    shown = []
    for word in summary.split():
        kind = ' class="again" title="said before"' if word in seen else ""
        seen.add(word)
        shown.append(f'<span data-word="{escape(word)}"{kind}>{escape(word)}</span>')
    return " ".join(shown) or '<span class="soft">(nothing)</span>'


def shaded(source: Iterable[tuple[str, float | None]]) -> str:
    """The source's words, each with its gate; pieces of one word stand together."""
    shown = []
    for word, gate in source:
        text, joined = (word[:-2], True) if word.endswith("@@") else (word, False)
        style = title = ""
        if gate is not None:
            style = f' style="background: rgb(var(--votes) / {min(gate, 1.0) * 0.75:.2f})"'
            title = f' title="{gate:.2f}"'
        shown.append(f"<span{style}{title}>{escape(text)}</span>" + ("" if joined else " "))
    return "".join(shown)


def grid(budgets: Sequence[Spent], steps: Sequence[Step]) -> str:
    """What is left of each word's budget before each step, darker if more; where it is said, with a frame."""
    rows = []
    for spent in budgets:
        most = max([*spent.left, 1e-9])
        cells = "".join(
            f"<td{' class=said' if step.word == spent.word else ''} "
            f'style="background: rgb(var(--spent) / {0.45 * left / most:.2f})">{left:.1f}</td>'
            for left, step in zip(spent.left, steps)
        )
        rows.append(f"<tr><td>{escape(spent.word)}</td>{cells}</tr>")
    heads = "".join(f"<th>{spoken(step.word)}</th>" for step in steps)
    return f'<div class="scroll"><table class="grid"><tr><th></th>{heads}</tr>{"".join(rows)}</table></div>'


def row(step: Step) -> tuple[str, ...]:
    added = ", ".join(f"{escape(name)} {signed(change)}" for name, change in step.changes.items())
    return spoken(step.word), number(step.log_prob), added, ", ".join(map(candidate, step.wanted))


def spoken(word: str) -> str:
    return escape(word) if word else '<span class="soft">(end)</span>'


def candidate(one: Candidate) -> str:
    """What the rules forbid is struck out."""
    if one.change is None:
        return f'<s title="{escape(one.forbidden_by)}">{spoken(one.word)}</s>'
    change = f' <span class="soft">{signed(one.change)}</span>' if abs(one.change) >= 0.005 else ""
    return spoken(one.word) + change


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "") -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>" for cells in rows)
    return f'<div class="scroll"><table class="{kind}"><tr>{head}</tr>{body}</table></div>'


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}" if abs(value) >= 0.01 or value == 0 else f"{value:.1g}"


def signed(value: float | None) -> str:
    return "forbidden" if value is None else f"{value:+.2f}".replace("-", "−")


def text(explanation: Explanation) -> str:
    """For a terminal."""
    lines = [f"source:   {explanation.text}", f"summary:  {explanation.summary}"]
    lines += [f"without:  {explanation.without}", f"({explanation.decoding})"]
    votes = sorted({(word.gate, word.word) for word in explanation.source if word.gate is not None}, reverse=True)[:8]
    if votes:
        lines += ["", "the source votes for: " + ", ".join(f"{word} {number(gate)}" for gate, word in votes)]
    if explanation.words:
        lines += ["", "words with the highest estimates:"]
        lines += [f"  {'word':20} {'budget':>7} {'gate':>6} {'base':>8} {'mask':>6}"]
        lines += [
            f"  {w.word:20} {number(w.budget):>7} {number(w.gate):>6} {number(w.base_rate):>8} {signed(w.mask):>6}"
            for w in explanation.words
        ]
    if explanation.blocked:
        blocked = (f"{word or '(end)'} ({times}x)" for word, times in explanation.blocked.most_common())
        lines += ["", "wanted by the model, and forbidden: " + ", ".join(blocked)]
    lines += ["", "word by word:", f"  {'said':20} {'log p':>7} {'left':>6}  rules; what the model wanted"]
    spent = {one.word: one.left for one in explanation.budgets}
    for place, step in enumerate(explanation.steps):
        rules = ", ".join(f"{name} {signed(change)}" for name, change in step.changes.items()) or "-"
        wanted = ", ".join(
            f"{one.word or '(end)'}{' (forbidden)' if one.change is None else ''}" for one in step.wanted
        )
        left = number(spent[step.word][place]) if step.word in spent else ""
        lines.append(f"  {step.word or '(end)':20} {step.log_prob:7.2f} {left:>6}  {rules}; {wanted}")
    return "\n".join([*lines, ""])
