"""Perplexity of given outputs, against fairseq's own loss of the same sentences."""

import math

import pytest
import torch
from fairseq import checkpoint_utils

from helpers.bad_world import binarize, checkpoint
from wfe_plugin.errors import UserError
from wfe_plugin.experiment.perplexity import perplexities


@pytest.fixture
def model(tmp_path):
    binarize(tmp_path / "data", "a b c d")
    torch.save(checkpoint(tmp_path / "data"), tmp_path / "m.pt")
    return tmp_path / "m.pt", tmp_path / "data"


def literal_perplexity(path, data, outputs):
    """One sentence at a time, word by word, with the model's own probabilities."""
    (model,), _, task = checkpoint_utils.load_model_ensemble_and_task([str(path)], arg_overrides={"data": str(data)})
    model.eval()
    task.load_dataset("test")
    total = words = 0
    for number, output in enumerate(outputs):
        source = task.dataset("test")[number]["source"][None]
        target = [task.target_dictionary.index(word) for word in output.split()] + [task.target_dictionary.eos()]
        previous = torch.tensor([[task.target_dictionary.eos(), *target[:-1]]])
        with torch.no_grad():
            out = model(src_tokens=source, src_lengths=torch.tensor([source.size(1)]), prev_output_tokens=previous)
            scores = model.get_normalized_probs(out, log_probs=True)[0]
        total += sum(float(scores[step, word]) for step, word in enumerate(target))
        words += len(target)
    return math.exp(-total / words)


def test_against_a_literal_loop(model):
    outputs = ["a b", "c", "", "d d d d", "unheard of", "a  b"]
    found = perplexities(*model, "test", {"mine": outputs, "other": ["a"] * 6})
    assert found["mine"] == pytest.approx(literal_perplexity(*model, outputs), rel=1e-4)
    assert found["other"] == pytest.approx(literal_perplexity(*model, ["a"] * 6), rel=1e-4)
    assert found["mine"] != pytest.approx(found["other"], rel=1e-3)


def test_one_output_per_sentence(model):
    with pytest.raises(UserError, match="5 summaries for 6 sentences"):
        perplexities(*model, "test", {"mine": ["a"] * 5})
