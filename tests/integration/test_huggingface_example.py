"""examples/huggingface: an estimate trained, and articles summarized, with both kinds of models."""

import pytest

pytest.importorskip("transformers")

from helpers import ROOT
from helpers.scripts import module_of
from helpers.tiny_hf import BOS, PAD, UNK, tiny_bart, tiny_gpt2, tiny_tokenizer
from wfe_plugin.cli import hf_train
from wfe_plugin.huggingface import FrequencyHead
from wfe_plugin.huggingface.train import load_model

example = module_of(ROOT / "examples" / "huggingface" / "summarize.py")

TEMPLATE = {"bart": "", "gpt2": "w7 {source} w6"}


@pytest.fixture(params=["bart", "gpt2"])
def kind(request, tmp_path, monkeypatch):
    """A directory with a model, articles and summaries."""
    monkeypatch.chdir(tmp_path)
    model = {"bart": tiny_bart, "gpt2": tiny_gpt2}[request.param]()
    model.generation_config.update(min_new_tokens=2, suppress_tokens=[BOS, PAD, UNK])
    model.save_pretrained("model")
    tiny_tokenizer(ends=request.param == "bart").save_pretrained("model")
    for name, lines in (("articles", ["w0 w1 w2", "w3", "w4 w4"]), ("summaries", ["w0", "w3", "w4"])):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    return request.param


def summaries(capsys, *options):
    assert example.main(["--model", "model", "--articles", "articles", "--max-tokens", "9", *options]) == 0
    return capsys.readouterr().out.splitlines()


def test_no_word_comes_twice_by_the_rule(kind, capsys):
    for search in (["--beam", "3"], ["--sample"]):
        found = summaries(capsys, "--template", TEMPLATE[kind], "--batch-size", "2", *search)
        assert len(found) == 3 and any(found)
        for words in map(str.split, found):
            assert len(words) == len(set(words))


def test_an_estimate_changes_summaries(kind, capsys):
    files = ["--train", "articles", "summaries", "--valid", "articles", "summaries"]
    weights = "gate=3 base-rate=0 reward=0"
    options = ["--template", TEMPLATE[kind], "--calibration", weights, "--epochs", "1"]
    assert hf_train.main(["--model", "model", *files, *options]) == 0
    capsys.readouterr()
    model, _ = load_model("model")
    assert str(FrequencyHead.load("model", model).calibration) == weights
    bounded = summaries(capsys, "--bound", "estimate", "--beam", "2")
    assert bounded != summaries(capsys, "--bound", "none", "--beam", "2", "--template", TEMPLATE[kind])
