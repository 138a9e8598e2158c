"""EncDec+WFE: the LSTM encoder-decoder of the paper, with its WFE sub-model."""

import logging
from dataclasses import dataclass, field
from typing import Optional

import torch
from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.models import register_model, register_model_architecture
from fairseq.models.lstm import LSTMDecoder
from omegaconf import II
from torch import Tensor

from wfe_plugin.method.estimator import (
    FrequencyEstimate,
    PendingEstimate,
    WordFrequencyEstimator,
)
from wfe_plugin.method.hurdle import CopyingEstimator, HurdleEstimator
from wfe_plugin.models.bilstm_encoder import BiLSTMEncoder, BiLSTMEncoderOut
from wfe_plugin.models.checks import CheckedEncoderDecoderModel, refuse_impossible_sizes

ESTIMATORS = {
    "paper": WordFrequencyEstimator,
    "hurdle": HurdleEstimator,
    "copying": CopyingEstimator,
}

logger = logging.getLogger(__name__)


@dataclass
class WFELSTMConfig(FairseqDataclass):
    """The defaults are the paper's (Table 1)."""

    dropout: float = field(default=0.3, metadata={"help": "dropout probability"})
    encoder_embed_dim: int = field(
        default=200, metadata={"help": "size of source embeddings (D in the paper)"}
    )
    encoder_hidden_size: int = field(
        default=400,
        metadata={"help": "size of one direction's encoder states (H in the paper)"},
    )
    encoder_layers: int = field(
        default=2, metadata={"help": "number of bidirectional encoder layers"}
    )
    encoder_states: ChoiceEnum(["sum", "concat"]) = field(
        default="sum",
        metadata={
            "help": "how the two directions' states make one: sum (size H, as in the "
            "authors' code) or concat (size 2H, as in fairseq's lstm)"
        },
    )
    decoder_embed_dim: int = field(
        default=200, metadata={"help": "size of target embeddings (D in the paper)"}
    )
    decoder_hidden_size: int = field(
        default=400, metadata={"help": "size of decoder states (H in the paper)"}
    )
    decoder_layers: int = field(default=2, metadata={"help": "decoder layers"})
    without_wfe: bool = field(
        default=False,
        metadata={
            "help": "leave out the WFE sub-model: the paper's EncDec baseline; "
            "decode such a model with --wfe-decoding off"
        },
    )
    wfe_estimator: ChoiceEnum(list(ESTIMATORS)) = field(
        default="paper",
        metadata={
            "help": "paper: upper bound and gate with the loss of the paper; hurdle: "
            "the probability that a word occurs and how often it then does, by maximum "
            "likelihood; copying: hurdle, and it sees which words the source has"
        },
    )
    wfe_only: bool = field(
        default=False,
        metadata={
            "help": "train the WFE sub-model alone and leave the rest as it is: gives one "
            "to a trained model without, named by --finetune-from-model"
        },
    )
    max_source_positions: int = II("task.max_source_positions")
    max_target_positions: int = II("task.max_target_positions")


SIZES = [
    f"{side}_{name}"
    for side in ("encoder", "decoder")
    for name in ("embed_dim", "hidden_size", "layers")
]


