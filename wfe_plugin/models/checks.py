"""What every model of this folder refuses, and how it says so."""

from collections.abc import Iterable, Mapping

import torch
from fairseq.models import FairseqEncoderDecoderModel

from wfe_plugin.option_values import option_of, require


def refuse_impossible_sizes(cfg, names: Iterable[str], rates: Iterable[str] = ("dropout",)) -> None:
    """Refuse sizes, and rates of dropout, that torch would refuse without naming the option, or take for none."""
    for name in names:
        value = getattr(cfg, name)
        require(value >= 1, option_of(name), value, "1 or more")
    for name in rates:
        value = getattr(cfg, name)
        require(0 <= value < 1, option_of(name), value, "in [0, 1)")


def refuse_what_are_no_weights(state_dict: Mapping) -> None:
    for name, weights in state_dict.items():
        if not isinstance(name, str) or not torch.is_tensor(weights):
            raise ValueError(f"the checkpoint's model is damaged: its {name!r} is no named tensor; take another one")


class ChecksWeights:
    """A mixin before an encoder-decoder model: says when weights that are loaded do not fit.

    Embeddings are called `embed_tokens`, as in all of fairseq's models.
    """

    def upgrade_state_dict_named(self, state_dict, name: str) -> None:
        """As fairseq's, which may fit a vocabulary: BART cuts the row of `<mask>`. Says if it does not fit then."""
        super().upgrade_state_dict_named(state_dict, name)
        for side, part in (("source", "encoder"), ("target", "decoder")):
            stored = state_dict.get(f"{part}.embed_tokens.weight")
            words = len(getattr(self, part).dictionary)
            if stored is not None and len(stored) != words:
                raise ValueError(
                    f"the model was trained with {len(stored)} {side} words, but the data "
                    f"have {words}: give the data that it was trained on, "
                    "or data that were prepared with the same vocabularies"
                )

    def load_state_dict(self, state_dict, *args, **kwargs):
        """As fairseq's, but says when the vocabulary or a size does not fit or training had diverged."""
        refuse_what_are_no_weights(state_dict)
        for name, weights in state_dict.items():
            if not torch.isfinite(weights).all():
                raise ValueError(
                    f"the model's weights are not finite ({name}): its training has "
                    "diverged, or the file is damaged; take an earlier checkpoint"
                )
        try:
            return super().load_state_dict(state_dict, *args, **kwargs)
        except RuntimeError as error:
            what, *details = str(error).splitlines()
            if not what.startswith("Error(s) in loading state_dict") or not details:
                raise
            more = f"; {len(details) - 1} more such" if len(details) > 1 else ""
            raise ValueError(
                "the checkpoint's weights do not fit the options of the model: give those that it was trained "
                f"with, --arch and the sizes in particular ({details[0].strip()[:200]}{more})"
            ) from None


class CheckedEncoderDecoderModel(ChecksWeights, FairseqEncoderDecoderModel):
    """An encoder-decoder whose weights are checked when they are loaded."""
