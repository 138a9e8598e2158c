"""Small random models of the other systems of the paper's Table 3, and what their tests share."""

import torch

from helpers.toy import random_model
from wfe_plugin.models.table3.abs import ABSConfig, ABSModel
from wfe_plugin.models.table3.lvt import LVTConfig, LVTModel
from wfe_plugin.models.table3.ras import RASConfig, RASModel

SIZES = {
    "abs": (ABSModel, ABSConfig, dict(context_size=3, embed_dim=4, hidden_size=5, smoothing_window=1)),
    "ras_elman": (RASModel, RASConfig, dict(hidden_size=4, kernel_size=3, source_positions=4, cell="elman")),
    "ras_lstm": (RASModel, RASConfig, dict(hidden_size=4, kernel_size=3, source_positions=4, cell="lstm")),
    "lvt": (LVTModel, LVTConfig, dict(embed_dim=4, hidden_size=5, restricted_vocabulary=9)),
}


def tiny(name, task, **changes):
    model_class, config_class, sizes = SIZES[name]
    config = config_class(dropout=0.2)
    for option, value in {**sizes, **changes}.items():
        setattr(config, option, value)
    return random_model(model_class, config, task, seed=len(name))


def encode(model, batch):
    net_input = batch["net_input"]
    return model.encoder(net_input["src_tokens"], net_input["src_lengths"])


def weights(model):
    """Each weight by its name in the model, in float64, for computing literally."""
    return {name: value.detach().double() for name, value in model.named_parameters()}


def softmax(values):
    """Of a list of numbers."""
    exponentials = [torch.tensor(float(value), dtype=torch.float64).exp() for value in values]
    return [exponential / sum(exponentials) for exponential in exponentials]


def mean(shares, vectors):
    return sum(share * vector for share, vector in zip(shares, vectors))


def distributions(model, batch):
    """What the model says where the summary is given: (sentences, length, vocabulary)."""
    with torch.no_grad():
        output = model(**batch["net_input"])
    return model.get_normalized_probs(output, log_probs=False), output[1]["attn"]
