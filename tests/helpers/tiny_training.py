"""Trainings that take seconds, for the tests and the stress scripts."""

import os
import random
import sys
from pathlib import Path

from wfe_plugin.cli import preprocess
from wfe_plugin.pipeline.presets import PRESETS

TINY = [
    option
    for side in ("encoder", "decoder")
    for option in (f"--{side}-hidden-size", "8", f"--{side}-embed-dim", "4", f"--{side}-layers", "1")
] + ["--log-interval", "1"]


def script_environment():
    """For the scripts to find the Python that runs the tests."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "VIRTUAL_ENV": sys.prefix, "PATH": path, "OMP_NUM_THREADS": "1"}


def write_text(directory, sizes, words="abcdefghij"):
    """Text pairs in files of `directory`; returns the options that name them to wfe-preprocess.

    The summary is every other word.
    """
    rng = random.Random(0)
    for split, size in sizes:
        sources = [rng.choices(words, k=rng.randint(2, 8)) for _ in range(size)]
        for suffix, step in (("article", 1), ("title", 2)):
            lines = [" ".join(source[::step]) + "\n" for source in sources]
            (directory / f"{split}.{suffix}").write_text("".join(lines))
    return [item for split, _ in sizes for item in (f"--{split}", str(directory / split))]


def prepare(directory, sizes=(("train", 300), ("valid", 12), ("test", 11))):
    """Prepared data in directory/"my data"."""
    sets = write_text(directory, sizes)
    assert preprocess.main([*sets, "--out", str(directory / "my data")]) == 0
    return directory / "my data"


def options(data, out, *more, preset="paper"):
    """Arguments of wfe-train; the estimator is the paper's, trained in one phase, unless `more` says otherwise."""
    says = {"--baseline", "--add-wfe", "--from", "--estimator"} & set(map(str, more))
    estimator = [] if says or not PRESETS[preset].takes_wfe or preset == "mrt" else ["--estimator", "paper"]
    return ["--data", str(data), "--out", str(out), "--preset", preset, *estimator, *more]
