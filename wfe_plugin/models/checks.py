"""What every model of this folder refuses, and how it says so."""

from typing import Iterable

import torch
from fairseq.models import FairseqEncoderDecoderModel


def refuse_impossible_sizes(cfg, names: Iterable[str]) -> None:
    """Refuse sizes that torch would refuse without naming the option, or take for none."""
    for name in names:
        value = getattr(cfg, name)
        if value < 1:
            option = "--" + name.replace("_", "-")
            raise ValueError(f"{option} is {value}; it must be 1 or more")
    if not 0 <= cfg.dropout < 1:
        raise ValueError(f"--dropout is {cfg.dropout}; it must be in [0, 1)")


class CheckedEncoderDecoderModel(FairseqEncoderDecoderModel):
    """Says when weights that are loaded do not fit. Embeddings are called `embed_tokens`."""

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
