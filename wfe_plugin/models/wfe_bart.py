"""fairseq's BART with word-frequency estimation."""

from fairseq.models import register_model
from fairseq.models.bart import BARTModel
from torch import Tensor

from wfe_plugin.models.wfe_model import WFEModel, register_architectures_of


@register_architectures_of("bart")
@register_model("wfe_bart")
class WFEBARTModel(WFEModel, BARTModel):
    """Lewis et al. (2020), "BART: Denoising Sequence-to-Sequence Pre-training", https://arxiv.org/abs/1910.13461

    Takes fairseq's options of BART, and loads its checkpoints, the pre-trained ones included. The estimator is
    `votes` unless another is chosen: it adds 3 % to the parameters of bart.base and 1 % to those of bart.large,
    the paper's 85 % and 39 %.
    """

    says_start_symbol = True

    @classmethod
    def build_model(cls, args, task) -> "WFEBARTModel":
        args.wfe_estimator = getattr(args, "wfe_estimator", "votes")
        return super().build_model(args, task)

    def encoder_states(self, encoder_out: dict[str, list[Tensor]], src_tokens: Tensor) -> tuple[Tensor, Tensor]:
        return encoder_out["encoder_out"][0], src_tokens.t()

    def set_beam_size(self, beam: int) -> None:
        """Leave the attention as it is.

        fairseq's BART keeps the beam of the last generator that was built for it. Everything else that runs the
        decoder then attends to other sentences: validation after `--eval-bleu`, training, another beam.
        """
