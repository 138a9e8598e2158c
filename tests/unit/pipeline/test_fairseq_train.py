"""The command line of fairseq-train: what the presets are."""

from pathlib import Path

import pytest

from helpers.tiny_training import options
from wfe_plugin.cli import train
from wfe_plugin.pipeline import fairseq_train
from wfe_plugin.pipeline.presets import PRESETS
from wfe_plugin.pipeline.record import Progress
from wfe_plugin.pipeline.train import planned


def command(data, *more, preset="paper", last=0):
    training = planned(train.parse(options(data, data.parent / "new", *more, preset=preset)))
    words = fairseq_train.command(
        training, Progress(last, last, 1.0 if last else None, 0), Path(f"checkpoint{last}.pt") if last else None
    )
    return dict(zip(words, words[1:])), words


@pytest.mark.parametrize(
    "last, optimizer, lr, clip, reset",
    [(0, "torch_adam", "0.001", "10", False), (4, "torch_adam", "0.001", "10", False),
     (5, "sgd", "0.01", "5", True), (6, "sgd", "0.01", "5", False)],
)  # fmt: skip
def test_the_paper_preset_is_table_1(data, last, optimizer, lr, clip, reset):
    values, words = command(data, last=last)
    expected = {
        "--optimizer": optimizer, "--lr": lr, "--clip-norm": clip, "--batch-size": "256", "--dropout": "0.3",
        "--max-epoch": "5" if last < 5 else "15", "--arch": "wfe_lstm", "--criterion": "nll_wfe",
        "--best-checkpoint-metric": "nll_loss", "--patience": "3", "--distributed-world-size": "1",
    }  # fmt: skip
    for side in ("encoder", "decoder"):
        expected.update({f"--{side}-embed-dim": "200", f"--{side}-hidden-size": "400", f"--{side}-layers": "2"})
    assert {name: values.get(name) for name in expected} == expected
    assert ("--reset-optimizer" in words) == reset
    assert "--without-wfe" not in words


def test_several_processes_share_the_batch(data):
    values, _ = command(data, "--gpus", "4", "--machines", "2", "--machine", "1", "--master", "first:29500")
    expected = {
        "--nproc-per-node": "4", "--nnodes": "2", "--node-rank": "1", "--master-addr": "first",
        "--master-port": "29500", "--batch-size": "32", "--distributed-world-size": "8",
        "--distributed-init-method": "env://",
    }  # fmt: skip
    assert {name: values.get(name) for name in expected} == expected


def test_other_presets_and_choices(data):
    values, words = command(data, "--baseline", "--best-by", "loss", "--seed", "7", preset="small")
    assert values["--best-checkpoint-metric"] == "loss" and values["--seed"] == "7"
    assert "--without-wfe" in words
    assert values["--batch-size"] == str(PRESETS["small"].batch_size) == "32"


@pytest.mark.parametrize("preset", [name for name, preset in PRESETS.items() if not preset.takes_wfe])
def test_commands_say_nothing_of_wfe(data, preset):
    training = planned(train.parse(options(data, data.parent / "new", preset=preset)))
    words = fairseq_train.command(training, Progress(), None)
    assert not [word for word in words if word in ("--without-wfe", "--wfe-estimator", "--wfe-only")]
    assert training.record["settings"]["baseline"]
