"""Training objective: negative log-likelihood plus the WFE loss (Section 3.4)."""

import math
from dataclasses import dataclass, field, fields
from typing import Optional

import torch
import torch.nn.functional as F
from fairseq import utils
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.criterions.label_smoothed_cross_entropy import label_smoothed_nll_loss
from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.logging import metrics
from torch import Tensor

from wfe_plugin.criterions.finite import describe_non_finite
from wfe_plugin.errors import UserError, check_ranges
from wfe_plugin.method.estimator import FrequencyEstimate, PendingEstimate
from wfe_plugin.method.hurdle import HurdleEstimate, hurdle_loss
from wfe_plugin.method.likelihood import adaptive_log_probs, nll_of_tokens_in_place
from wfe_plugin.method.loss import estimate_loss
from wfe_plugin.method.sampled_loss import sampled_loss
from wfe_plugin.method.sliced_loss import sliced_loss

# What a criterion here may add to the NLL, logged a sentence, and to how many digits.
FURTHER_LOSSES = {"wfe_loss": 3, "unlikelihood_loss": 3, "risk": 5}


@dataclass
class NLLWithWFEConfig(FairseqDataclass):
    wfe_weight: float = field(default=1.0, metadata={"help": "weight of the WFE loss beside the NLL"})
    wfe_over_cost: float = field(default=0.2, metadata={"help": "cost of estimating too much (c1, Equation 6)"})
    wfe_under_cost: float = field(default=1.0, metadata={"help": "cost of estimating too little (c2, Equation 6)"})
    wfe_epsilon: float = field(
        default=0.25,
        metadata={"help": "errors up to this size cost nothing (epsilon, Equation 6)"},
    )
    wfe_power: float = field(default=2.0, metadata={"help": "power of larger errors (b, Equation 6)"})
    label_smoothing: float = field(default=0.0, metadata={"help": "label smoothing of the NLL; 0 means none"})
    average_over: ChoiceEnum(["sentences", "tokens"]) = field(
        default="sentences",
        metadata={
            "help": "the gradient is an average over sentences, as in the paper and as "
            "fairseq's --sentence-avg does for other criteria (which this criterion "
            "does not look at), or over target tokens, as fairseq does by default"
        },
    )

    def validate(self) -> None:
        costs = dict.fromkeys(("wfe_weight", "wfe_over_cost", "wfe_under_cost", "wfe_epsilon"), "[0, inf)")
        check_ranges(self, {**costs, "wfe_power": "[1, inf)", "label_smoothing": "[0, 1)"})


