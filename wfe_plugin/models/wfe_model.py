"""What makes a WFE model of any of fairseq's encoder-decoders; docs/new_model.md shows how."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Callable, Optional

import torch
from fairseq.dataclass import FairseqDataclass
from fairseq.dataclass.utils import gen_parser_from_dataclass
from fairseq.models import (
    ARCH_CONFIG_REGISTRY,
    ARCH_MODEL_INV_REGISTRY,
    register_model_architecture,
)
from torch import Tensor

import wfe_plugin
from wfe_plugin.errors import UserError, option_of
from wfe_plugin.method.calibration import Calibration
from wfe_plugin.method.estimator import FrequencyEstimate, LiteralEstimator, PendingEstimate, WordFrequencyEstimator
from wfe_plugin.method.hurdle import CopyingEstimator
from wfe_plugin.method.votes import VotingEstimator
from wfe_plugin.models.checks import ChecksWeights

ESTIMATORS = {
    "paper": WordFrequencyEstimator,
    "literal": LiteralEstimator,
    "votes": VotingEstimator,
    "copying": CopyingEstimator,
}

logger = logging.getLogger(__name__)


@dataclass
class WFEConfig(FairseqDataclass):
    """The options of every model that can have a WFE sub-model."""

    without_wfe: bool = field(
        default=False,
        metadata={
            "help": "leave out the WFE sub-model: the paper's EncDec baseline; "
            "decode such a model with --wfe-decoding off"
        },
    )
    wfe_estimator: str = field(
        default="paper",
        metadata={
            "help": "paper: upper bound and gate with the loss of the paper (Figure 2, with the sum divided by a "
            "constant and a bias on the bound); literal: Figure 2 to the letter; votes: by maximum likelihood, "
            "each word of the source votes for itself; copying: the same as version 0.1.0 had it"
        },
    )
    wfe_calibration: str = field(
        default="",
        metadata={
            "help": "weights of the mask that --wfe-decoding auto uses, as wfe-calibrate stores them, for example "
            "'gate=0.75 base-rate=0.5 reward=0.5'"
        },
    )
    wfe_only: bool = field(
        default=False,
        metadata={
            "help": "train the WFE sub-model alone and leave the rest as it is: gives one "
            "to a trained model without, named by --finetune-from-model"
        },
    )
    wfe_detached: bool = field(
        default=False,
        metadata={
            "help": "train the WFE sub-model beside the rest, but keep its loss from the "
            "encoder, whose states it reads as they are"
        },
    )
    wfe_new_head: bool = field(
        default=False,
        metadata={
            "help": "give a WFE sub-model to a trained model without, named by "
            "--finetune-from-model, and train both further"
        },
    )

    @classmethod
    def of(cls, cfg) -> "WFEConfig":
        """Those of a model's configuration, which may be older than some of them."""
        return cls(
            **{
                option.name: getattr(cfg, option.name, option.default)
                for option in fields(cls)
                if option.name != "_name"
            }
        )

    def validate(self) -> None:
        """Refuse what contradicts itself."""
        if self.wfe_estimator not in ESTIMATORS:
            raise UserError(f"--wfe-estimator {self.wfe_estimator}: choose one of {', '.join(ESTIMATORS)}")
        for name in ("wfe_only", "wfe_detached", "wfe_new_head"):
            if self.without_wfe and getattr(self, name):
                raise UserError(f"--without-wfe and {option_of(name)}: choose one of them")
        Calibration.parse(self.wfe_calibration)

    @property
    def to_be_added(self) -> str:
        """The option by which a trained model gets its sub-model; empty if it is not so."""
        return "--wfe-only" if self.wfe_only else "--wfe-new-head" if self.wfe_new_head else ""


