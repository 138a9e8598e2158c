"""The bound in `generate()` of transformers."""

import math
from collections.abc import Iterable
from typing import Optional

import torch
from torch import Tensor
from transformers import LogitsProcessor

from wfe_plugin.errors import UserError
from wfe_plugin.method.bound import (
    LAST_RESORT,
    FrequencyBound,
    add_log_mask,
    frequency_bound,
    log_mask,
    weight_of_words,
)
from wfe_plugin.method.calibration import PAPER, Calibration
from wfe_plugin.method.estimator import FrequencyEstimate


class WFELogitsProcessor(LogitsProcessor):
    """Adds log clip(r̂ − count, 0, 1) + λ·log ĝ − µ·log p̄ to the scores of each step (Equations 4 and 5).

    For one batch: `model.generate(**inputs, logits_processor=[processor])`. It keeps no state from step to step, so it
    works with greedy search, beams, sampling and assisted generation. Under greedy search and sampling, scores are
    logits and not log-probabilities; that adds the same to all words. A temperature divides what is added as well.

    A row in which the bound leaves nothing possible (a minimum length, say, or forced tokens) stays as it was, less a
    constant that ranks it behind all others.

    Args:
        bound: of the sentences of the batch; transformers keeps the rows of one sentence together
        prompt_length: tokens of each row that are not generated words: 1, the start symbol, in an encoder-decoder
        rewards: (vocabulary,), what each word gains, at its first use unless that is negative; None: nothing
    """

    supports_continuous_batching = False  # which has no fixed order of rows

    def __init__(self, bound: FrequencyBound, prompt_length: int = 1, rewards: Optional[Tensor] = None):
        self.bound = bound
        self.prompt_length = prompt_length
        self.rewards = rewards

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """
        Args:
            input_ids: (rows, length), prompt and words so far
            scores: (rows, vocabulary), log-probabilities or logits of the next word
        """
        sentences, words = self.bound.budget.shape
        if scores.size(0) % sentences or scores.size(1) != words:
            raise UserError(
                f"the bound has {sentences} sentences and {words} words, but the scores have {scores.size(0)} rows and "
                f"{scores.size(1)} words: make a processor for each batch"
            )
        self.bound = FrequencyBound(*(None if field is None else field.to(scores.device) for field in self.bound))
        bounded = add_log_mask(scores.to(torch.float32, copy=True), self.bound, input_ids[:, self.prompt_length :])
        if self.rewards is not None:
            rewards = self.rewards.to(bounded.device)
            generated = input_ids[:, self.prompt_length :]
            repeated = bounded.gather(1, generated) + rewards.clamp(max=0.0)[generated]
            bounded = (bounded + rewards).scatter(1, generated, repeated)
        nothing_left = bounded.amax(dim=1, keepdim=True).isneginf()
        return torch.where(nothing_left, scores + math.log(LAST_RESORT), bounded)

    @classmethod
    def from_numbers(
        cls,
        model,
        budget: Tensor,
        gate: Optional[Tensor] = None,
        calibration: Calibration = PAPER,
        log_base_rate: Optional[Tensor] = None,
        exempt_tokens: Iterable[int] = (),
        prompt_length: Optional[int] = None,
    ) -> "WFELogitsProcessor":
        """From budgets and gates of the caller.

        Args:
            model: that generates; its special tokens are free
            budget: r̂, (sentences, vocabulary), how often each token may occur
            gate: ĝ, (sentences, vocabulary), the probability that it occurs; None: 1
            calibration: λ, µ and the reward of each word
            log_base_rate: log p̄, (vocabulary,); needed where µ is not 0
            exempt_tokens: further tokens that are free of budget and weight
            prompt_length: of a decoder-only model
        """
        budget = budget.to(torch.float32)
        log_gate = torch.zeros_like(budget) if gate is None else gate.to(torch.float32).log()
        bound = bound_of(budget, weight_of_words(log_gate, calibration, log_base_rate))
        return cls.for_model(model, bound, calibration.word_reward, exempt_tokens, prompt_length)

    @classmethod
    def from_source(
        cls,
        model,
        input_ids: Tensor,
        source_mask: Optional[Tensor] = None,
        out_of_source_penalty: float = 2.0,
        word_cap: int = 1,
        word_reward: float = 0.0,
        exempt_tokens: Iterable[int] = (),
        prompt_length: Optional[int] = None,
    ) -> "WFELogitsProcessor":
        """The rule without training: words that the source lacks cost more, and no word occurs more often than the cap.

        Args:
            model: that generates; its special tokens are free
            input_ids: (sentences, time), the source, or a prompt that contains it, in the target vocabulary
            source_mask: (sentences, time), 0 at tokens that are not the source's; None: all are
            out_of_source_penalty: nats off for a token that the source lacks
            word_cap: how often each token may occur; 0: as often as it likes
            word_reward: nats for each new token but the end
            exempt_tokens: tokens that are free of cap and penalty
            prompt_length: of a decoder-only model, if *input_ids* are not the prompt
        """
        vocabulary = vocabulary_size(model)
        penalty = torch.full((input_ids.size(0), vocabulary), -out_of_source_penalty, device=input_ids.device)
        if source_mask is None:
            source_mask = torch.ones_like(input_ids)
        # Other tokens of the prompt are sent to a column of their own.
        words = torch.where(source_mask.bool(), input_ids, vocabulary)
        penalty = torch.nn.functional.pad(penalty, (0, 1)).scatter(1, words, 0.0)[:, :-1]
        budget = torch.full_like(penalty, word_cap if word_cap > 0 else float("inf"))
        if prompt_length is None and not model.config.is_encoder_decoder:
            prompt_length = input_ids.size(1)
        return cls.for_model(model, bound_of(budget, penalty), word_reward, exempt_tokens, prompt_length)

    @classmethod
    def from_estimate(
        cls,
        model,
        estimate: FrequencyEstimate,
        mode: str = "full",
        calibration: Calibration = PAPER,
        log_base_rate: Optional[Tensor] = None,
        exempt_tokens: Iterable[int] = (),
        prompt_length: Optional[int] = None,
    ) -> "WFELogitsProcessor":
        """From an estimate of the sentences; *mode* is one of `full`, `strict`, `bound` and `gate`."""
        bound = frequency_bound(estimate, mode, calibration=calibration, log_base_rate=log_base_rate)
        return cls.for_model(model, bound, calibration.word_reward, exempt_tokens, prompt_length)

    @classmethod
    def for_model(
        cls,
        model,
        bound: FrequencyBound,
        word_reward: float,
        exempt_tokens: Iterable[int],
        prompt_length: Optional[int],
    ) -> "WFELogitsProcessor":
        """Leave the model's special tokens and *exempt_tokens* free, and reward all words but the end."""
        if prompt_length is None:
            if not model.config.is_encoder_decoder:
                raise UserError(
                    "prompt_length: give the length of the prompt, which is not part of a decoder-only model's summary"
                )
            prompt_length = 1
        budget, log_weight = bound.budget.clone(), bound.log_weight.clone()
        free = [*special_tokens(model), *exempt_tokens]
        budget[:, free] = float("inf")
        log_weight[:, free] = 0.0
        rewards = None
        if word_reward != 0:
            rewards = torch.full_like(budget[0], word_reward)
            rewards[list(special_tokens(model, ["eos_token_id"]))] = 0.0
        return cls(bound_of(budget, log_weight), prompt_length, rewards)


def bound_of(budget: Tensor, log_weight: Tensor) -> FrequencyBound:
    return FrequencyBound(budget, log_weight, None, log_mask(budget, log_weight))


SPECIAL_TOKENS = (
    "bos_token_id",
    "eos_token_id",
    "pad_token_id",
    "decoder_start_token_id",
    "forced_bos_token_id",
    "forced_eos_token_id",
)


def special_tokens(model, names: Iterable[str] = SPECIAL_TOKENS) -> set[int]:
    """Those that the model's configuration names: no words."""
    found: set[int] = set()
    for config in (model.config, model.generation_config):
        for name in names:
            tokens = getattr(config, name, None)
            if tokens is not None:
                found.update([tokens] if isinstance(tokens, int) else tokens)
    return {token for token in found if 0 <= token < vocabulary_size(model)}


def vocabulary_size(model) -> int:
    """How many scores a step has; some models have more than their tokenizer has tokens."""
    return model.get_output_embeddings().weight.size(0)
