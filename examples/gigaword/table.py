#!/usr/bin/env python3
"""Table 2 of the paper, and our systems, from the scores that run.sh has left in a directory, beside the paper's own."""

import argparse
import json
import sys
from pathlib import Path

SYSTEMS = {
    "encdec": "EncDec",
    "cap": "EncDec, cap 1",
    "rule": "rule without training",
    "wfe": "EncDec+WFE",
    "copying": "EncDec+copying",
    "votes": "WFE votes",
}
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


def read_scores(directory: Path, beams: list) -> dict:
    """By system and beam, the numbers of a row in the order of `PAPER`.

    Only these beams: a run that was interrupted may have left some of others.
    """
    return {
        (system, beam): [
            value for name in SETS for value in read_values(directory / name / f"{system}-{beam}" / "scores.json")
        ]
        for system in SYSTEMS
        for beam in beams
    }


def read_values(path: Path) -> list:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        rouge = content["systems"][0]["rouge"]
        return [float(rouge[metric][content["headline"]]["value"]) for metric in METRICS]
    except OSError as error:
        sys.exit(f"table.py: {path}: {error.strerror}; run.sh makes it")
    except (ValueError, KeyError, IndexError, TypeError):
        sys.exit(f"table.py: {path}: no scores of wfe-generate; remove it, and run.sh makes it again")


def as_table(scores: dict) -> str:
    width = 9 * len(METRICS)
    lines = [
        " " * 28 + "".join(f"{title:>{width}}" for title in SETS.values()),
        f"{'':22}{'beam':>6}" + "".join(f"{metric.upper():>9}" for metric in METRICS) * len(SETS),
    ]

    def row(label, beam, values, sign=""):
        return f"{label:22}{beam:>6}" + "".join(f"{value:{sign}9.2f}" for value in values)

    beams = sorted({beam for _, beam in scores})
    for system, label in SYSTEMS.items():
        for beam in beams:
            lines.append(row(label, beam, scores[system, beam]))
            if (system, beam) in PAPER:
                lines.append(row("  paper", "", PAPER[system, beam]))
    for system in ("wfe", "votes"):
        for beam in beams:
            gains = [ours - base for ours, base in zip(scores[system, beam], scores["encdec", beam])]
            lines.append(row(f"gain, {SYSTEMS[system]}", beam, gains, sign="+"))
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path, metavar="DIR", help="--out of run.sh")
    parser.add_argument("beams", type=int, nargs="+", metavar="BEAM", help="--beams of run.sh")
    args = parser.parse_args()
    print(as_table(read_scores(args.directory, args.beams)))
