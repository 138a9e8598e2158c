"""Checkpoints load through torch's safe unpickler, and nothing else does."""

import argparse
import pickle
from collections import OrderedDict

import numpy as np
import pytest
import torch

import wfe_plugin  # noqa: F401  (allows what checkpoints hold)
from wfe_plugin.safe_loading import allow_fairseq_checkpoints


def test_what_checkpoints_hold_loads(tmp_path):
    state = {
        "args": argparse.Namespace(lr=[0.1]),
        "extra_state": {"bleu": np.float64(1.5), "count": np.int64(3), "f": np.float32(2)},
        "counts": np.array([1, 2, 3, 4]),
        "model": OrderedDict(weight=torch.ones(2)),
    }
    torch.save(state, tmp_path / "checkpoint.pt")
    loaded = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    assert loaded["extra_state"]["bleu"] == 1.5
    assert loaded["counts"].tolist() == [1, 2, 3, 4]
    assert loaded["args"].lr == [0.1]


class Hostile:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_code_in_a_checkpoint_is_refused_and_not_run(tmp_path):
    victim = tmp_path / "created-by-the-checkpoint"
    torch.save({"model": Hostile(victim)}, tmp_path / "checkpoint.pt")
    with pytest.raises(pickle.UnpicklingError):
        torch.load(tmp_path / "checkpoint.pt")
    assert not victim.exists()


def test_a_torch_that_runs_code_is_told_of(monkeypatch, caplog):
    monkeypatch.setattr(torch, "__version__", "2.5.1+cpu")
    allow_fairseq_checkpoints()
    assert "torch 2.5.1+cpu runs whatever code a checkpoint holds" in caplog.text