class WFEModel(ChecksWeights):
    """A mixin before an encoder-decoder model: adds the WFE sub-model, `wfe_head`.

    It says how often each word may occur, from the states of the encoder. `wfe_head` is
    None in a model that was built with --without-wfe. A family of models says by
    :meth:`encoder_states` where the encoder's states are.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.wfe_head = None
        self.wfe = WFEConfig(without_wfe=True)
        self.is_loaded = False
        self.register_buffer(
            "target_of_source",
            corresponding_words(self.encoder.dictionary, self.decoder.dictionary),
            persistent=False,
        )

    # What a family says

    # Whether its outputs may begin with <s>, as BART's do: then that symbol has neither budget nor gate.
    says_start_symbol = False

    def encoder_states(self, encoder_out, src_tokens: Tensor) -> tuple[Tensor, Tensor]:
        """The states that the sub-model reads: before output dropout, if there is such.

        A maximum over states with dropout differs between training and evaluation.

        Args:
            encoder_out: what the encoder returned
            src_tokens: what it was given, (sentences, time)

        Returns:
            states (time, sentences, H); the token that each is of (time, sentences)
        """
        raise NotImplementedError

    def encoder_state_size(self) -> int:
        """H, in most families the size of the embeddings."""
        return self.encoder.embed_tokens.embedding_dim

    # What follows from it

    @property
    def calibration(self) -> Optional[Calibration]:
        """The weights of the mask that were chosen for this model; None if none were."""
        return Calibration.parse(self.wfe.wfe_calibration) if self.wfe.wfe_calibration else None

    def log_base_rate(self) -> Optional[Tensor]:
        """log p̄, (vocabulary,); None if the model has no estimate or its base rates were never counted."""
        return None if self.wfe_head is None else self.wfe_head.log_base_rate()

    def count_base_rates(self, summaries: Iterable[Tensor]) -> None:
        """Before training: count words of the training summaries, unless that has been done."""
        if self.wfe_head is not None and self.wfe_head.base_pairs == 0:
            self.wfe_head.count_base_rates(summaries)

    @classmethod
    def add_args(cls, parser) -> None:
        super().add_args(parser)
        if getattr(cls, "__dataclass", None) is None:  # which has them already
            gen_parser_from_dataclass(parser, WFEConfig(), delete_default=True)

    @classmethod
    def build_model(cls, cfg, task):
        wfe = WFEConfig.of(cfg)
        wfe.validate()
        model = super().build_model(cfg, task)
        if not isinstance(model, cls):  # some families build nothing but their own class
            model = cls(model.encoder, model.decoder)
        model.add_wfe(wfe, task)
        return model

    @classmethod
    def from_pretrained(cls, *args, **kwargs):
        """fairseq's hub interface. It needs the task of the checkpoint."""
        wfe_plugin.register()
        return super().from_pretrained(*args, **kwargs)

    def add_wfe(self, wfe: WFEConfig, task) -> None:
        self.wfe = wfe
        if wfe.without_wfe:
            return
        if not hasattr(getattr(task, "cfg", None), "wfe_decoding"):
            logger.warning(
                "this model estimates word frequencies, but fairseq's own task does not decode with them, and may "
                "drop the last sentences of a set: give --task summarization_wfe to every command"
            )
        self.wfe_head = ESTIMATORS[wfe.wfe_estimator](self.encoder_state_size(), len(task.target_dictionary))
        if wfe.wfe_only:
            self.encoder.requires_grad_(False)
            self.decoder.requires_grad_(False)

    def upgrade_state_dict_named(self, state_dict, name: str) -> None:
        """Lets a checkpoint without WFE be loaded where WFE is to be added to it.

        Whatever else is missing, fairseq refuses.
        """
        super().upgrade_state_dict_named(state_dict, name)
        if self.wfe_head is None:
            return
        if any(key.startswith("wfe_head.") for key in state_dict):
            self.wfe_head.upgrade_state(state_dict, "wfe_head.")
        elif self.wfe.to_be_added:
            state_dict.update(self.wfe_head.state_dict(prefix="wfe_head."))

    def load_state_dict(self, state_dict, *args, **kwargs):
        self.is_loaded = True
        return super().load_state_dict(state_dict, *args, **kwargs)

    def forward(self, src_tokens, src_lengths, prev_output_tokens):
        """
        Returns:
            logits (sentences, length, vocabulary), None while the sub-model alone is trained; and a dictionary: what the decoder
            says besides, and `wfe`, the :class:`PendingEstimate` of the batch (None in
            a model without the WFE sub-model)
        """
        if self.training:
            self.refuse_to_learn_untrained()
        if self.training and self.wfe.wfe_only:
            with torch.no_grad():
                encoder_out = self.encoder(src_tokens, src_lengths=src_lengths)
            return None, {"wfe": self.read_frequencies(encoder_out, src_tokens)}
        encoder_out = self.encoder(src_tokens, src_lengths=src_lengths)
        logits, extra = self.decoder(prev_output_tokens, encoder_out=encoder_out)
        if not isinstance(extra, dict):
            extra = {"attn": extra}
        pending = None
        if self.wfe_head is not None:
            pending = self.read_frequencies(encoder_out, src_tokens)
        return logits, {**extra, "wfe": pending}

    def get_normalized_probs(self, net_output, log_probs, sample=None):
        """As fairseq's; where words may be copied, of all words together."""
        extra = net_output[1]
        copying = extra.get("copying") if isinstance(extra, dict) else None
        if copying is None:
            return super().get_normalized_probs(net_output, log_probs, sample)
        found = copying.log_probs(net_output[0])
        return found if log_probs else found.exp()

    def train(self, mode: bool = True):
        """As any module's; a model that stays as it is stays without dropout, too: the sub-model learns from the
        states that it will decode with.
        """
        super().train(mode)
        if self.wfe.wfe_only:
            self.encoder.eval()
            self.decoder.eval()
        return self

    def refuse_to_learn_untrained(self) -> None:
        """Raise if the sub-model is to be added to a trained model, and none was loaded."""
        if self.wfe.to_be_added and not self.is_loaded:
            raise UserError(
                f"{self.wfe.to_be_added}: name the trained model with --finetune-from-model; the file must exist"
            )

    def read_frequencies(self, encoder_out, src_tokens: Tensor) -> PendingEstimate:
        """What the WFE sub-model reads in the encoder's states."""
        states, tokens = self.encoder_states(encoder_out, src_tokens)
        if self.wfe.wfe_detached:
            states = states.detach()
        padding = tokens.eq(self.encoder.dictionary.pad())
        return self.wfe_head.read(states, padding, self.target_of_source[tokens])

    def estimate_frequencies(self, encoder_out, src_tokens: Tensor) -> FrequencyEstimate:
        """r and g of each sentence, from what the encoder was given and returned for it."""
        return self.read_frequencies(encoder_out, src_tokens).whole()


def corresponding_words(source, target) -> Tensor:
    """The index in *target* of each word of *source*; -1 if it has none."""
    indices = [target.index(word) for word in source.symbols]
    return torch.tensor([-1 if i == target.unk() else i for i in indices])


def register_architectures_of(stock: str) -> Callable[[type], type]:
    """Gives a WFE model all architectures of fairseq's model *stock*, each as `wfe_` and its name.

    Stands before `register_model`.
    """

    def register(model: type) -> type:
        for name in ARCH_MODEL_INV_REGISTRY[stock]:
            sizes = ARCH_CONFIG_REGISTRY[name]
            register_model_architecture(f"wfe_{stock}", f"wfe_{name}")(sizes)
        return model

    return register
