"""Data-parallel training: two processes do what one does with the same global batch."""

import json
import os
import re
import signal
import subprocess
import time

import pytest
import torch

from helpers import ROOT
from helpers.tiny_training import TINY, options, prepare, script_environment
from wfe_plugin.cli import train
from wfe_plugin.pipeline.presets import PRESETS


def validation_losses(out):
    found = re.findall(r"\| valid \| (\{.*\})", (out / "train.log").read_text())
    return [[float(json.loads(line)[f"valid_{name}"]) for name in ("loss", "nll_loss", "wfe_loss")] for line in found]


def test_two_processes_train_as_one(tmp_path):
    """fairseq hands batches to processes in turn, as --update-freq does to steps of one process.

    With nine batches the second process has nothing to do in the last step of an epoch.
    """
    share = PRESETS["small"].batch_size // 2
    data = prepare(tmp_path, (("train", 9 * share - 5), ("valid", 13)))
    same = ["--cpu", "--dropout", "0", *TINY]  # random numbers are drawn by each process for itself
    ways = {"one": ([], ["--batch-size", str(share), "--update-freq", "2"]), "two": (["--gpus", "2"], [])}
    for name, (own, more) in ways.items():
        own += ["--epochs", "2", "--threads", "1", "--", *same, *more]
        assert train.main(options(data, tmp_path / name, *own, preset="small")) == 0
    assert "training on 2 devices" in (tmp_path / "two" / "train.log").read_text()
    one, two = (validation_losses(tmp_path / name) for name in ways)
    assert len(one) == len(two) == 2
    for left, right in zip(one, two):
        assert right == pytest.approx(left, abs=2e-3)  # fairseq logs three digits
    one, two = (torch.load(tmp_path / name / "checkpoint2.pt") for name in ways)
    assert two["extra_state"]["val_loss"] == pytest.approx(one["extra_state"]["val_loss"], rel=1e-3)
    for name, value in one["model"].items():
        assert torch.allclose(two["model"][name], value, atol=1e-4), name


def processes_of(out):
    """Those that train a model in this directory, wfe-train itself included."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline") as file:
                if str(out) in file.read():
                    found.append(int(pid))
        except OSError:  # it has ended meanwhile
            pass
    return found


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are found as Linux shows them")
def test_no_process_is_left_to_write_beside_the_next_training(tmp_path):
    """train.sh and torchrun are killed, which hold the lock of the directory, but not the processes that train."""
    out = tmp_path / "model"
    data = prepare(tmp_path)
    command = [str(ROOT / "train.sh"), *options(data, out, "--gpus", "2", "--epochs", "9999", "--patience", "9999",
               "--threads", "1", preset="small"), "--", "--cpu", *TINY]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=script_environment()) as process:
        for line in process.stdout:
            if "epoch 1: validation" in line:
                break
        (torchrun,) = [int(pid) for pid in open(f"/proc/{process.pid}/task/{process.pid}/children").read().split()]
        assert len(processes_of(out)) >= 4  # and two that train
        for pid in (process.pid, torchrun):
            os.kill(pid, signal.SIGKILL)
        process.stdout.read()
    give_up = time.monotonic() + 30
    while processes_of(out):
        assert time.monotonic() < give_up, processes_of(out)
        time.sleep(0.1)
