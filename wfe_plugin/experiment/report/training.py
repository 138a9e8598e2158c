"""How the models were trained: curves and times."""

from __future__ import annotations

from statistics import mean

from wfe_plugin.experiment.report import document as doc
from wfe_plugin.experiment.report.pictures import COLOURS, Series, line_chart
from wfe_plugin.experiment.results import Results

NLL = "nll_loss"
# Beside the NLL; each in a picture of its own, since no two trainings' values can be compared.
FURTHER = {
    "wfe_loss": "loss of the estimate",
    "unlikelihood_loss": "unlikelihood loss",
    "risk": "risk",
}


def training_section(results: Results) -> list:
    """Nothing where all summaries are other programs'."""
    names = list(results.curves)
    if not names:
        return []
    pictures = [picture(results, names, NLL, "Negative log-likelihood", "bits per word")]
    for curve, label in FURTHER.items():
        pictures += [picture(results, [name], curve, f"{name}: {label}", "per sentence") for name in names]
    return [
        doc.Heading("Training"),
        doc.Pictures([one for one in pictures if one]),
        models_table(results),
    ]


def picture(results: Results, names: list[str], curve: str, label: str, unit: str) -> doc.Picture | None:
    """The curve of some trainings, on the training and the validation set; None if none has it."""
    series, values = [], {}
    colours = {name: 1 + number % COLOURS for number, name in enumerate(results.curves)}
    for name in names:
        by_seed = results.curves[name]
        for kind, what, dash in (("valid", "validation", 0), ("train", "training", 2)):
            for seed, curves in by_seed.items():
                points = sorted(curves.get(f"{kind}_{curve}", {}).items())
                if points:
                    # The first seed in full colour, the others behind it.
                    faint = seed != next(iter(by_seed))
                    series.append(Series(f"{name}, {what}", points, colours[name], dash, faint))
                    values[f"{name}, {what}, seed {seed}"] = dict(points)
    if not series:
        return None
    rows = [
        doc.Row(str(epoch), [doc.Cell(f"{by[epoch]:.3f}" if epoch in by else "–") for by in values.values()])
        for epoch in sorted({epoch for by_epoch in values.values() for epoch in by_epoch})
    ]
    table = doc.Table(f"{label}, {unit}, as numbers", ["epoch", *values], rows, folded=True)
    pale = "; pale: further seeds" if len(results.experiment.seeds) > 1 else ""
    return doc.Picture(line_chart(series, "epoch", unit), f"{label}{pale}", table)


def models_table(results: Results) -> doc.Table:
    """Sizes, epochs and times."""
    rows = []
    for training in results.experiment.trainings:
        models = results.models[training.name]
        minutes = [
            mean(one.seconds for one in results.models[name.name]) / 60 for name in (*training.ancestors, training)
        ]
        parameters = models[0].parameters / 1e6
        cells = [
            f"{parameters:.2f}" if parameters else "–",
            ", ".join(f"{one.epochs} ({one.best_epoch})" for one in models) if models[0].epochs else "–",
            f"{minutes[-1]:.1f}" if minutes[-1] else "–",
            f"{sum(minutes):.1f}" if all(minutes) else "–",
        ]
        base = f" (on top of {training.base.name})" if training.base else ""
        rows.append(doc.Row(f"{training.name}{base}", [doc.Cell(cell) for cell in cells]))
    several = ", means over the seeds" if len(results.experiment.seeds) > 1 else ""
    return doc.Table(
        f"The models: size, epochs (best epoch), training time{several}",
        ["", "million parameters", "epochs", "minutes", "including base model"],
        rows,
        "Time: epochs and their validation, by fairseq's clock. Trainings may have shared the machine.",
    )
