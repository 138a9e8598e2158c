"""ABS: its equations, computed word by word."""

import torch

from helpers.table3_models import distributions, mean, softmax, tiny, weights
from helpers.toy import toy_batch, toy_task
from wfe_plugin.models.table3.abs import ABSConfig, ABSModel, abs_small

SOURCE, TARGET = [4, 9, 6, 7, 5], [7, 4, 4, 8]


def literal(model, source, context):
    """p(next word | source, context) and the attention: the paper's Section 3, in loops."""
    w = weights(model)
    F, E, G = (w[f"{name}.weight"] for name in (
        "encoder.embed_tokens", "decoder.embed_tokens", "decoder.attention_embed_tokens",
    ))  # fmt: skip
    V, W = w["decoder.output.weight"].split(F.size(1), dim=1)
    before = torch.cat([E[word] for word in context])
    h = torch.tanh(w["decoder.hidden.weight"] @ before + w["decoder.hidden.bias"])
    query = w["decoder.query.weight"] @ torch.cat([G[word] for word in context])
    p = softmax([F[word] @ query for word in source])
    smoothed = []
    for i in range(len(source)):
        window = [F[source[q]] for q in (i - 1, i, i + 1) if 0 <= q < len(source)]  # Q = 1
        smoothed.append(sum(window) / 3)
    logits = V @ h + W @ mean(p, smoothed) + w["decoder.output.bias"]
    return torch.stack(softmax(logits)), torch.stack(p)


def test_equations():
    task = toy_task(8)
    model = tiny("abs", task)
    eos = task.target_dictionary.eos()
    found, attention = distributions(model, toy_batch(task, [SOURCE], [TARGET]))
    said = [eos, eos, eos, *TARGET]  # C = 3
    assert found.size(1) == len(TARGET) + 1
    for place in range(found.size(1)):
        expected, weights = literal(model, [*SOURCE, eos], said[place : place + 3])
        assert torch.allclose(found[0, place].double(), expected, atol=1e-5)
        assert torch.allclose(attention[0, place].double(), weights, atol=1e-5)


def test_only_the_last_words_count():
    task = toy_task(8)
    model = tiny("abs", task)
    one, other = (distributions(model, toy_batch(task, [SOURCE], [[first, *TARGET]]))[0][0] for first in (4, 9))
    assert torch.equal(one[4], other[4])  # after three words of TARGET
    assert not torch.allclose(one[3], other[3])


def test_the_papers_sizes_are_the_defaults():
    """C=5, D=200, H=400, Q=2."""
    task = toy_task(8)
    config = ABSConfig(max_source_positions=9, max_target_positions=9)
    model = ABSModel.build_model(config, task)
    shapes = {name: tuple(value.shape) for name, value in model.named_parameters()}
    assert shapes == {
        "encoder.embed_tokens.weight": (12, 400),
        "decoder.embed_tokens.weight": (12, 200),
        "decoder.attention_embed_tokens.weight": (12, 200),
        "decoder.hidden.weight": (400, 1000),
        "decoder.hidden.bias": (400,),
        "decoder.query.weight": (400, 1000),
        "decoder.output.weight": (12, 800),
        "decoder.output.bias": (12,),
    }
    assert model.encoder.smoothing_window == 2 and config.dropout == 0
    abs_small(config)
    assert config.hidden_size == 400  # what was set stays
