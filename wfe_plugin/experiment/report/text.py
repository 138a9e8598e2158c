"""A table of a report for the console."""

from __future__ import annotations

from wfe_plugin.experiment.report.document import Table


def render(table: Table) -> str:
    """Columns lined up, without the small print."""
    lines = [table.columns] + [[row.label, *(cell.text for cell in row.cells)] for row in table.rows]
    first = max(len(line[0]) for line in lines)
    widths = [max(len(line[i]) for line in lines) for i in range(1, len(table.columns))]
    shown = [
        line[0].ljust(first) + "".join("  " + cell.rjust(width) for cell, width in zip(line[1:], widths))
        for line in lines
    ]
    return "\n".join([table.caption, *(line.rstrip() for line in shown)])
