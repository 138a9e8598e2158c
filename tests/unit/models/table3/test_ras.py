"""RAS-LSTM and RAS-Elman: their equations, computed step by step."""

import pytest
import torch

from helpers.table3_models import distributions, mean, softmax, tiny, weights
from helpers.toy import toy_batch, toy_task
from wfe_plugin.models.table3.ras import RASConfig, RASModel

SOURCE, TARGET = [4, 9, 6, 7, 5], [7, 4, 4, 8]


def elman(w, x, h, m):
    linear = w["decoder.cell.linear.weight"] @ torch.cat((x, h)) + w["decoder.cell.linear.bias"]
    return 1 / (1 + torch.exp(-linear)), None


def lstm(w, x, h, m):
    gates = w["decoder.cell.weight_ih"] @ x + w["decoder.cell.bias_ih"]
    gates = gates + w["decoder.cell.weight_hh"] @ h + w["decoder.cell.bias_hh"]
    i, f, g, o = gates.chunk(4)
    m = torch.sigmoid(f) * m + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(m), m


def literal(model, cell, source, said):
    """Distributions and attention after each word of `said`."""
    w = weights(model)
    x = [w["encoder.embed_tokens.weight"][word] for word in source]
    a = [x[i] + w["encoder.embed_positions.weight"][min(i, 3)] for i in range(len(x))]  # four positions
    kernel = w["encoder.aggregate.weight"]  # (d, d, q), q = 3
    z = []
    for i in range(len(a)):
        near = [(k, i + k - 1) for k in range(3) if 0 <= i + k - 1 < len(a)]
        z.append(sum(kernel[:, :, k] @ a[place] for k, place in near))
    h = m = torch.zeros(kernel.size(0), dtype=torch.float64)
    for word in said:
        alpha = softmax([z_i @ h for z_i in z])
        c = mean(alpha, x)
        h, m = cell(w, torch.cat((w["decoder.embed_tokens.weight"][word], c)), h, m)
        logits = w["decoder.fc_out.weight"] @ torch.cat((h, c)) + w["decoder.fc_out.bias"]
        yield torch.stack(softmax(logits)), torch.stack(alpha)


@pytest.mark.parametrize("name, cell", [("ras_elman", elman), ("ras_lstm", lstm)])
def test_equations(name, cell):
    task = toy_task(8)
    model = tiny(name, task)
    eos = task.target_dictionary.eos()
    found, attention = distributions(model, toy_batch(task, [SOURCE], [TARGET]))
    expected = list(literal(model, cell, [*SOURCE, eos], [eos, *TARGET]))
    assert len(expected) == found.size(1)
    for place, (distribution, alpha) in enumerate(expected):
        assert torch.allclose(found[0, place].double(), distribution, atol=1e-5)
        assert torch.allclose(attention[0, place].double(), alpha, atol=1e-5)


@pytest.mark.parametrize("cell, gates", [("elman", None), ("lstm", (2048, 1024))])
def test_the_papers_sizes_are_the_defaults(cell, gates):
    """d=512, q=5."""
    config = RASConfig(max_source_positions=9, max_target_positions=9, cell=cell)
    model = RASModel.build_model(config, toy_task(8))
    shapes = {name: tuple(value.shape) for name, value in model.named_parameters()}
    assert shapes["encoder.embed_tokens.weight"] == (12, 512)
    assert shapes["encoder.embed_positions.weight"] == (256, 512)
    assert shapes["encoder.aggregate.weight"] == (512, 512, 5)
    assert shapes["decoder.fc_out.weight"] == (12, 1024)
    assert shapes.get("decoder.cell.weight_ih") == gates
