"""Table 4 of the paper: the estimated frequencies beside the true ones."""

from __future__ import annotations

from wfe_plugin.experiment.report import document as doc
from wfe_plugin.experiment.report.pictures import heat_map
from wfe_plugin.experiment.results import TestResults


def estimates_section(test: TestResults, suffix: str = "") -> list:
    """Nothing where no model estimates frequencies."""
    if not test.frequencies:
        return []
    return [
        doc.Heading(f"What the estimator knows{suffix}"),
        doc.Paragraph(
            "The references' words, by true frequency in their reference and by estimated frequency. Words are "
            "entries of the model's vocabulary; with BPE, these are pieces of words."
        ),
        doc.Pictures([matrix(training, by_seed) for training, by_seed in test.frequencies.items()]),
        recall_table(test.frequencies),
    ]


def matrix(training: str, by_seed: dict[int, dict]) -> doc.Picture:
    """That of the first seed."""
    seed, first = next(iter(by_seed.items()))
    true_counts = [f"true {label}".replace(">=", "≥") for label in first["true_counts"]]
    estimates = [label.replace(">=", "≥") for label in first["estimates"]]
    rows = []
    for label, counts in zip(true_counts, first["matrix"]):
        total = sum(counts) or 1
        rows.append(doc.Row(label, [doc.Cell(f"{count:,}", f"{100 * count / total:.0f} %") for count in counts]))
    caption = f"Table 4 of the paper, {training}" + (f", seed {seed}" if len(by_seed) > 1 else "")
    table = doc.Table(
        f"{caption}: true frequency (rows) and estimate, rounded (columns)", ["", *estimates], rows, folded=True
    )
    return doc.Picture(heat_map(first["matrix"], true_counts, estimates), caption, table)


def recall_table(frequencies: dict[str, dict[int, dict]]) -> doc.Table:
    rows = [
        doc.Row(
            f"seed {seed}",
            [
                doc.Cell(f"{result['recall']:.1f} %"),
                doc.Cell(f"{result['allowed_recall']:.1f} %"),
                doc.Cell(f"{result['mean_allowed_words']:,.0f}"),
            ],
            training,
        )
        for training, by_seed in frequencies.items()
        for seed, result in by_seed.items()
    ]
    return doc.Table(
        "How many of the references' words the estimates find",
        ["", "recall", "allowed", "words allowed"],
        rows,
        "Recall: share of the references' words that are estimated to occur. Allowed: share of them that the bound "
        "allows at all. Words allowed: number of words that it allows per sentence (all of them with the estimator "
        "votes, which makes words unlikely instead).",
    )
