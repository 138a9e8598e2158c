"""What every model of this folder refuses, and how it says so."""

from typing import Iterable

import torch
from fairseq.models import FairseqEncoderDecoderModel

from wfe_plugin.option_values import require


def refuse_impossible_sizes(cfg, names: Iterable[str]) -> None:
    """Refuse sizes that torch would refuse without naming the option, or take for none."""
    for name in names:
        value = getattr(cfg, name)
        require(value >= 1, "--" + name.replace("_", "-"), value, "1 or more")
    require(0 <= cfg.dropout < 1, "--dropout", cfg.dropout, "in [0, 1)")


class ChecksWeights:
    """A mixin before an encoder-decoder model: says when weights that are loaded do not fit.

    Embeddings are called `embed_tokens`, as in all of fairseq's models.
    """

    def load_state_dict(self, state_dict, *args, **kwargs):
        """As fairseq's, but says when the vocabulary does not fit or training had diverged."""
        for side, name in (("source", "encoder"), ("target", "decoder")):
            stored = state_dict.get(f"{name}.embed_tokens.weight")
            words = len(getattr(self, name).dictionary)
            if stored is not None and len(stored) != words:
                raise ValueError(
                    f"the model was trained with {len(stored)} {side} words, but the data "
                    f"have {words}: give the data that it was trained on, "
                    "or data that were prepared with the same vocabularies"
                )
        for name, weights in state_dict.items():
            if not torch.isfinite(weights).all():
                raise ValueError(
                    f"the model's weights are not finite ({name}): its training has "
                    "diverged, or the file is damaged; take an earlier checkpoint"
                )
        return super().load_state_dict(state_dict, *args, **kwargs)


class CheckedEncoderDecoderModel(ChecksWeights, FairseqEncoderDecoderModel):
    """An encoder-decoder whose weights are checked when they are loaded."""
