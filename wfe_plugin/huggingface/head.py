"""An estimator on top of a model of transformers, which stays as it is."""

import inspect
from pathlib import Path
from typing import Optional, Union

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from wfe_plugin.errors import UserError
from wfe_plugin.huggingface.processor import WFELogitsProcessor, vocabulary_size
from wfe_plugin.method.calibration import PAPER, Calibration
from wfe_plugin.method.estimator import FrequencyEstimate, PendingEstimate, WordFrequencyEstimator
from wfe_plugin.method.votes import VotingEstimator

ESTIMATORS = {"votes": VotingEstimator, "paper": WordFrequencyEstimator}
FILE_NAME = "wfe.safetensors"


class FrequencyHead(nn.Module):
    """Says how often each token may occur in the summary, from the states that a model has of the source.

    These are the last states of the encoder or, in a decoder-only model, those of the prompt's article.

    Args:
        estimator: one of ESTIMATORS
        state_size: H, the size of a state
        vocabulary: M, how many tokens the model chooses from
        template: what a decoder-only model is given, with `{source}` for the article; empty for an encoder-decoder
    """

    def __init__(self, estimator: str, state_size: int, vocabulary: int, template: str = ""):
        super().__init__()
        self.name = estimator
        self.template = template
        self.calibration: Optional[Calibration] = None
        self.estimator = ESTIMATORS[estimator](state_size, vocabulary)

    @classmethod
    def for_model(cls, model, estimator: str = "votes", template: str = "") -> "FrequencyHead":
        """A new one, untrained, where the model's states are."""
        return cls(estimator, state_size(model), vocabulary_size(model), template).to(model.device)

    def read(
        self,
        model,
        input_ids: Tensor,
        attention_mask: Optional[Tensor] = None,
        source_mask: Optional[Tensor] = None,
        encoder_outputs=None,
    ) -> PendingEstimate:
        """
        Args:
            model: in evaluation mode
            input_ids: (sentences, time), the source, or a prompt that contains it
            attention_mask: (sentences, time), 0 at padding
            source_mask: (sentences, time), 0 at tokens that are not the source's
            encoder_outputs: of the same source, if they are there already
        """
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        if encoder_outputs is None:
            encoder_outputs = states_of(model, input_ids, attention_mask)
        states = encoder_outputs[0].to(torch.float32)
        is_source = attention_mask.bool() if source_mask is None else (attention_mask * source_mask).bool()
        # A prompt without an article: something must be read.
        is_source = torch.where(is_source.any(dim=1, keepdim=True), is_source, attention_mask.bool())
        return self.estimator.read(states.transpose(0, 1), ~is_source.t(), input_ids.t())

    @torch.no_grad()
    def estimate(self, model, input_ids: Tensor, **inputs) -> FrequencyEstimate:
        """r and g of each sentence; the arguments are those of :meth:`read`."""
        return self.read(model, input_ids, **inputs).whole()

    def processor(
        self,
        model,
        input_ids: Tensor,
        attention_mask: Optional[Tensor] = None,
        source_mask: Optional[Tensor] = None,
        encoder_outputs=None,
        mode: str = "full",
        calibration: Optional[Calibration] = None,
        exempt_tokens=(),
    ) -> WFELogitsProcessor:
        """For `model.generate` on the same inputs, with the stored calibration unless another is given."""
        return WFELogitsProcessor.from_estimate(
            model,
            self.estimate(
                model,
                input_ids,
                attention_mask=attention_mask,
                source_mask=source_mask,
                encoder_outputs=encoder_outputs,
            ),
            mode,
            calibration or self.calibration or PAPER,
            self.estimator.log_base_rate(),
            exempt_tokens,
            prompt_length=1 if model.config.is_encoder_decoder else input_ids.size(1),
        )

    def save(self, path: Union[str, Path]) -> Path:
        """Write one file; *path* is its name, or the directory of the model that it belongs to."""
        path = file_in(path)
        text = dict(estimator=self.name, template=self.template, calibration=str(self.calibration or ""))
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in self.state_dict().items()}
        unfinished = path.with_name(path.name + ".tmp")
        save_file(tensors, str(unfinished), metadata=text)
        unfinished.replace(path)
        return path

    @classmethod
    def load(cls, path: Union[str, Path], model) -> "FrequencyHead":
        """The head that was trained on top of *model*, where that is."""
        path = file_in(path)
        try:
            with safe_open(str(path), framework="pt") as file:
                text = file.metadata() or {}
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (OSError, SafetensorError) as error:
            raise UserError(f"{path}: not a trained estimator ({error})") from None
        if text.get("estimator") not in ESTIMATORS:
            raise UserError(f"{path}: not an estimator of this version ({text.get('estimator')})")
        head = cls.for_model(model, text["estimator"], text.get("template", ""))
        try:
            head.load_state_dict(tensors)
        except RuntimeError:
            raise UserError(f"{path}: was trained on top of another model (the sizes differ)") from None
        if text.get("calibration"):
            head.calibration = Calibration.parse(text["calibration"])
        return head.eval()


def file_in(path: Union[str, Path]) -> Path:
    path = Path(path)
    return path / FILE_NAME if path.is_dir() else path


def state_size(model) -> int:
    """H, of what :func:`states_of` gives."""
    if model.config.is_encoder_decoder:
        return model.get_encoder().config.hidden_size
    return model.config.get_text_config().hidden_size


def states_of(model, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor]:
    """The model's last states of its input, (sentences, time, H), without a gradient."""
    if model.training:
        raise UserError("the model is in training mode, with dropout: call model.eval() first")
    with torch.no_grad():
        if model.config.is_encoder_decoder:
            return model.get_encoder()(input_ids=input_ids, attention_mask=attention_mask, return_dict=True)[:1]
        reader = model.base_model
        further = {}
        if "position_ids" in inspect.signature(reader.forward).parameters:
            # As `generate` numbers them: padding on the left does not move a text.
            further["position_ids"] = (attention_mask.cumsum(dim=1) - 1).clamp(min=0)
        return reader(input_ids=input_ids, attention_mask=attention_mask, return_dict=True, **further)[:1]
