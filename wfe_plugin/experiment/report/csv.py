"""The tables of a report as CSV files, for spreadsheets and programs."""

from __future__ import annotations

import csv
import io

from wfe_plugin.experiment.plan import slug
from wfe_plugin.experiment.report.document import Document, Table


def file_names(document: Document) -> dict[int, str]:
    """A name for each table, by its `id`: its number in the report and the beginning of its caption."""
    return {
        id(table): f"{number:02}-{slug(table.caption.lower())[:48].rstrip('-.')}.csv"
        for number, table in enumerate(document.tables(), start=1)
    }


def render(table: Table) -> str:
    """Small print has columns of its own, where there is any."""
    grouped = any(row.group for row in table.rows)
    small = [
        (any(row.cells[i].detail for row in table.rows), any(row.cells[i].second for row in table.rows))
        for i in range(len(table.columns) - 1)
    ]
    header = ["group"] * grouped + ["row" if not table.columns[0] else table.columns[0]]
    for name, (detail, second) in zip(table.columns[1:], small):
        header += [name, *[f"{name}, detail"] * detail, *[f"{name}, second detail"] * second]
    lines = []
    for row in table.rows:
        line = [row.group] * grouped + [row.label]
        for cell, (detail, second) in zip(row.cells, small):
            line += [cell.text, *[cell.detail] * detail, *[cell.second] * second]
        lines.append(line)
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([header, *lines])
    return file.getvalue()
