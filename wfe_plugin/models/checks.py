"""Weights that are loaded are checked against the vocabulary, and for a training that had diverged."""

import torch
from fairseq.models import FairseqEncoderDecoderModel

from wfe_plugin.errors import UserError


class ChecksWeights:
    """A mixin before an encoder-decoder model. Embeddings are called `embed_tokens`, as in all of fairseq's models."""

    def upgrade_state_dict_named(self, state_dict, name):
        super().upgrade_state_dict_named(state_dict, name)  # in which BART cuts off the row of <mask>
        for side, part in (("source", "encoder"), ("target", "decoder")):
            stored = state_dict.get(f"{part}.embed_tokens.weight")
            words = len(getattr(self, part).dictionary)
            if stored is not None and len(stored) != words:
                raise UserError(
                    f"the model was trained with {len(stored)} {side} words, but the data have {words}: use the data "
                    "that it was trained on, or data prepared with the same vocabularies"
                )

    def load_state_dict(self, state_dict, *args, **kwargs):
        for name, weights in state_dict.items():
            if not torch.isfinite(weights).all():
                raise UserError(
                    f"the model's weights are not finite ({name}): its training has diverged, or the file is "
                    "damaged. Use an earlier checkpoint"
                )
        return super().load_state_dict(state_dict, *args, **kwargs)


class CheckedEncoderDecoderModel(ChecksWeights, FairseqEncoderDecoderModel):
    """An encoder-decoder whose weights are checked when they are loaded."""