@register_criterion("nll_wfe", dataclass=NLLWithWFEConfig)
class NLLWithWFECriterion(FairseqCriterion):
    """NLL + weight × Ψ^wfe; plain NLL for any model without a WFE sub-model.

    Logged: `loss`, what is minimised, in nats a sentence (or token, as
    averaged); `nll_loss` in bits a token and its `ppl`, as all of fairseq's
    criteria log them; `wfe_loss`, Equation 6 or the
    likelihood of the other estimators, a sentence.
    """

    needs_lprobs = False  # whether `further_losses` does
    nll_weight = 1.0

    def __init__(
        self,
        task,
        wfe_weight: float = 1.0,
        wfe_over_cost: float = 0.2,
        wfe_under_cost: float = 1.0,
        wfe_epsilon: float = 0.25,
        wfe_power: float = 2.0,
        label_smoothing: float = 0.0,
        average_over: str = "sentences",
    ):
        super().__init__(task)
        self.wfe_weight = wfe_weight
        self.wfe_options = dict(
            over_cost=wfe_over_cost,
            under_cost=wfe_under_cost,
            epsilon=wfe_epsilon,
            power=wfe_power,
        )
        self.label_smoothing = label_smoothing
        self.average_over = average_over

    @classmethod
    def build_criterion(cls, cfg, task):
        config = getattr(cls, "__dataclass")
        config.validate(cfg)  # unbound: fairseq's own configuration object has no methods
        names = [option.name for option in fields(config) if not option.name.startswith("_")]
        return cls(task, **{name: getattr(cfg, name) for name in names})

    def forward(self, model, sample, reduce=True):
        """Returns the loss, what it is to be divided by, and what is logged."""
        if sample.get("target") is None:
            raise UserError(
                "the data set has no summaries to learn from: the file of its target "
                "language is missing. Run wfe-preprocess again"
            )
        net_output = model(**sample["net_input"])
        target = model.get_targets(sample, net_output)
        lprobs = None
        if net_output[0] is None:  # the estimate alone is trained
            loss = nll = torch.zeros((), device=target.device)
        elif self.uses_up_logits(model, net_output[0]):
            loss = nll = nll_of_tokens(net_output, target, self.padding_idx).sum()
        else:
            lprobs = log_probs(model, net_output)
            loss, nll = self.nll_loss(lprobs.view(-1, lprobs.size(-1)), target.reshape(-1))
        if self.nll_weight != 1:
            # With no weight, its way back through the model is spared.
            loss = self.nll_weight * (loss if self.nll_weight else loss.detach())
        sentences = target.size(0)
        logging_output = {
            "nll_loss": nll.detach(),
            "ntokens": sample["ntokens"],
            "nsentences": sentences,
        }
        further = self.further_losses(lprobs, target, pending_estimate(net_output))
        for name, (weight, value) in further.items():
            loss = loss + weight * value
            logging_output[name] = value.detach()
        sample_size = sentences if self.average_over == "sentences" else sample["ntokens"]
        logging_output["loss"] = loss.detach()
        if not torch.isfinite(loss):
            self.refuse_non_finite(model, sample, logging_output)
        logging_output["sample_size"] = sample_size
        return loss, sample_size, logging_output

    def uses_up_logits(self, model, logits: Tensor) -> bool:
        """Whether the plain NLL is all that looks at the logits, and is to be learnt from."""
        return (
            not self.needs_lprobs
            and self.label_smoothing == 0
            and torch.is_grad_enabled()
            and logits.requires_grad
            # Half precision is for fairseq's own softmax, in float32.
            and logits.dtype in (torch.float32, torch.float64)
            and adaptive_softmax_of(model) is None
        )

    def nll_loss(self, lprobs: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """NLL as trained (smoothed) and as it is, summed over the tokens.

        Args:
            lprobs: (tokens, vocabulary)
            target: (tokens,)
        """
        if self.label_smoothing > 0:
            return label_smoothed_nll_loss(lprobs, target, self.label_smoothing, ignore_index=self.padding_idx)
        nll = F.nll_loss(lprobs, target, ignore_index=self.padding_idx, reduction="sum")
        return nll, nll

    def further_losses(
        self,
        lprobs: Optional[Tensor],
        target: Tensor,
        pending: Optional[PendingEstimate],
    ) -> dict[str, tuple[float, Tensor]]:
        """What is added to the NLL: names (of FURTHER_LOSSES), weights and values.

        Args:
            lprobs: (sentences, length, vocabulary); None unless `needs_lprobs`
            target: (sentences, length)
            pending: what the WFE sub-model has read; None if the model has none

        Returns:
            values are summed over the sentences
        """
        if pending is None:
            return {}
        if not issubclass(pending.kind, HurdleEstimate):
            wfe = sliced_loss(pending, self.loss_of_equation_6, target, self.padding_idx)
        elif torch.is_grad_enabled():
            wfe = sampled_loss(pending, hurdle_loss, target, self.padding_idx)
        else:  # validation is exact
            wfe = sliced_loss(pending, hurdle_loss, target, self.padding_idx)
        return {"wfe_loss": (self.wfe_weight, wfe)}

    def loss_of_equation_6(self, estimate: FrequencyEstimate, a_star: Tensor) -> Tensor:
        return estimate_loss(estimate, a_star, **self.wfe_options)

    @torch.no_grad()
    def refuse_non_finite(self, model, sample, logged) -> None:
        """Raise, and say for which pairs of the batch it is so."""
        net_output = model(**sample["net_input"])
        lprobs = model.get_normalized_probs(net_output, log_probs=True)
        target = model.get_targets(sample, net_output)
        outputs = [lprobs.gather(-1, target.unsqueeze(-1))]
        pending = pending_estimate(net_output)
        if pending is not None:
            outputs.append(pending.whole().a_hat)
        raise UserError(describe_non_finite(logged, outputs, sample["id"]))

    @classmethod
    def reduce_metrics(cls, logging_outputs) -> None:
        """Sum what the batches or data-parallel workers logged."""

        def total(key: str):
            return sum(log.get(key, 0) for log in logging_outputs)

        sample_size, tokens = total("sample_size"), total("ntokens")
        sentences = total("nsentences")
        metrics.log_scalar("loss", total("loss") / sample_size, sample_size, round=3)
        metrics.log_scalar("nll_loss", total("nll_loss") / tokens / math.log(2), tokens, round=3)
        metrics.log_derived("ppl", lambda meters: utils.get_perplexity(meters["nll_loss"].avg))
        for name, digits in FURTHER_LOSSES.items():
            if any(name in log for log in logging_outputs):
                metrics.log_scalar(name, total(name) / sentences, sentences, round=digits)

    @staticmethod
    def logging_outputs_can_be_summed() -> bool:
        return True


def adaptive_softmax_of(model) -> Optional[torch.nn.Module]:
    return getattr(getattr(model, "decoder", None), "adaptive_softmax", None)


def log_probs(model, net_output) -> Tensor:
    """log P of all words, (sentences, length, vocabulary), also where it is to be learnt from."""
    adaptive_softmax = adaptive_softmax_of(model)
    if adaptive_softmax is not None and torch.is_grad_enabled():
        return adaptive_log_probs(adaptive_softmax, net_output[0])
    return model.get_normalized_probs(net_output, log_probs=True)


def nll_of_tokens(net_output, target: Tensor, pad: int) -> Tensor:
    """−log P of each word, (sentences, length), 0 at padding; the logits are used up."""
    logits, extra = net_output
    nll = nll_of_tokens_in_place(logits.view(-1, logits.size(-1)), target.reshape(-1), pad).view(target.shape)
    copying = extra.get("copying") if isinstance(extra, dict) else None
    return nll if copying is None else -copying.log_prob_of(target, -nll).masked_fill(target.eq(pad), 0.0)


def pending_estimate(net_output) -> Optional[PendingEstimate]:
    """What the WFE sub-model said of a batch, if the model has one."""
    extra = net_output[1]
    return extra.get("wfe") if isinstance(extra, dict) else None
