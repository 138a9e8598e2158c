"""Train an estimator on top of a model of transformers, which stays as it is."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Optional, Union

import torch
from torch import Tensor

from wfe_plugin.errors import UserError
from wfe_plugin.huggingface.head import ESTIMATORS, FrequencyHead
from wfe_plugin.huggingface.texts import TEMPLATE, batches, model_inputs, padded, summary_tokens
from wfe_plugin.method.calibration import Calibration
from wfe_plugin.method.estimator import PendingEstimate
from wfe_plugin.method.hurdle import HurdleEstimate, hurdle_loss
from wfe_plugin.method.loss import estimate_loss
from wfe_plugin.method.sliced_loss import sliced_loss

Pair = tuple[str, str]  # article and summary
NO_TOKEN = -100  # pads summaries, whatever the vocabulary


@dataclass(frozen=True)
class HeadTraining:
    """How an estimator is trained."""

    estimator: str = "votes"
    template: str = ""  # of a decoder-only model; empty: TEMPLATE
    epochs: int = 5
    batch_size: int = 16
    learning_rate: float = 1e-3
    max_source_tokens: Optional[int] = None
    max_summary_tokens: Optional[int] = None
    seed: int = 1
    calibration: str = ""  # to be stored, as `Calibration` writes it

    def validate(self) -> None:
        Calibration.parse(self.calibration)
        if self.estimator not in ESTIMATORS:
            raise UserError(f"estimator {self.estimator!r}: choose one of {', '.join(ESTIMATORS)}")
        for name in ("epochs", "batch_size", "learning_rate", "max_source_tokens", "max_summary_tokens"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UserError(f"{name.replace('_', ' ')} is {value}; it must be above 0")


def train_head(
    model,
    tokenizer,
    pairs: Sequence[Pair],
    validation: Sequence[Pair],
    options: HeadTraining = HeadTraining(),
    out: Optional[Union[str, Path]] = None,
    report: Callable[[str], None] = print,
) -> FrequencyHead:
    """The head with the lowest validation loss.

    Args:
        model: encoder-decoder or decoder-only
        pairs: to learn from
        validation: to choose the best epoch by
        out: file, or directory of the model, where it is written whenever it gets better
        report: is given one line per epoch
    """
    options.validate()
    if not pairs or not validation:
        raise UserError("the training set or the validation set is empty")
    model.eval()
    random_numbers = random.Random(options.seed)
    torch.manual_seed(options.seed)
    template = "" if model.config.is_encoder_decoder else options.template or TEMPLATE
    head = FrequencyHead.for_model(model, options.estimator, template)
    head.calibration = Calibration.parse(options.calibration) if options.calibration else None
    summaries = summary_tokens(model, tokenizer, [summary for _, summary in pairs], template)
    head.estimator.count_base_rates(torch.tensor(words, dtype=torch.long) for words in summaries)
    optimizer = torch.optim.Adam(head.parameters(), lr=options.learning_rate)
    best, best_state = float("inf"), {}
    pairs = list(pairs)
    for epoch in range(1, options.epochs + 1):
        random_numbers.shuffle(pairs)
        head.train()
        total = 0.0
        for batch in batches(pairs, options.batch_size):
            loss = loss_of_batch(model, tokenizer, head, batch, options)
            optimizer.zero_grad()
            (loss / len(batch)).backward()
            optimizer.step()
            total += loss.item()
        loss = validation_loss(model, tokenizer, head, validation, options)
        report(f"epoch {epoch}: loss per summary {total / len(pairs):.3f}, on validation {loss:.3f}")
        if loss < best:
            best, best_state = loss, {name: value.clone() for name, value in head.state_dict().items()}
            if out is not None:
                head.save(out)
    if not best_state:
        raise UserError("the loss is not a number: try a lower learning rate")
    head.load_state_dict(best_state)
    return head.eval()


@torch.no_grad()
def validation_loss(model, tokenizer, head: FrequencyHead, pairs: Sequence[Pair], options: HeadTraining) -> float:
    head.eval()
    losses = [
        loss_of_batch(model, tokenizer, head, batch, options).item() for batch in batches(pairs, options.batch_size)
    ]
    return sum(losses) / len(pairs)


def loss_of_batch(model, tokenizer, head: FrequencyHead, batch: Sequence[Pair], options: HeadTraining) -> Tensor:
    """Summed over the pairs."""
    sources, summaries = zip(*batch)
    inputs = model_inputs(model, tokenizer, sources, head.template, options.max_source_tokens)
    target = summary_tokens(model, tokenizer, summaries, head.template, options.max_summary_tokens)
    return loss_of_estimate(head.read(model, **inputs), padded(target, NO_TOKEN).to(model.device))


def loss_of_estimate(pending: PendingEstimate, target: Tensor) -> Tensor:
    """Equation 6 or, of estimates that are distributions, the negative log-likelihood; summed over the sentences.

    Args:
        target: (sentences, length), padded with NO_TOKEN
    """
    if issubclass(pending.kind, HurdleEstimate):
        return sliced_loss(pending, hurdle_loss, target, NO_TOKEN)
    return sliced_loss(pending, estimate_loss, target, NO_TOKEN)


def load_model(name: str, device: str = ""):
    """A model and its tokenizer: a directory, or a name on the hub."""
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

    try:
        config = AutoConfig.from_pretrained(name)
        kind = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
        model = kind.from_pretrained(name)
        tokenizer = AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise UserError(
            f"{name}: not a transformers model that generates text ({str(error).splitlines()[0]})"
        ) from None
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    return model.to(device).eval(), tokenizer
