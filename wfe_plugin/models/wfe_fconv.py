"""fairseq's convolutional model with word-frequency estimation."""

from fairseq.models import register_model, register_model_architecture
from fairseq.models.fconv import FConvModel, base_architecture
from torch import Tensor

from wfe_plugin.models.wfe_model import WFEModel, register_architectures_of


@register_architectures_of("fconv")
@register_model("wfe_fconv")
class WFEFConvModel(WFEModel, FConvModel):
    """Gehring et al. (2017), "Convolutional Sequence to Sequence Learning",
    https://arxiv.org/abs/1705.03122

    Takes fairseq's options of `fconv`, and loads its checkpoints. Of the encoder's two
    outputs the sub-model reads the states of the last layer; the other ones, which have
    the embeddings added, went through dropout. What the encoder learns from the sub-model
    is scaled down as what it learns from the decoder's attention: fairseq does so where
    the states leave the encoder.
    """

    @classmethod
    def build_model(cls, cfg, task) -> "WFEFConvModel":
        base_architecture(cfg)  # as fairseq's: a model may be older than some options
        return super().build_model(cfg, task)

    def encoder_states(
        self, encoder_out: dict[str, tuple[Tensor, Tensor]], src_tokens: Tensor
    ) -> tuple[Tensor, Tensor]:
        states, _ = encoder_out["encoder_out"]
        return states.transpose(0, 1), src_tokens.t()

    def make_generation_fast_(self, **kwargs) -> None:
        """As fairseq's, but without a shortcut that holds for one size of the beam only.

        It would be that of the command line, whatever beam a hub model is asked for, and
        with another one the outputs are wrong without an error.
        """
        super().make_generation_fast_(**{**kwargs, "beamable_mm_beam_size": None})


@register_model_architecture("wfe_fconv", "wfe_fconv_small")
def wfe_fconv_small(cfg) -> None:
    """For a CPU and some ten thousand pairs."""
    cfg.dropout = getattr(cfg, "dropout", 0.3)
    for side in ("encoder", "decoder"):
        for name, value in (("embed_dim", 128), ("layers", "[(128, 3)] * 3")):
            option = f"{side}_{name}"
            setattr(cfg, option, getattr(cfg, option, value))
    cfg.decoder_out_embed_dim = getattr(cfg, "decoder_out_embed_dim", 128)
    base_architecture(cfg)
