"""Checkpoints load through torch's safe unpickler, and nothing else does."""

import ast
import pickle
from argparse import Namespace
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path

import fairseq
import numpy as np
import pytest
import torch
from fairseq import checkpoint_utils
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY

import wfe_plugin
from wfe_plugin.errors import UserError
from wfe_plugin.fairseq_fixes.checkpoint_options import EVALUATED
from wfe_plugin.fairseq_fixes.literals import read_literal
from wfe_plugin.fairseq_fixes.safe_loading import allow_fairseq_checkpoints

wfe_plugin.register()


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


# Options that fairseq evaluates


@pytest.mark.parametrize("old", [False, True], ids=["cfg", "args"])
@pytest.mark.parametrize(
    "task, architecture, option",
    [
        ("translation", "fconv", "encoder_layers"),
        ("translation", "fconv", "decoder_attention"),
        ("translation", "lstm", "decoder_attention"),
        ("summarization_wfe", "wfe_fconv", "encoder_layers"),
        ("summarization_wfe", "wfe_transformer", "adaptive_softmax_cutoff"),
        ("summarization_wfe", "wfe_transformer", "encoder_xformers_att_config"),
        ("multilingual_translation", "fconv", "left_pad_source"),
    ],
)
def test_code_in_the_options_of_a_checkpoint_is_not_run(tmp_path, task, architecture, option, old):
    """Beside harmless weights; the task, too, is the checkpoint's choice."""
    victim, path = tmp_path / "created-by-the-checkpoint", tmp_path / "checkpoint.pt"
    options = Namespace(task=task, arch=architecture, data=str(tmp_path), source_lang="a", target_lang="b")
    options.lang_pairs = "a-b"
    setattr(options, option, f"open({str(victim)!r}, 'w')")
    ARCH_CONFIG_REGISTRY[architecture](options)
    state = {"model": {}, "args": options} if old else {
        "model": {}, "args": None,
        "cfg": {"task": {"_name": task, **vars(options)}, "model": options, "criterion": None},
    }  # fmt: skip
    torch.save({**state, "optimizer_history": [{"best_loss": 0.0}], "extra_state": {}}, path)
    with pytest.raises(UserError, match=f"nothing was run: its option {option} is .open"):
        checkpoint_utils.load_model_ensemble_and_task([str(path)])
    assert not victim.exists()


def evaluated_by(path: Path) -> Iterator[str]:
    """Options that a module of fairseq hands to `eval`: args.NAME or cfg.NAME, in whatever call of that kind."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and node.args:
            called = ast.unparse(node.func).split(".")[-1]
            value = ast.unparse(node.args[0]).split(".")
            if called in ("eval", "exec", "eval_bool", "eval_str_list", "eval_str_dict") and value[-2:-1] in (
                ["args"],
                ["cfg"],
            ):
                yield value[-1]


def test_every_option_that_fairseq_evaluates_is_known():
    root = Path(fairseq.__file__).parent
    found = {name for path in root.rglob("*.py") if "examples" not in path.parts for name in evaluated_by(path)}
    assert len(found) > 20 and found <= EVALUATED


def test_options_of_fairseqs_own_architectures_are_read_as_they_are_meant():
    """With Python's own `eval` as the judge."""
    read = 0
    for name in ARCH_MODEL_REGISTRY:
        if "fconv" in name or "wav2vec2" in name:
            cfg = Namespace()
            ARCH_CONFIG_REGISTRY[name](cfg)
            for option, value in vars(cfg).items():
                if isinstance(value, str) and value.startswith(("[", "True", "False")):
                    assert read_literal(value) == eval(value), (name, option)
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
