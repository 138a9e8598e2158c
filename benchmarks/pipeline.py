"""What whole commands cost with a small trained model: several processes, and the decodings of an experiment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

from benchmarks.commands import ROOT, write_text

TRAINED_ON = 3000  # pairs
LENGTH = ("--max-len-a", "0", "--min-len", "20", "--max-len-b", "20")  # all outputs have the same


def run(module: str, *arguments: str) -> float:
    """Seconds of a command, in one thread."""
    started = perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise ChildProcessError(f"{module} failed: {(done.stderr or done.stdout)[-500:]}")
    return perf_counter() - started


def measure_pipeline(texts: int, say: Callable[[str], None]) -> dict[str, dict]:
    """
    Args:
        texts: so many are decoded by one process, and by two
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_text(folder, TRAINED_ON)
        for suffix in ("article", "title"):  # a set of 100 pairs
            lines = (folder / f"valid.{suffix}").read_text(encoding="utf-8").splitlines(keepends=True)
            (folder / f"test.{suffix}").write_text("".join(lines[:100]), encoding="utf-8")
        say("pipeline: a model")
        sets = [text for one in ("train", "valid", "test") for text in (f"--{one}", str(folder / one))]
        run("wfe_plugin.cli.preprocess", *sets, "--out", str(folder / "data"), "--bpe", "joint", "--merges", "2000")
        model = ["--data", str(folder / "data"), "--out", str(folder / "model")]
        run("wfe_plugin.cli.train", *model, "--preset", "small", "--baseline", "--epochs", "1", "--threads", "1")
        return {"processes": measure_processes(folder, texts, say), "experiment": measure_experiment(folder, say)}


def measure_processes(folder: Path, texts: int, say: Callable[[str], None]) -> dict[int, float]:
    """Sentences per second of one and of two processes, beyond what a start costs."""
    lines = (folder / "train.article").read_text(encoding="utf-8").splitlines(keepends=True)
    speed = {}
    for processes in (1, 2):
        say(f"pipeline: {processes} process(es)")
        seconds = {}
        for count in (texts // 10, texts):
            (folder / "input").write_text("".join((lines * (count // len(lines) + 1))[:count]), encoding="utf-8")
            arguments = ["--model", str(folder / "model"), "--input", str(folder / "input"), "--threads", "1"]
            arguments += ["--out", str(folder / f"out-{processes}-{count}"), "--processes", str(processes)]
            seconds[count] = run("wfe_plugin.cli.generate", *arguments, "--", *LENGTH)
        few, many = min(seconds), max(seconds)
        speed[processes] = (many - few) / (seconds[many] - seconds[few])
    return speed


def measure_experiment(folder: Path, say: Callable[[str], None], decodings: int = 5) -> dict[str, float]:
    """Of decodings of 100 sentences with one model: seconds of each, and of its search alone."""
    say("pipeline: decodings of an experiment")
    records = [folder / f"decoding{number}" / "record.json" for number in range(decodings)]
    items = [item(folder, record) for record in records]
    work = folder / "work.json"
    work.write_text(json.dumps({"data": str(folder / "data"), "threads": 1, "items": items}), encoding="utf-8")
    whole = run("wfe_plugin.experiment.worker", str(work))
    searches = [json.loads(record.read_text(encoding="utf-8"))["seconds"] for record in records]
    return {"whole": whole / decodings, "search": sum(searches) / decodings}


def item(folder: Path, record: Path) -> dict:
    arguments: Sequence[str] = ("--beam", "5", "--wfe-decoding", "auto", *LENGTH)
    facts = {"description": {}, "command": "", "versions": {}, "model": str(folder / "model"), "split": "test"}
    return {"kind": "decode", "name": record.parent.name, "record": str(record), "arguments": list(arguments), **facts}
