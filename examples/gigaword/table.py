#!/usr/bin/env python3
"""Table 2 of the paper from the scores that run.sh has left in a directory, beside the paper's own."""

import json
import sys
from pathlib import Path

SYSTEMS = {"encdec": "EncDec", "wfe": "EncDec+WFE"}
# DUC-2004: recall at 75 bytes; Gigaword: F1.
SETS = {"duc2004": "DUC-2004 (recall)", "gigaword": "Gigaword (F1)"}
METRICS = ("rouge-1", "rouge-2", "rouge-l")
PAPER = {  # DUC-2004, R-L, then Gigaword, R-L
    ("encdec", 1): (29.23, 8.71, 25.27, 33.99, 16.06, 31.63),
    ("encdec", 5): (29.52, 9.45, 25.80, 34.27, 16.68, 32.14),
    ("encdec", 10): (29.60, 9.62, 25.97, 34.18, 16.51, 31.97),
    ("wfe", 1): (31.92, 9.36, 27.22, 36.21, 16.87, 33.55),
    ("wfe", 5): (32.28, 10.54, 27.80, 36.30, 17.31, 33.88),
    ("wfe", 10): (31.70, 10.34, 27.48, 36.08, 17.23, 33.73),
}


def read_scores(directory: Path) -> dict:
    """By system and beam, the numbers of a row in the order of `PAPER`."""
    rows = {}
    for name in SETS:
        for path in directory.glob(f"{name}/*/scores.json"):
            system, beam = path.parent.name.split("-")
            content = json.loads(path.read_text(encoding="utf-8"))
            rouge = content["systems"][0]["rouge"]
            values = [rouge[metric][content["headline"]]["value"] for metric in METRICS]
            rows.setdefault((system, int(beam)), {})[name] = values
    return {key: [value for name in SETS for value in row[name]] for key, row in rows.items()}


def as_table(scores: dict) -> str:
    width = 9 * len(METRICS)
    lines = [
        " " * 18 + "".join(f"{title:>{width}}" for title in SETS.values()),
        f"{'':12}{'beam':>6}" + "".join(f"{metric.upper():>9}" for metric in METRICS) * len(SETS),
    ]

    def row(label, beam, values, sign=""):
        return f"{label:12}{beam:>6}" + "".join(f"{value:{sign}9.2f}" for value in values)

    beams = sorted({beam for _, beam in scores})
    for system, label in SYSTEMS.items():
        for beam in beams:
            lines.append(row(label, beam, scores[system, beam]))
            if (system, beam) in PAPER:
                lines.append(row("  paper", "", PAPER[system, beam]))
    for beam in beams:
        gains = [ours - base for ours, base in zip(scores["wfe", beam], scores["encdec", beam])]
        lines.append(row("gain", beam, gains, sign="+"))
    return "\n".join(lines)


if __name__ == "__main__":
    scores = read_scores(Path(sys.argv[1]))
    if not scores:
        sys.exit(f"table.py: {sys.argv[1]}: holds no scores of run.sh")
    print(as_table(scores))
