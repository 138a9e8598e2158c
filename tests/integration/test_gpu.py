"""On a GPU: trains for a few updates in half precision, and decodes as on the CPU.

Skipped where there is no CUDA.
"""

import json
import math
import os
import re
import subprocess
import sys

import pytest
import torch

from helpers import ROOT
from helpers.tiny_training import write_text

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="GPU: there is no CUDA here"),
]
PLUGIN = ["--user-dir", str(ROOT / "wfe_plugin"), "--task", "summarization_wfe"]
DECODINGS = [
    "",
    "--wfe-decoding bound",
    "--wfe-decoding off",
    "--wfe-shortlist 8",
    "--word-cap 1 --no-repeat-ngram-size 2",
]


def run(folder, command, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", f"fairseq_cli.{command}", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With binarised data in data/."""
    folder = tmp_path_factory.mktemp("gpu")
    write_text(folder, (("train", 200), ("valid", 20), ("test", 20)))
    sets = [f"--{split}pref={split}" for split in ("train", "valid", "test")]
    run(folder, "preprocess", "-s", "article", "-t", "title", *sets, "--destdir", "data")
    return folder


def train(folder, out, *more):
    """Twenty updates; returns the last losses that were logged in training."""
    output = run(
        folder, "train", "data", *PLUGIN, "--arch", "wfe_lstm_tiny", "--optimizer", "adam", "--lr", "0.002",
        "--batch-size", "32", "--max-update", "20", "--save-dir", out, "--log-format", "json", "--log-interval", "5",
        "--no-progress-bar", *more,
    )  # fmt: skip
    return json.loads(re.findall(r"\| train_inner \| (\{.*\})", output)[-1])


@pytest.mark.parametrize("precision", ["--fp16", "--bf16", "--amp"])
@pytest.mark.parametrize("estimator", ["paper", "votes"])
def test_training(folder, precision, estimator):
    if precision == "--bf16" and not torch.cuda.is_bf16_supported():
        pytest.skip("GPU: it does not know bfloat16")
    options = ["--criterion", "nll_wfe", "--wfe-estimator", estimator, precision]
    losses = train(folder, f"{estimator}{precision}", *options)
    assert all(math.isfinite(float(losses[name])) for name in ("loss", "nll_loss", "wfe_loss"))
    weights = torch.load(folder / f"{estimator}{precision}" / "checkpoint_last.pt", map_location="cpu")["model"]
    assert all(torch.isfinite(tensor).all() for tensor in weights.values() if tensor.is_floating_point())


@pytest.mark.parametrize("criterion", ["mrt --mrt-bounded", "nll_unlikelihood"])
def test_other_criteria(folder, criterion):
    losses = train(folder, criterion.split()[0], "--criterion", *criterion.split(), "--fp16")
    assert math.isfinite(float(losses["loss"]))


@pytest.fixture(scope="module")
def model(folder):
    train(folder, "float32", "--criterion", "nll_wfe")
    return "float32/checkpoint_last.pt"


def scores(folder, model, *options):
    """Of the best hypothesis of each sentence."""
    decode = ["data", *PLUGIN, "--path", model, "--batch-size", "8", "--beam", "3", "--max-len-b", "10"]
    output = run(folder, "generate", *decode, "--no-progress-bar", *options)
    found = {int(number): float(score) for number, score in re.findall(r"^H-(\d+)\t(\S+)", output, re.MULTILINE)}
    return [found[number] for number in sorted(found)]


@pytest.mark.parametrize("decoding", DECODINGS)
def test_decoding(folder, model, decoding):
    expected = scores(folder, model, *decoding.split(), "--cpu")
    assert len(expected) == 20
    assert scores(folder, model, *decoding.split()) == pytest.approx(expected, abs=0.001)
    assert scores(folder, model, *decoding.split(), "--fp16") == pytest.approx(expected, abs=0.05)
