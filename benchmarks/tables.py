"""What was measured, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from benchmarks.mask import BATCH, BEAM
from benchmarks.rounds import Spread, of_parts, ratio
from benchmarks.sizes import SETTINGS
from benchmarks.training import PARTS


class Table(NamedTuple):
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def text(self) -> str:
        return f"{self.title}\n\n{table(self.header, self.rows)}"

    def markdown(self) -> str:
        lines = [self.header, ["---"] + ["---:"] * (len(self.header) - 1), *self.rows]
        return "\n".join([f"{self.title}:", "", *("| " + " | ".join(line) + " |" for line in lines)])


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


def training_table(title: str, rounds: list[dict], names: Mapping[str, str]) -> Table:
    """Milliseconds of each part, and ratios of the whole step to the baselines."""
    whole = of_parts(rounds, *PARTS)
    rows = []
    for key in rounds[0]:
        parts = [milliseconds(of_parts(rounds, part), key) for part in PARTS]
        ratios = [str(ratio(whole, key, base) or "-") for base in ("stock", "encdec", "opennmt")]
        rows.append([names[key], *parts, milliseconds(whole, key), *ratios])
    return Table(title, ["ms per step", *PARTS, "whole", "/ fairseq lstm", "/ EncDec", "/ OpenNMT-py"], rows)


def decoding_table(
    title: str, by_beam: Mapping[int, list[dict[str, float]]], names: Mapping[str, str], batch: int
) -> Table:
    """Sentences per second, and ratios of the time to fairseq's."""
    header = ["sentences per second"]
    for beam in by_beam:
        header += [f"beam {beam}", "time / fairseq"]
    rows = []
    for key in next(iter(by_beam.values()))[0]:
        row = [names[key]]
        for rounds in by_beam.values():
            if key not in rounds[0]:
                row += ["-", "-"]
                continue
            speed = Spread.of([batch / one[key] for one in rounds]).median
            row += [f"{speed:.1f}", str(ratio(rounds, key, next(iter(rounds[0]))))]
        rows.append(row)
    return Table(title, header, rows)


def memory_table(memory: Mapping[str, Mapping[str, Mapping[str, int]]], names: Mapping[str, str]) -> Table:
    """By kind: training by the name of its sizes, and decoding."""
    rows = []
    for kind, of_kind in memory.items():
        for key, one in of_kind.items():
            what = kind if kind.startswith("decoding") else f"training {kind}"
            rows.append([f"{what}: {names[key]}", f"{one['peak'] / 1e6:,.0f}", f"{one['parameters'] / 1e6:,.1f}"])
    return Table("Peak memory of a process", ["", "MB", "million parameters"], rows)


def mask_table(measured: Mapping[int, list[dict[str, float]]], work: Mapping[int, int]) -> Table:
    rows = []
    for words, rounds in measured.items():
        addition = Spread.of([1000 * one["addition"] for one in rounds])
        beyond = Spread.of([1000 * (one["mask"] - one["addition"]) for one in rounds])
        rows.append([f"{words:,}", f"{work[words]:,}", f"{addition.median:.2f}", str(beyond)])
    header = [f"vocabulary, {BATCH} x {BEAM} rows", "numbers touched beyond one addition"]
    header += ["ms of one addition", "ms of the mask beyond it"]
    return Table("The mask in a step of decoding", header, rows)


def preprocessing_table(measured: Mapping[int, Mapping[str, float]]) -> Table:
    rows = [
        [f"{pairs:,}", f"{one['seconds']:.0f}", f"{one['cpu']:.0f}", f"{one['peak'] / 1e6:,.0f}"]
        for pairs, one in measured.items()
    ]
    return Table("wfe-preprocess with BPE, two processes", ["pairs", "seconds", "processor seconds", "peak MB"], rows)


def pipeline_table(measured: Mapping[str, dict]) -> Table:
    rows = [
        [f"wfe-generate --processes {number}", f"{speed:.0f} sentences per second"]
        for number, speed in measured["processes"].items()
    ]
    for part, name in (("whole", "one of an experiment's decodings of 100 sentences"), ("search", "its search alone")):
        rows.append([name, f"{measured['experiment'][part]:.2f} s"])
    return Table("Whole commands", ["", ""], rows)


def all_tables(results: dict) -> Iterator[Table]:
    """Of what was measured."""
    names = results["names"]
    for size, rounds in results.get("training", {}).items():
        yield training_table(f"Training, {size} sizes, {len(rounds)} rounds", rounds, names)
    for size, by_beam in results.get("decoding", {}).items():
        sizes = SETTINGS.get(size, SETTINGS["small"])
        counts = ", ".join(str(len(rounds)) for rounds in by_beam.values())
        title = f"Decoding, {size} sizes, batches of {sizes.decoding_batch}, {counts} rounds; "
        title += f"all outputs have {sizes.output_length} words, so all take {sizes.steps} steps"
        yield decoding_table(title, by_beam, names, sizes.decoding_batch)
    if "memory" in results:
        yield memory_table(results["memory"], names)
    if {"mask", "mask_work"} <= set(results):
        yield mask_table(results["mask"], results["mask_work"])
    if "preprocessing" in results:
        yield preprocessing_table(results["preprocessing"])
    if "pipeline" in results:
        yield pipeline_table(results["pipeline"])


def report(results: dict) -> str:
    """All tables."""
    parts = ["Medians of the rounds; in parentheses, what half of the rounds lie between."]
    return "\n\n".join([*parts, *(one.text() for one in all_tables(results))])
