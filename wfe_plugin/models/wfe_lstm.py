"""EncDec+WFE: the LSTM encoder-decoder of the paper, with its WFE sub-model."""

from dataclasses import dataclass, field

from fairseq.dataclass import ChoiceEnum
from fairseq.models import (
    FairseqEncoderDecoderModel,
    register_model,
    register_model_architecture,
)
from omegaconf import II
from torch import Tensor

from wfe_plugin.errors import check_ranges
from wfe_plugin.models.bilstm_encoder import BiLSTMEncoder, BiLSTMEncoderOut
from wfe_plugin.models.lstm_decoder import AttentiveLSTMDecoder
from wfe_plugin.models.wfe_model import WFEConfig, WFEModel, corresponding_words


@dataclass
class WFELSTMConfig(WFEConfig):
    """The defaults are the paper's (Table 1)."""

    dropout: float = field(default=0.3, metadata={"help": "dropout probability"})
    encoder_embed_dim: int = field(default=200, metadata={"help": "size of source embeddings (D in the paper)"})
    encoder_hidden_size: int = field(
        default=400,
        metadata={"help": "size of one direction's encoder states (H in the paper)"},
    )
    encoder_layers: int = field(default=2, metadata={"help": "number of bidirectional encoder layers"})
    encoder_states: ChoiceEnum(["sum", "concat"]) = field(
        default="sum",
        metadata={
            "help": "how the two directions' states make one: sum (size H, as in the "
            "authors' code) or concat (size 2H, as in fairseq's lstm)"
        },
    )
    decoder_embed_dim: int = field(default=200, metadata={"help": "size of target embeddings (D in the paper)"})
    decoder_hidden_size: int = field(default=400, metadata={"help": "size of decoder states (H in the paper)"})
    decoder_layers: int = field(default=2, metadata={"help": "decoder layers"})
    copy_attention: bool = field(
        default=False,
        metadata={"help": "words of the source may also be copied, through the attention (See et al., 2017)"},
    )
    max_source_positions: int = II("task.max_source_positions")
    max_target_positions: int = II("task.max_target_positions")

    def validate(self) -> None:
        WFEConfig.validate(self)
        check_ranges(self, RANGES)


SIZES = [f"{side}_{name}" for side in ("encoder", "decoder") for name in ("embed_dim", "hidden_size", "layers")]
RANGES = {"dropout": "[0, 1)", **dict.fromkeys(SIZES, "[1, inf)")}


class LSTMEncoderDecoder(FairseqEncoderDecoderModel):
    """EncDec: a bidirectional LSTM encoder, and an LSTM decoder with global attention."""

    @classmethod
    def build_model(cls, cfg: WFELSTMConfig, task) -> "LSTMEncoderDecoder":
        WFELSTMConfig.validate(cfg)  # unbound: fairseq's own configuration object has no methods
        encoder = BiLSTMEncoder(
            task.source_dictionary,
            embed_dim=cfg.encoder_embed_dim,
            hidden_size=cfg.encoder_hidden_size,
            num_layers=cfg.encoder_layers,
            dropout=cfg.dropout,
            sum_directions=cfg.encoder_states == "sum",
            max_source_positions=cfg.max_source_positions,
        )
        words = None
        if cfg.copy_attention:
            words = corresponding_words(task.source_dictionary, task.target_dictionary)
            words = words.masked_fill(words < 0, task.target_dictionary.unk())
        decoder = AttentiveLSTMDecoder(
            task.target_dictionary,
            words,
            embed_dim=cfg.decoder_embed_dim,
            hidden_size=cfg.decoder_hidden_size,
            out_embed_dim=cfg.decoder_hidden_size,
            num_layers=cfg.decoder_layers,
            dropout_in=cfg.dropout,
            dropout_out=cfg.dropout,
            encoder_output_units=encoder.state_size,
            max_target_positions=cfg.max_target_positions,
        )
        return cls(encoder, decoder)


@register_model("wfe_lstm", dataclass=WFELSTMConfig)
class WFELSTMModel(WFEModel, LSTMEncoderDecoder):
    """LSTM encoder-decoder with global attention and word-frequency estimation.

    Suzuki and Nagata (2017), "Cutting-off Redundant Repeating Generations for
    Neural Abstractive Summarization", https://aclanthology.org/E17-2047/
    """

    def encoder_states(self, encoder_out: BiLSTMEncoderOut, src_tokens: Tensor) -> tuple[Tensor, Tensor]:
        # The encoder's own tokens: it may have moved the padding.
        return encoder_out.outputs, encoder_out.tokens

    def encoder_state_size(self) -> int:
        return self.encoder.state_size


@register_model_architecture("wfe_lstm", "wfe_lstm_tiny")
def wfe_lstm_tiny(cfg) -> None:
    """Sizes for tests and demonstrations on a laptop."""
    cfg.dropout = getattr(cfg, "dropout", 0.2)
    for side in ("encoder", "decoder"):
        setattr(cfg, f"{side}_embed_dim", getattr(cfg, f"{side}_embed_dim", 64))
        setattr(cfg, f"{side}_hidden_size", getattr(cfg, f"{side}_hidden_size", 128))
        setattr(cfg, f"{side}_layers", getattr(cfg, f"{side}_layers", 1))
