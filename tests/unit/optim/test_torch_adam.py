"""torch's Adam under fairseq: the update of the paper of Adam, and of fairseq's own."""

import copy

import pytest
import torch
from fairseq.optim import build_optimizer
from omegaconf import OmegaConf

from wfe_plugin.optim.torch_adam import TorchAdam, TorchAdamConfig, read_pair


def config(name="torch_adam", **options):
    settings = {"_name": name, "lr": [0.1], "adam_betas": "(0.9, 0.99)", **options}
    if name == "adam":
        settings.update(tpu=False)
    return OmegaConf.create(settings)


def updated(settings, gradients):
    weight = torch.nn.Parameter(torch.tensor([1.0, -2.0, 0.5]))
    optimizer = build_optimizer(settings, [weight])
    for gradient in gradients:
        weight.grad = torch.tensor(gradient)
        optimizer.step()
    return weight.detach().tolist()


def literal_adam(gradients, lr=0.1, beta1=0.9, beta2=0.99, eps=1e-8, decay=0.0):
    weights = [1.0, -2.0, 0.5]
    m, v = [0.0] * 3, [0.0] * 3
    for t, gradient in enumerate(gradients, start=1):
        for i, g in enumerate(gradient):
            m[i] = beta1 * m[i] + (1 - beta1) * g
            v[i] = beta2 * v[i] + (1 - beta2) * g * g
            weights[i] -= lr * decay * weights[i]
            weights[i] -= lr * (m[i] / (1 - beta1**t)) / ((v[i] / (1 - beta2**t)) ** 0.5 + eps)
    return weights


GRADIENTS = [[0.1, -3.0, 0.0], [0.2, 1.0, 1e-3], [-0.1, 0.5, 2.0]]


@pytest.mark.parametrize("decay", [0.0, 0.01])
def test_the_update_by_hand_and_by_fairseq(decay):
    expected = literal_adam(GRADIENTS, decay=decay)
    assert updated(config(weight_decay=decay), GRADIENTS) == pytest.approx(expected, abs=1e-5)
    assert updated(config("adam", weight_decay=decay), GRADIENTS) == pytest.approx(expected, abs=1e-4)


def test_a_checkpoint_goes_on_where_it_was():
    weights = [torch.nn.Parameter(torch.tensor([1.0, -2.0, 0.5])) for _ in range(2)]
    first, second = (build_optimizer(config(), [weight]) for weight in weights)
    weights[0].grad = torch.tensor(GRADIENTS[0])
    first.step()
    weights[1].data.copy_(weights[0].data)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    for weight, optimizer in zip(weights, (first, second)):
        weight.grad = torch.tensor(GRADIENTS[1])
        optimizer.step()
    assert torch.equal(*weights)


def test_half_precision_may_put_all_weights_into_one_tensor():
    """fairseq-train --fp16 does so on a GPU, and refuses an optimizer that does not allow it."""
    assert build_optimizer(config(), [torch.nn.Parameter(torch.ones(1))]).supports_flat_params


def test_bad_betas_are_refused():
    assert read_pair("(0.9, 0.98)") == [0.9, 0.98]
    with pytest.raises(ValueError, match="--adam-betas"):
        TorchAdam(config(adam_betas="0.9"), [torch.nn.Parameter(torch.ones(1))])
    assert TorchAdamConfig().adam_eps == 1e-8
