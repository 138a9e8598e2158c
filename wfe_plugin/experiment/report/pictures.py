"""Small charts as inline SVG. Colours come from the page's style, for light and dark.

All are drawn 400 units wide, so that their text stays readable on a phone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 400
COLOURS = 5  # of the palette for systems; 0 is that of the references
DASHES = ("none", "none", "7 3", "2 3", "9 3 2 3")


@dataclass(frozen=True)
class Series:
    """A line of a chart; `colour` is a number of the style's palette, `dash` one of DASHES."""

    name: str
    points: Sequence[tuple[float, float]]
    colour: int
    dash: int = 0
    faint: bool = False


def svg(height: float, label: str, parts: Sequence[str]) -> str:
    content = "\n".join(parts)
    return f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{escape(label)}">\n{content}\n</svg>'


def text(x: float, y: float, content: str, anchor: str = "start", soft: bool = False) -> str:
    kind = ' class="soft"' if soft else ""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{kind}>{escape(content)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "grid") -> str:
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" class="{kind}"/>'


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers that cover the range from low to high, at most about `count` steps."""
    span = (high - low) or abs(high) or 1.0
    raw = span / count
    power = 10 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(number * step, 10) for number in range(first, max(last, first + 1) + 1)]


def shown(value: float) -> str:
    return f"{value:g}"


def line_chart(series: Sequence[Series], x_label: str, y_label: str, zero: bool = False) -> str:
    """Lines over a numeric axis; several faint ones may share a name, which stands once in the legend."""
    points = [point for one in series for point in one.points]
    if not points:
        return ""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    y_ticks = ticks(min(0.0, *ys) if zero else min(ys), max(ys))
    x_ticks = [tick for tick in ticks(min(xs), max(xs), 6) if tick >= min(xs) and tick <= max(xs)]
    legend = list({one.name: one for one in series}.values())
    left, right, top, bottom = 44, WIDTH - 12, 26, 216
    x_low, x_high = min(xs), max(max(xs), min(xs) + 1)
    y_low, y_high = y_ticks[0], y_ticks[-1]

    def x_of(x: float) -> float:
        return left + (right - left) * (x - x_low) / (x_high - x_low)

    def y_of(y: float) -> float:
        return bottom - (bottom - top) * (y - y_low) / (y_high - y_low)

    parts = [text(0, 12, y_label, soft=True)]
    for tick in y_ticks:
        parts += [line(left, y_of(tick), right, y_of(tick)), text(left - 6, y_of(tick) + 4, shown(tick), "end", True)]
    parts.append(line(left, bottom, right, bottom, "axis"))
    parts += [text(x_of(tick), bottom + 16, shown(tick), "middle", True) for tick in x_ticks if tick == int(tick)]
    parts.append(text(right, bottom + 32, x_label, "end", True))
    for one in series:
        path = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in one.points)
        parts.append(f'<polyline points="{path}" fill="none" {stroke(one)}/>')
        if len(one.points) == 1:
            x, y = one.points[0]
            parts.append(f'<circle cx="{x_of(x):.1f}" cy="{y_of(y):.1f}" r="3" style="fill: var(--s{one.colour})"/>')
    for row, one in enumerate(legend):
        y = bottom + 52 + 18 * row
        sample = Series(one.name, (), one.colour, one.dash)
        parts.append(f'<line x1="{left}" y1="{y - 4}" x2="{left + 28}" y2="{y - 4}" {stroke(sample)}/>')
        parts.append(text(left + 36, y, one.name))
    return svg(bottom + 44 + 18 * len(legend), f"{y_label} over {x_label}", parts)


def stroke(series: Series) -> str:
    dash = "" if DASHES[series.dash] == "none" else f" stroke-dasharray: {DASHES[series.dash]};"
    opacity = " opacity: 0.45;" if series.faint else ""
    return f'style="stroke: var(--s{series.colour}); stroke-width: 2;{dash}{opacity}"'


def colour_key(entries: Sequence[tuple[str, int]], left: float, y: float) -> list[str]:
    """What colours (name, number) mean, in one line; nothing where there is but one."""
    parts, x = [], left
    for name, colour in entries if len(entries) > 1 else ():
        parts.append(f'<rect x="{x:.1f}" y="{y - 9}" width="10" height="10" style="fill: var(--s{colour})"/>')
        parts.append(text(x + 14, y, name, soft=True))
        x += 28 + 7 * len(name)  # about as wide as the name is set
    return parts


def bar_chart(
    bars: Sequence[tuple[str, float, int]],
    unit: str,
    mark: tuple[str, float] | None = None,
    key: Sequence[tuple[str, int]] = (),
) -> str:
    """Horizontal bars (name, value, colour); `mark` is a value drawn across them all."""
    values = [value for _, value, _ in bars] + ([mark[1]] if mark else [])
    scale = ticks(0, max(values) or 1.0)
    left, right, pitch = 8, WIDTH - 52, 36
    top = 26 if mark else 8
    bottom = top + pitch * len(bars) + 4

    def x_of(value: float) -> float:
        return left + (right - left) * value / scale[-1]

    parts = []
    for tick in scale:
        label = f"{shown(tick)} {unit}" if tick == scale[-1] else shown(tick)
        parts += [line(x_of(tick), top, x_of(tick), bottom), text(x_of(tick), bottom + 16, label, "middle", True)]
    labels = []  # last, so that the mark does not cross them out
    for row, (name, value, colour) in enumerate(bars):
        y = top + pitch * row
        parts.append(
            f'<rect x="{left}" y="{y + 18}" width="{max(x_of(value) - left, 1):.1f}" height="12" '
            f'style="fill: var(--s{colour})"/>'
        )
        labels += [text(left, y + 13, name), text(x_of(value) + 6, y + 28, f"{value:.1f}")]
    if mark:
        name, value = mark
        x = x_of(value)
        parts.append(f'<line x1="{x:.1f}" y1="{top - 6}" x2="{x:.1f}" y2="{bottom}" class="axis" stroke-width="2"/>')
        labels.append(text(x, top - 10, f"{name} {value:.1f}", "start" if x < WIDTH / 2 else "end"))
    parts += [*labels, *colour_key(key, left, bottom + 40)]
    return svg(bottom + (46 if len(key) > 1 else 24), f"bars, {unit}", parts)


def interval_chart(
    rows: Sequence[tuple[str, float, float, float, int]], unit: str, key: Sequence[tuple[str, int]] = ()
) -> str:
    """Differences (name, value, low, high, colour) with their intervals, around zero."""
    lows, highs = [row[2] for row in rows], [row[3] for row in rows]
    scale = ticks(min(0.0, *lows), max(0.0, *highs))
    left, right, pitch, top = 14, WIDTH - 14, 32, 6
    bottom = top + pitch * len(rows) + 4

    def x_of(value: float) -> float:
        return left + (right - left) * (value - scale[0]) / (scale[-1] - scale[0])

    parts = []
    for tick in scale:
        kind = "axis" if tick == 0 else "grid"
        parts.append(line(x_of(tick), top, x_of(tick), bottom, kind))
        parts.append(text(x_of(tick), bottom + 16, f"{tick:+g}" if tick else "0", "middle", True))
    for row, (name, value, low, high, colour) in enumerate(rows):
        y = top + pitch * row
        parts.append(text(left, y + 12, name))
        paint = f'style="stroke: var(--s{colour}); fill: var(--s{colour}); stroke-width: 2"'
        parts.append(f'<line x1="{x_of(low):.1f}" y1="{y + 21}" x2="{x_of(high):.1f}" y2="{y + 21}" {paint}/>')
        parts.append(f'<circle cx="{x_of(value):.1f}" cy="{y + 21}" r="4" {paint}/>')
    parts.append(text(right, bottom + 32, unit, "end", True))
    parts += colour_key(key, left, bottom + 54)
    return svg(bottom + (60 if len(key) > 1 else 38), f"differences with intervals, {unit}", parts)


def heat_map(matrix: Sequence[Sequence[int]], row_names: Sequence[str], column_names: Sequence[str]) -> str:
    """Counts as shades, each row by its own total, since true counts above one are rare."""
    left, top, height = 74, 40, 44
    width = (WIDTH - left) / len(column_names)
    parts = ['<g class="plain">', text(left, 12, "estimated, rounded (shade and %: share of the row)", soft=True)]
    parts += [text(left + width * (i + 0.5), top - 8, name, "middle") for i, name in enumerate(column_names)]
    for row, (name, counts) in enumerate(zip(row_names, matrix)):
        y = top + height * row
        parts.append(text(0, y + height / 2 + 4, name))
        total = sum(counts) or 1
        for column, count in enumerate(counts):
            share = count / total
            x = left + width * column
            parts.append(
                f'<rect x="{x + 1:.1f}" y="{y + 1}" width="{width - 2:.1f}" height="{height - 2}" rx="3" '
                # The share of the darkest is short of 1, so that text stays readable on it.
                f'style="fill: rgba(var(--heat), {0.06 + 0.49 * share:.3f})"/>'
            )
            parts.append(text(x + width / 2, y + 20, f"{count:,}", "middle"))
            parts.append(text(x + width / 2, y + 35, f"{100 * share:.0f} %", "middle"))
    parts.append("</g>")
    return svg(top + height * len(row_names) + 6, "confusion matrix of the estimated frequencies", parts)
