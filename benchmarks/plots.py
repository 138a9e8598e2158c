"""The growth curves as SVG files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchmarks.growth import X_LABELS
from wfe_plugin.experiment.report.pictures import Series, line_chart
from wfe_plugin.experiment.report.style import STYLE

Y_LABELS = {
    "training": "seconds for a batch, forward and backward",
    "decoding": "seconds for a batch",
}


def write_plots(curves: Mapping, names: Mapping[str, str], directory: Path) -> list[Path]:
    """One file a curve, such as training-vocabulary.svg."""
    written = []
    for kind, of_kind in curves.items():
        for curve, points in of_kind.items():
            if len(points) < 2:
                continue
            path = directory / f"{kind}-{curve}.svg"
            path.write_text(plot(points, names, X_LABELS[curve.split("-")[-1]], Y_LABELS[kind]), encoding="utf-8")
            written.append(path)
    return written


def plot(points: Mapping[int, Mapping[str, float]], names: Mapping[str, str], x_label: str, y_label: str) -> str:
    """A line for each contender, from {x: {contender: y}}."""
    series = [
        Series(name, [(x, at_x[key]) for x, at_x in points.items()], colour=colour)
        for colour, (key, name) in enumerate(names.items(), start=1)
        if all(key in at_x for at_x in points.values())
    ]
    return standalone(line_chart(series, x_label, y_label, zero=True))


def standalone(picture: str) -> str:
    """A picture of the HTML report as a file of its own, which brings the page's style and background."""
    declared = picture.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    style = f'<style>{STYLE}</style>\n<rect width="100%" height="100%" style="fill: var(--paper)"/>'
    start, rest = declared.split("\n", 1)
    return f"{start}\n{style}\n{rest}\n"
