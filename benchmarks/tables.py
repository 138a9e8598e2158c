"""What was measured, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.mask import BATCH, BEAM
from benchmarks.rounds import Spread, of_parts, ratio
from benchmarks.sizes import SETTINGS
from benchmarks.training import PARTS


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their content; all but the first to the right."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]

    def line(row: Sequence[str]) -> str:
        first, *others = (
            cell.rjust(width) if column else cell.ljust(width) for column, (cell, width) in enumerate(zip(row, widths))
        )
        return "  " + "  ".join((first, *others)).rstrip()

    return "\n".join(line(row) for row in (header, *rows))


def milliseconds(rounds: Sequence[Mapping[str, float]], key: str) -> str:
    return f"{1000 * Spread.of([one[key] for one in rounds]).median:,.0f}"


def training_table(rounds: list[dict], names: Mapping[str, str]) -> str:
    """Milliseconds of each part, and ratios of the whole step to the baselines."""
    whole = of_parts(rounds, *PARTS)
    rows = []
    for key in rounds[0]:
        parts = [milliseconds(of_parts(rounds, part), key) for part in PARTS]
        ratios = [str(ratio(whole, key, base)) for base in ("stock", "encdec")]
        rows.append([names[key], *parts, milliseconds(whole, key), *ratios])
    return table(["ms a step", *PARTS, "whole", "/ fairseq lstm", "/ EncDec"], rows)


def decoding_table(by_beam: Mapping[int, list[dict[str, float]]], names: Mapping[str, str], batch: int) -> str:
    """Sentences a second, and ratios of the time to fairseq's."""
    header = ["sentences/s"]
    for beam in by_beam:
        header += [f"beam {beam}", "time / fairseq"]
    rows = []
    for key in next(iter(by_beam.values()))[0]:
        row = [names[key]]
        for rounds in by_beam.values():
            speed = Spread.of([batch / one[key] for one in rounds]).median
            row += [f"{speed:.1f}", str(ratio(rounds, key, next(iter(rounds[0]))))]
        rows.append(row)
    return table(header, rows)


def memory_table(memory: Mapping[str, Mapping[str, int]], names: Mapping[str, str]) -> str:
    rows = [[names[key], f"{one['peak'] / 1e6:,.0f}", f"{one['parameters'] / 1e6:,.1f}"] for key, one in memory.items()]
    return table(["peak memory", "MB", "million parameters"], rows)


def mask_table(measured: Mapping[int, list[dict[str, float]]], work: Mapping[int, int]) -> str:
    rows = []
    for words, rounds in measured.items():
        addition = Spread.of([1000 * one["addition"] for one in rounds])
        beyond = Spread.of([1000 * (one["mask"] - one["addition"]) for one in rounds])
        rows.append([f"{words:,}", f"{work[words]:,}", f"{addition.median:.2f}", str(beyond)])
    header = [f"vocabulary, {BATCH} x {BEAM} rows", "numbers touched beyond one addition"]
    header += ["ms of one addition", "ms of the mask beyond it"]
    return table(header, rows)


def report(results: dict) -> str:
    """All tables."""
    names = results["names"]
    parts = ["Medians of the rounds; in parentheses, what half of the rounds lie between."]
    for size, rounds in results["training"].items():
        parts += [f"Training, {size} sizes, {len(rounds)} rounds", training_table(rounds, names)]
    for size, by_beam in results["decoding"].items():
        sizes = SETTINGS.get(size, SETTINGS["small"])
        counts = ", ".join(str(len(rounds)) for rounds in by_beam.values())
        title = f"Decoding, {size} sizes, batches of {sizes.decoding_batch}, {counts} rounds; "
        title += f"all outputs have {sizes.output_length} words, so all take {sizes.steps} steps"
        parts += [title, decoding_table(by_beam, names, sizes.decoding_batch)]
    parts += ["Peak memory of a training step, paper sizes", memory_table(results["memory"], names)]
    parts += ["The mask in a step of decoding", mask_table(results["mask"], results["mask_work"])]
    return "\n\n".join(parts)
