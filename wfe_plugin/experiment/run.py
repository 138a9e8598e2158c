"""A configuration to a report."""

from __future__ import annotations

from wfe_plugin.experiment.config import read_experiment
from wfe_plugin.experiment.lock import alone_in
from wfe_plugin.experiment.progress import say
from wfe_plugin.experiment.report import html, markdown
from wfe_plugin.experiment.report.content import build
from wfe_plugin.experiment.results import collect
from wfe_plugin.experiment.runner import Runner
from wfe_plugin.whole_files import write_text


def run_experiment(config: str, jobs: int | None = None, overwrite: bool = False) -> None:
    """Do what is not done yet, and write the report beside the results, as Markdown and as HTML.

    Args:
        config: the configuration file
        jobs: trainings or decodings at once (default: one per core, at most four; one on a GPU)
        overwrite: replace data and models that were made with other settings
    """
    experiment = read_experiment(config)
    runner = Runner(experiment, jobs, overwrite)
    runner.check()
    with alone_in(experiment.out):
        runner.run()
        report = build(collect(runner))
        for suffix, renderer in ((".md", markdown), (".html", html)):
            path = experiment.out / f"{experiment.file.stem}{suffix}"
            write_text(path, renderer.render(report))
            say(f"report: {path}")
