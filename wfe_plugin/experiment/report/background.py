"""The parts of the report that are about no test set: tuning, speed, and how it all was made."""

from __future__ import annotations

from wfe_plugin.evaluation.rouge_protocol import METRICS, PROTOCOLS
from wfe_plugin.experiment.report import document as doc
from wfe_plugin.experiment.results import Results
from wfe_plugin.experiment.worker import SUMMARIES


def tuning_section(results: Results) -> list:
    if not results.tunings:
        return []
    return [
        doc.Heading("Tuning"),
        doc.Paragraph(
            "Each value was tried on the validation set. The value with the best mean of ROUGE-1, -2 and -L decoded "
            "the test sets (the first one, if several are equal): one value for all seeds and beams. If the choice "
            "is the first or the last value, the range may be too narrow."
        ),
        *(tuning_table(results, protocol) for protocol in results.experiment.protocols),
    ]


def tuning_table(results: Results, protocol: str) -> doc.Table:
    rows = []
    for tuning in results.tunings:
        options = ", ".join(option for option, _ in tuning.system.grid)
        for candidate in tuning.candidates:
            chosen = candidate is tuning.chosen(protocol)
            cells = [doc.Cell(f"{candidate.rouge[protocol][metric]:.2f}", strong=chosen) for metric in METRICS]
            cells.append(doc.Cell(f"{candidate.score(protocol):.2f}", "chosen" if chosen else "", strong=chosen))
            rows.append(doc.Row(", ".join(candidate.values), cells, f"{tuning.system.name}: {options}"))
    seeds = len(results.experiment.seeds)
    return doc.Table(
        f"ROUGE on the validation set by {PROTOCOLS[protocol].description}, beam {results.experiment.tuning_beam}"
        + (f", mean over {seeds} seeds" if seeds > 1 else ""),
        ["", *(metric.upper() for metric in METRICS), "mean"],
        rows,
    )


def speed_section(results: Results) -> list:
    speeds, experiment = results.speeds, results.experiment
    if not speeds:
        return []
    rows = []
    for system in experiment.systems:
        if not speeds.knows(system.name):
            continue
        time, ratio = speeds.milliseconds(system.name), speeds.ratio(system.name)
        rows.append(
            doc.Row(
                system.name,
                [
                    doc.Cell(f"{time.median:.1f}", f"{time.low:.1f} to {time.high:.1f}"),
                    doc.Cell(f"{ratio.median:.2f}", f"{ratio.low:.2f} to {ratio.high:.2f}"),
                ],
            )
        )
    return [
        doc.Heading("Speed"),
        doc.Paragraph(
            f"All systems decoded the same sentences in turn, in {experiment.speed_rounds} "
            f"round{'s' if experiment.speed_rounds > 1 else ''}, every other one backwards: set "
            f"{experiment.tests[0].split!r} (part of it, if it is large), beam {experiment.middle_beam}, seed "
            f"{experiment.seeds[0]}. Ratios are taken within a round. The table shows medians and extremes over the "
            "rounds; differences within the extremes are noise."
        ),
        doc.Table(
            "Search time",
            ["", "ms per sentence", f"ratio to {experiment.baseline.name}"],
            rows,
        ),
    ]


def outputs_section(results: Results) -> list:
    """Links to the summaries themselves."""
    out = results.experiment.out
    links = [
        (f"{test.test.name}: {system}, beam {beam}, seed {run.seed}", f"{run.folder.relative_to(out)}/{SUMMARIES}")
        for test in results.tests
        for (system, beam), runs in test.runs.items()
        for run in runs
    ]
    return [doc.Heading("Outputs"), doc.Links("The summaries of all systems, one per line", links)]


def provenance_section(results: Results) -> list:
    lines = [", ".join(f"{name} {version}" for name, version in found.items()) for found in results.versions]
    text = "Made with " + "; and with ".join(lines) + "." if lines else ""
    config = results.experiment.file
    return [
        doc.Heading("How this was made"),
        *([doc.Paragraph(text)] if text else []),
        doc.Code(f"Configuration, {config.name}", config.read_text(encoding="utf-8-sig").strip()),
        doc.Code("Commands", "\n".join([f"wfe-experiment {config.name}", "", "# which ran:", *results.commands])),
    ]