@register_model("wfe_lstm", dataclass=WFELSTMConfig)
class WFELSTMModel(CheckedEncoderDecoderModel):
    """LSTM encoder-decoder with global attention and word-frequency estimation.

    Suzuki and Nagata (2017), "Cutting-off Redundant Repeating Generations for
    Neural Abstractive Summarization", https://aclanthology.org/E17-2047/

    `wfe_head` is None in a model without the WFE sub-model.
    """

    def __init__(
        self, encoder, decoder, wfe_head: Optional[WordFrequencyEstimator] = None
    ):
        super().__init__(encoder, decoder)
        self.wfe_head = wfe_head
        self.wfe_only = False
        self.is_loaded = False
        self.register_buffer(
            "target_of_source",
            corresponding_words(encoder.dictionary, decoder.dictionary),
            persistent=False,
        )

    @classmethod
    def build_model(cls, cfg: WFELSTMConfig, task) -> "WFELSTMModel":
        refuse_impossible_sizes(cfg, SIZES)
        encoder = BiLSTMEncoder(
            task.source_dictionary,
            embed_dim=cfg.encoder_embed_dim,
            hidden_size=cfg.encoder_hidden_size,
            num_layers=cfg.encoder_layers,
            dropout=cfg.dropout,
            sum_directions=cfg.encoder_states == "sum",
            max_source_positions=cfg.max_source_positions,
        )
        decoder = LSTMDecoder(
            task.target_dictionary,
            embed_dim=cfg.decoder_embed_dim,
            hidden_size=cfg.decoder_hidden_size,
            out_embed_dim=cfg.decoder_hidden_size,
            num_layers=cfg.decoder_layers,
            dropout_in=cfg.dropout,
            dropout_out=cfg.dropout,
            encoder_output_units=encoder.state_size,
            max_target_positions=cfg.max_target_positions,
        )
        wfe_head = None
        if cfg.without_wfe and cfg.wfe_only:
            raise ValueError("--without-wfe and --wfe-only: nothing is left to train")
        if not cfg.without_wfe:
            if not hasattr(getattr(task, "cfg", None), "wfe_decoding"):
                logger.warning(
                    "this model has a WFE sub-model, but its task does not decode with "
                    "it: give --task summarization_wfe to every command"
                )
            wfe_head = ESTIMATORS[cfg.wfe_estimator](
                encoder.state_size, len(task.target_dictionary)
            )
        model = cls(encoder, decoder, wfe_head)
        if cfg.wfe_only:
            model.train_wfe_only()
        return model

    def train_wfe_only(self) -> None:
        self.wfe_only = True
        self.encoder.requires_grad_(False)
        self.decoder.requires_grad_(False)

    def upgrade_state_dict_named(self, state_dict, name: str) -> None:
        """Lets a checkpoint without WFE be loaded where WFE is to be added to it.

        Whatever else is missing, fairseq refuses.
        """
        super().upgrade_state_dict_named(state_dict, name)
        if self.wfe_only and not any(key.startswith("wfe_head.") for key in state_dict):
            for key, value in self.wfe_head.state_dict(prefix="wfe_head.").items():
                state_dict[key] = value

    def load_state_dict(self, state_dict, *args, **kwargs):
        self.is_loaded = True
        return super().load_state_dict(state_dict, *args, **kwargs)

    def forward(self, src_tokens, src_lengths, prev_output_tokens):
        """
        Returns:
            logits (sentences, length, vocabulary) and a dictionary with `attn`
            and `wfe`, the :class:`PendingEstimate` of the batch (None in a
            model without the WFE sub-model)
        """
        if self.training and self.wfe_only and not self.is_loaded:
            raise ValueError(
                "--wfe-only: name the trained model by --finetune-from-model, which must exist"
            )
        encoder_out = self.encoder(src_tokens, src_lengths)
        logits, attention = self.decoder(prev_output_tokens, encoder_out=encoder_out)
        pending = None
        if self.wfe_head is not None:
            pending = self.read_frequencies(encoder_out)
        return logits, {"attn": attention, "wfe": pending}

    def read_frequencies(self, encoder_out: BiLSTMEncoderOut) -> PendingEstimate:
        """What the WFE sub-model reads in the encoder's states."""
        source_words = self.target_of_source[encoder_out.tokens]
        return self.wfe_head.read(encoder_out.states, encoder_out.padding, source_words)

    def estimate_frequencies(self, encoder_out: BiLSTMEncoderOut) -> FrequencyEstimate:
        """r and g of each sentence, from what the encoder returned for it."""
        return self.read_frequencies(encoder_out).whole()


def corresponding_words(source, target) -> Tensor:
    """The index in *target* of each word of *source*; -1 if it has none."""
    indices = [target.index(word) for word in source.symbols]
    return torch.tensor([-1 if i == target.unk() else i for i in indices])


@register_model_architecture("wfe_lstm", "wfe_lstm_tiny")
def wfe_lstm_tiny(cfg) -> None:
    """Sizes for tests and demonstrations on a laptop."""
    cfg.dropout = getattr(cfg, "dropout", 0.2)
    for side in ("encoder", "decoder"):
        setattr(cfg, f"{side}_embed_dim", getattr(cfg, f"{side}_embed_dim", 64))
        setattr(cfg, f"{side}_hidden_size", getattr(cfg, f"{side}_hidden_size", 128))
        setattr(cfg, f"{side}_layers", getattr(cfg, f"{side}_layers", 1))
