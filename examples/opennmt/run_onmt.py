"""Run a command of OpenNMT-py 3.5 on current torch: run_onmt.py train|translate [--repaired] OPTIONS.

It runs in the environment that run.sh makes, which has OpenNMT-py and not this project.

With --repaired, copy attention learns what it decodes with. As released, the gate of one step of one sentence
is multiplied with the copy attention of another step of another sentence in training, so that probabilities do
not sum to one; the coverage loss skips the wrong steps, and is part of validation's perplexity; and a model
with copy attention cannot be loaded to translate.
"""

import argparse
import importlib
import sys
import warnings
from functools import partial

import torch
from torch import Tensor


def word_probabilities(self, hidden: Tensor, attn: Tensor, src_map: Tensor) -> Tensor:
    """P(w) = (1 - p_copy) Softmax(w) and p_copy · attention(w), side by side: for CopyGenerator.forward.

    Args:
        hidden: (sentences * steps, size)
        attn: (steps * sentences, source length): in the other order
        src_map: (sentences, source length, words of the sources), one-hot

    Returns:
        (sentences * steps, vocabulary + words of the sources)
    """
    sentences, source_length, _ = src_map.shape
    logits = self.linear(hidden)
    logits[:, self.pad_idx] = -float("inf")
    p_copy = torch.sigmoid(self.linear_copy(hidden))
    by_sentence = attn.view(-1, sentences, source_length).transpose(0, 1)
    copied = torch.bmm(by_sentence, src_map).flatten(end_dim=1)
    return torch.cat((torch.softmax(logits, dim=1) * (1 - p_copy), copied * p_copy), dim=1)


def coverage_loss(self, std_attn: Tensor, cov_attn: Tensor, tgt: Tensor) -> Tensor:
    """Σ_steps Σ_i min(a_i, Σ_(earlier steps) a_i), 0 in validation: for LossCompute._compute_coverage_loss.

    Args:
        std_attn: (steps, sentences, source length), attention
        cov_attn: as *std_attn*, summed over the steps up to and including each
        tgt: (sentences * steps,), the target
    """
    if not torch.is_grad_enabled():
        return std_attn.new_zeros(())
    earlier = torch.cat((torch.zeros_like(cov_attn[:1]), cov_attn[:-1]))
    overlap = torch.min(std_attn, earlier).sum(dim=-1)
    return overlap.t().reshape(-1)[tgt != self.padding_idx].sum()


def with_generator(load):
    """For BaseModel.load_state_dict, which does not find the weights of a generator of several parts."""

    def load_state_dict(self, checkpoint, *args, **kwargs):
        generator = checkpoint.pop("generator", None) or {}
        checkpoint["model"].update({f"generator.{name}": weights for name, weights in generator.items()})
        return load(self, {**checkpoint, "generator": {}}, *args, **kwargs)

    return load_state_dict


def with_target_size(build):
    """For TranslationBuilder._build_target_tokens, which looks for copied words after the source's vocabulary."""

    def _build_target_tokens(self, *args, **kwargs):
        vocabs, self.vocabs = self.vocabs, {**self.vocabs, "src": self.vocabs["tgt"]}
        try:
            return build(self, *args, **kwargs)
        finally:
            self.vocabs = vocabs

    return _build_target_tokens


def repair() -> None:
    from onmt import inference_engine
    from onmt.models.model import BaseModel
    from onmt.modules.copy_generator import CopyGenerator
    from onmt.translate.translation import TranslationBuilder
    from onmt.utils.loss import LossCompute

    # Else sources come without the words that can be copied, and translating fails.
    inference_engine.build_dynamic_dataset_iter = partial(inference_engine.build_dynamic_dataset_iter, copy=True)
    TranslationBuilder._build_target_tokens = with_target_size(TranslationBuilder._build_target_tokens)
    BaseModel.load_state_dict = with_generator(BaseModel.load_state_dict)
    CopyGenerator.forward = word_probabilities
    LossCompute._compute_coverage_loss = coverage_loss


def main() -> None:
    warnings.filterwarnings("ignore", category=FutureWarning)
    # Its checkpoints hold its options; nothing else in them needs more than torch loads by default.
    torch.serialization.add_safe_globals([argparse.Namespace])
    command = sys.argv.pop(1)
    if "--repaired" in sys.argv:
        sys.argv.remove("--repaired")
        repair()
    importlib.import_module(f"onmt.bin.{command}").main()


if __name__ == "__main__":
    main()
