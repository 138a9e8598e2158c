"""fairseq's Transformer with word-frequency estimation."""

from fairseq.models import register_model, register_model_architecture
from fairseq.models.transformer import TransformerModel, base_architecture
from torch import Tensor

from wfe_plugin.models.wfe_model import WFEModel, register_architectures_of


@register_architectures_of("transformer")
@register_model("wfe_transformer")
class WFETransformerModel(WFEModel, TransformerModel):
    """Vaswani et al. (2017), "Attention Is All You Need", https://arxiv.org/abs/1706.03762

    Takes fairseq's options of the Transformer, and loads its checkpoints.
    """

    @classmethod
    def build_model(cls, cfg, task) -> "WFETransformerModel":
        base_architecture(cfg)  # as fairseq's: a model may be older than some options
        return super().build_model(cfg, task)

    def encoder_states(self, encoder_out: dict[str, list[Tensor]], src_tokens: Tensor) -> tuple[Tensor, Tensor]:
        return encoder_out["encoder_out"][0], src_tokens.t()


@register_model_architecture("wfe_transformer", "wfe_transformer_small")
def wfe_transformer_small(cfg) -> None:
    """For a CPU and some ten thousand pairs."""
    cfg.dropout = getattr(cfg, "dropout", 0.3)
    for side in ("encoder", "decoder"):
        for name, value in (
            ("embed_dim", 128),
            ("ffn_embed_dim", 512),
            ("layers", 2),
            ("attention_heads", 4),
        ):
            option = f"{side}_{name}"
            setattr(cfg, option, getattr(cfg, option, value))
    base_architecture(cfg)
