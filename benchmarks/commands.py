"""What commands cost before and beside the models: --help, and the preparation of text."""

from __future__ import annotations

import importlib
import os
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from time import perf_counter

from benchmarks.data import SEED

ROOT = Path(__file__).resolve().parent.parent
GIGAWORD = 3_800_000  # pairs
PROCESSES = 2
FORMS = 50_000  # different words of the text
WORDS = {"article": 30, "title": 9}  # of a text


def command_modules() -> list[str]:
    return sorted(
        path.stem
        for path in (ROOT / "wfe_plugin" / "cli").glob("*.py")
        if hasattr(importlib.import_module(f"wfe_plugin.cli.{path.stem}"), "main")
    )


def run(arguments: Sequence[str]) -> tuple[float, float]:
    """Seconds of a command, on the clock and of the processors."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    seconds, after = perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure_help() -> dict[str, float]:
    """Processor seconds of --help of each command."""
    return {name: run([f"wfe_plugin.cli.{name}", "--help"])[1] for name in command_modules()}


def write_text(directory: Path, pairs: int) -> None:
    """Text with words as frequent as Zipf says, made of a few hundred syllables."""
    rng = random.Random(SEED)
    syllables = [a + b + c for a in "bcdfgklmnprst" for b in "aeiou" for c in ("", "n", "r", "s")]
    forms = ["".join(rng.choices(syllables, k=rng.randint(1, 4))) for _ in range(FORMS)]
    weights = list(accumulate(1 / rank for rank in range(1, FORMS + 1)))
    for name, count in (("train", pairs), ("valid", 1000)):
        for suffix, words in WORDS.items():
            with open(directory / f"{name}.{suffix}", "w", encoding="utf-8") as file:
                for _ in range(count):
                    line = rng.choices(forms, cum_weights=weights, k=rng.randint(words // 2, 3 * words // 2))
                    file.write(" ".join(line) + "\n")


def measure_preprocessing(sizes: Sequence[int]) -> dict[int, dict[str, float]]:
    """Of each number of pairs: seconds, processor seconds, and the peak memory of the largest process in bytes."""
    measured = {}
    for pairs in sizes:
        with tempfile.TemporaryDirectory() as folder:
            write_text(Path(folder), pairs)
            arguments = ["--train", os.path.join(folder, "train"), "--valid", os.path.join(folder, "valid")]
            arguments += ["--out", os.path.join(folder, "out"), "--bpe", "joint", "--workers", str(PROCESSES)]
            code = "import resource, sys; from wfe_plugin.cli.preprocess import main; status = main(sys.argv[1:]); "
            code += "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss); sys.exit(status)"
            before, started = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
            done = subprocess.run(
                [sys.executable, "-c", code, *arguments], cwd=ROOT, stdout=subprocess.PIPE, check=True
            )
            seconds, after = perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            measured[pairs] = {"seconds": seconds, "cpu": cpu, "peak": 1024.0 * int(done.stdout.split()[-1])}
    return measured


def minutes_for_gigaword(measured: dict[int, dict[str, float]]) -> float:
    """By a straight line through the smallest and the largest number of pairs."""
    few, many = min(measured), max(measured)
    per_pair = (measured[many]["seconds"] - measured[few]["seconds"]) / (many - few)
    return (measured[many]["seconds"] + (GIGAWORD - many) * per_pair) / 60


def growth_of_memory(measured: dict[int, dict[str, float]]) -> float:
    return measured[max(measured)]["peak"] / measured[min(measured)]["peak"]
