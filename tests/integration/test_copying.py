"""A model that copies: from the command line to words that its vocabulary lacks."""

import json

import pytest
import torch

from helpers.bad_world import checkpoint
from helpers.raw_text_model import randomize
from helpers.text_sets import options, write_sets
from wfe_plugin.cli import generate, preprocess, train
from wfe_plugin.pipeline.summarizer import Summarizer


@pytest.fixture(scope="module")
def copying(tmp_path_factory):
    """A random model that says nothing but words of the source, and knows half of them."""
    folder = tmp_path_factory.mktemp("copying")
    text = write_sets(folder / "text")
    assert preprocess.main(options(text, folder / "data", "--target-vocab-size", "11")) == 0
    state = checkpoint(folder / "data", "--copy-attention")
    randomize(state)
    state["model"]["decoder.copy_gate.bias"].fill_(30.0)
    state["model"]["decoder.copy_gate.weight"].zero_()
    torch.save(state, folder / "checkpoint_best.pt")
    return folder


@pytest.mark.parametrize("decoding", ["off", "full"])
def test_unknown_words_are_those_of_the_source(copying, tmp_path, decoding):
    known = {line.split()[0] for line in (copying / "data" / "dict.target.txt").read_text().splitlines()}
    sources = (copying / "text" / "test.article").read_text().splitlines()
    arguments = ["--model", str(copying), "--decoding", decoding, "--out"]
    more = ["--", "--min-len", "4", "--max-len-b", "8"]
    assert generate.main([*arguments, str(tmp_path / "set"), "--data", str(copying / "data"), *more]) == 0
    raw = ["--input", str(copying / "text" / "test.article")]
    assert generate.main([*arguments, str(tmp_path / "raw"), *raw, *more]) == 0
    found, same = ((tmp_path / name / "summaries.txt").read_text().splitlines() for name in ("set", "raw"))
    assert found == same == Summarizer(copying).summarize(sources, decoding=decoding, min_len=4, max_len_b=8)
    assert any(set(summary.split()) - known for summary in found)
    for summary, source in zip(found, sources):
        assert set(summary.split()) <= set(source.split())
    (explained,) = Summarizer(copying).explain(sources[:1], decoding=decoding, min_len=4, max_len_b=8)
    assert explained.summary == found[0] == " ".join(step.word for step in explained.steps).strip()


def test_the_default_trains_a_model_that_copies(tmp_path):
    text = write_sets(tmp_path / "text")
    assert preprocess.main(options(text, tmp_path / "data")) == 0
    out = tmp_path / "model"
    once = ["--epochs", "1", "--estimate-epochs", "1", "--no-calibration", "--threads", "1"]
    assert train.main(["--data", str(tmp_path / "data"), "--out", str(out), *once, "--", "--cpu"]) == 0
    (summary, *_) = Summarizer(out).summarize(["the bank said it will buy bonds"])
    assert isinstance(summary, str)
    record = json.loads((out / "model" / "training.json").read_text())
    assert "--copy-attention" in record["settings"]["fairseq_options"]
    assert Summarizer(out).decoder.copies
