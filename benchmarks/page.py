"""Write the figures of a run into docs/performance.md: `python -m benchmarks.page [DIR]`.

Replaces what lies between the marks of the page, and copies bench.json and the plots to docs/performance/.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from benchmarks.command import read_results
from benchmarks.goals import Goal, number
from benchmarks.tables import all_tables

PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"


def goals_table(goals: list[dict]) -> str:
    lines = ["| what | goal | measured | half of the rounds | |", "|---|---|---|---|---|"]
    for one in goals:
        verdict = {True: "met", False: "**missed**", None: "not measured"}[one.pop("met")]
        goal = Goal(**one)
        spread = goal.noise.removeprefix("half of the rounds: ")
        figure = "" if goal.figure is None else f"{number(goal.figure)}{goal.unit}"
        lines.append(f"| {goal.what} | {number(goal.limit)}{goal.unit} | {figure} | {spread} | {verdict} |")
    return "\n".join(lines)


def plots_table(curves: dict) -> str:
    lines = ["| | training | decoding |", "|---|---|---|"]
    for curve in curves["decoding"]:
        pictures = [
            f"![](performance/{kind}-{curve}.svg)" if curve in curves[kind] else "" for kind in ("training", "decoding")
        ]
        lines.append(f"| {curve} | {' | '.join(pictures)} |")
    return "\n".join(lines)


def filled(page: str, parts: dict[str, str]) -> str:
    """The page with other content between `<!-- NAME -->` and `<!-- end of NAME -->`."""
    for name, content in parts.items():
        start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        if start not in page or end not in page:
            raise SystemExit(f"{PAGE}: lacks the marks of {name}")
        between = re.escape(start) + ".*?" + re.escape(end)
        page = re.sub(between, lambda _, new=f"{start}\n{content}\n{end}": new, page, flags=re.DOTALL)
    return page


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "bench-out")
    results = read_results(folder / "bench.json")
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    parts = {
        "run": f"{results['threads']} thread(s); {versions}.",
        "goals": goals_table(results["goals"]),
        "tables": "\n\n".join(one.markdown() for one in all_tables(results)),
        "plots": plots_table(results["growth"]) if "growth" in results else "",
    }
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), parts), encoding="utf-8")
    for file in [folder / "bench.json", *folder.glob("*.svg")]:
        shutil.copy(file, PAGE.parent / "performance")


if __name__ == "__main__":
    main()
