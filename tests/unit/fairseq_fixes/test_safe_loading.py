"""Checkpoints load through torch's safe unpickler, and nothing else does."""

import pickle
from argparse import Namespace
from collections import OrderedDict

import numpy as np
import pytest
import torch
from fairseq import utils
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY, fconv

import wfe_plugin  # noqa: F401  (allows what checkpoints hold)
from helpers.toy import toy_task
from wfe_plugin.literals import read_literal
from wfe_plugin.safe_loading import allow_fairseq_checkpoints


def test_what_checkpoints_hold_loads(tmp_path):
    state = {
        "args": Namespace(lr=[0.1]),
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


# Options that fairseq's models evaluate


@pytest.mark.parametrize(
    "architecture, option",
    [
        ("fconv", "encoder_layers"),
        ("fconv", "decoder_attention"),
        ("lstm", "decoder_attention"),
        ("lstm", "adaptive_softmax_cutoff"),
        ("transformer", "adaptive_softmax_cutoff"),
        ("wfe_transformer", "adaptive_softmax_cutoff"),
        ("wfe_transformer", "encoder_xformers_att_config"),
        ("wfe_transformer", "decoder_xformers_att_config"),
        ("wfe_fconv", "encoder_layers"),
    ],
)
def test_code_in_the_options_of_a_model_is_not_run(tmp_path, architecture, option):
    """As a checkpoint may hold it, beside harmless weights."""
    victim = tmp_path / "created-by-the-checkpoint"
    task = toy_task(8)
    cfg = Namespace(**{option: f"open({str(victim)!r}, 'w')"}, criterion="adaptive_loss", max_source_positions=9)
    cfg.max_target_positions = 9
    ARCH_CONFIG_REGISTRY[architecture](cfg)
    with pytest.raises(ValueError, match="can be read without running code|it must be"):
        ARCH_MODEL_REGISTRY[architecture].build_model(cfg, task)
    assert not victim.exists()


@pytest.mark.parametrize("value, expected", [("True", True), ("False", False), (None, False), (True, False)])
def test_fairseq_reads_truth_as_before(value, expected):
    assert utils.eval_bool(value) is expected


def test_options_of_fairseqs_own_architectures_are_read_as_they_are_meant():
    """With Python's own `eval` as the judge."""
    read = 0
    for name in ARCH_MODEL_REGISTRY:
        if "fconv" in name or "wav2vec2" in name:
            cfg = Namespace()
            ARCH_CONFIG_REGISTRY[name](cfg)
            for option, value in vars(cfg).items():
                if isinstance(value, str) and value.startswith(("[", "True", "False")):
                    assert fconv.eval(value) == eval(value), (name, option)
                    read += 1
    assert read > 10


@pytest.mark.parametrize(
    "text, value",
    [
        ("2 * [(16, 3)]", [(16, 3)] * 2),
        ("[(2*64, 3)] * 2 + [(256, 3, 2)]", [(128, 3), (128, 3), (256, 3, 2)]),
        ("0.1,0.2", (0.1, 0.2)),
        ("{'beam': 5}", {"beam": 5}),
        (" -3 ", -3),
        ("1e-3/2", 0.0005),
        ("None", None),
    ],
)
def test_values_are_read(text, value):
    assert read_literal(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "1/0",
        "'a' + 'b'",
        "[] * [2]",
        "[1] * 2.5",
        "x",
        "f()",
        "[1",
        "",
        "().__class__",
        "[(8, 3)] * 10**9",
        "'a' * 10**9",
        "2 ** 9",
        "[] + 1",
        "lambda: 1",
        5,
        None,
    ],
)
def test_what_is_no_value_is_refused(text):
    with pytest.raises(ValueError, match="it must be a value that can be read"):
        read_literal(text)
