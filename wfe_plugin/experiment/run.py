"""An experiment from its configuration to its report."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from wfe_plugin import standard_streams
from wfe_plugin.experiment.config import read_experiment
from wfe_plugin.experiment.lock import alone_in
from wfe_plugin.experiment.progress import say
from wfe_plugin.experiment.report import csv, html, markdown, text
from wfe_plugin.experiment.report.content import build, result_tables
from wfe_plugin.experiment.results import Results, collect
from wfe_plugin.experiment.runner import Runner
from wfe_plugin.whole_files import write_text


def run_experiment(
    config: str | Path,
    jobs: int | None = None,
    overwrite: bool = False,
    parsers: Callable[[], Mapping[str, Callable[[Sequence[str]], object]]] = dict,
) -> Results:
    """Do what is missing, write the report, and return all measurements.

    Args:
        config: the configuration file
        jobs: trainings or workers at once; None: one per core, at most four, or one on a GPU
        overwrite: replace data and models that were made with other settings
        parsers: gives those of the options of wfe-train and of decoding, which find mistakes before anything is done
    """
    experiment = read_experiment(config)
    runner = Runner(experiment, jobs, overwrite)
    runner.check(parsers())
    with alone_in(experiment.out):
        runner.run()
        results = collect(runner)
        write_report(results)
    return results


def write_report(results: Results) -> None:
    """The report as a page and as Markdown, and each table as CSV beside it."""
    experiment, document = results.experiment, build(results)
    stem = experiment.file.stem
    tables = experiment.out / f"{stem}-tables"
    shutil.rmtree(tables, ignore_errors=True)
    tables.mkdir()
    names = csv.file_names(document)
    for table in document.tables():
        write_text(tables / names[id(table)], csv.render(table))
    links = {key: f"{tables.name}/{name}" for key, name in names.items()}
    write_text(experiment.out / f"{stem}.md", markdown.render(document))
    write_text(experiment.out / f"{stem}.html", html.render(document, links))
    for table in result_tables(results):
        standard_streams.say(f"\n{text.render(table)}\n")
    say(f"report: {experiment.out / stem}.html, {stem}.md, {tables.name}/")
