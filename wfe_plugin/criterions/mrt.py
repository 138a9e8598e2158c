"""Training objective: the expected ROUGE of what the model would say (minimum risk training)."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from fairseq.criterions import register_criterion
from fairseq.data import data_utils
from fairseq.dataclass import ChoiceEnum
from torch import Tensor

from wfe_plugin.criterions.nll_wfe import (
    NLLWithWFEConfig,
    NLLWithWFECriterion,
    log_probs,
    nll_of_tokens,
)
from wfe_plugin.errors import UserError, check_ranges
from wfe_plugin.evaluation.rouge_cost import COSTS, RougeCost
from wfe_plugin.generation.options import DecodingConfig
from wfe_plugin.generation.sampling import draw_quickly
from wfe_plugin.generation.scorer import added_scores
from wfe_plugin.method.bound import LEAST_LOG_GATE
from wfe_plugin.method.risk import by_sentence, distinct, expected_risk

# Options of the search on the validation set, which shows what decoding would give; as in wfe-generate.
VALIDATION_BEAM = 5
VALIDATION_LENGTH = 200


@dataclass
class MRTConfig(NLLWithWFEConfig):
    mrt_cost: ChoiceEnum(list(COSTS)) = field(
        default="rouge",
        metadata={
            "help": "what an output costs: 1 - F1 of this, on whole words, stemmed; rouge: the mean of the others"
        },
    )
    mrt_candidates: ChoiceEnum(["sampling", "nbest"]) = field(
        default="sampling",
        metadata={
            "help": "the outputs that the risk is over: drawn at random from the model, or "
            "the best of a beam search; the reference is always one of them"
        },
    )
    mrt_size: int = field(
        default=10,
        metadata={
            "help": "so many outputs are drawn for a sentence, beside the reference; those that are the same count once"
        },
    )
    mrt_alpha: float = field(
        default=0.005,
        metadata={"help": "sharpness: candidates weigh as much as their probability to this power"},
    )
    mrt_nll_weight: float = field(default=0.0, metadata={"help": "weight of the NLL beside the risk; 0: none"})
    mrt_max_length: int = field(
        default=30,
        metadata={"help": "outputs drawn are no longer, in words or BPE pieces"},
    )
    mrt_bounded: bool = field(
        default=False,
        metadata={
            "help": "draw them within the estimated word frequencies, as --wfe-decoding "
            "says, and let them weigh as decoding scores them"
        },
    )

    def validate(self) -> None:
        NLLWithWFEConfig.validate(self)
        check_ranges(
            self,
            {
                "mrt_size": "[1, inf)",
                "mrt_alpha": "(0, inf)",
                "mrt_nll_weight": "[0, inf)",
                "mrt_max_length": "[1, inf)",
            },
        )


@register_criterion("mrt", dataclass=MRTConfig)
class MRTCriterion(NLLWithWFECriterion):
    """Expected cost of the model's outputs, + weight × NLL, + the WFE loss as in `nll_wfe`.

    Shen et al. (2016), "Minimum Risk Training for Neural Machine Translation",
    https://aclanthology.org/P16-1159/; for headlines with ROUGE: Ayana et al.
    (2016), "Neural Headline Generation with Sentence-wise Optimization",
    https://arxiv.org/abs/1604.01904

    For any encoder-decoder model of fairseq that has been trained by NLL before.
    Outputs are drawn without dropout, and get their probability with it, as all
    that is trained. Drawing takes torch's random numbers, which fairseq seeds for
    each update with --seed and the update's number: a training that was
    interrupted goes on with the outputs that it would have drawn.

    Logged as by `nll_wfe`, and besides `risk`, a sentence, from 0 to 1: in training,
    the expected cost of the candidates; in validation, where nothing is to be
    left to chance and the reference can be no candidate, the cost of what beam
    search finds, within the estimated word frequencies if the model has an
    estimate. So the checkpoint with the best `risk` is that with the best ROUGE.
    """

    def __init__(
        self,
        task,
        mrt_cost: str = "rouge",
        mrt_candidates: str = "sampling",
        mrt_size: int = 10,
        mrt_alpha: float = 0.005,
        mrt_nll_weight: float = 0.0,
        mrt_max_length: int = 30,
        mrt_bounded: bool = False,
        **options,
    ):
        super().__init__(task, **options)
        if mrt_bounded and task.cfg.wfe_decoding in ("off", "oracle"):
            raise UserError(
                f"--mrt-bounded with --wfe-decoding {task.cfg.wfe_decoding}: there is no estimate "
                "to sample within; leave one out"
            )
        if mrt_bounded and task.has_estimate is False:
            raise UserError(
                "--mrt-bounded: the model has no WFE sub-model (--without-wfe, or --arch), and so no estimate "
                "to sample within; leave it out"
            )
        self.task = task
        dictionary = task.target_dictionary
        self.no_words = {dictionary.bos(), dictionary.pad(), dictionary.eos()}
        # fairseq gives an enumeration where it read a command line.
        self.cost = RougeCost(str(mrt_cost), dictionary.symbols, dictionary.unk())
        self.sampling = mrt_candidates == "sampling"
        self.size = mrt_size
        self.alpha = mrt_alpha
        self.nll_weight = mrt_nll_weight
        self.max_length = mrt_max_length
        self.bounded = mrt_bounded

    def forward(self, model, sample, reduce=True):
        """Returns the loss, what it is to be divided by, and what is logged."""
        with captured_output(model.encoder) as encoder_outs:
            loss, sample_size, logging_output = super().forward(model, sample, reduce)
        references = self.without_padding(sample["target"])
        if model.training:
            risk = self.training_risk(model, sample, encoder_outs[-1], references)
        else:
            risk = self.validation_risk(model, sample, references)
        loss = loss + risk
        logging_output["risk"] = risk.detach()
        logging_output["loss"] = loss.detach()
        return loss, sample_size, logging_output

    def training_risk(self, model, sample, encoder_out, references: list[list]) -> Tensor:
        """The expected cost of the candidates, summed over the sentences."""
        drawn = self.draw(model, sample, self.size, self.sampling, self.bounded, self.max_length)
        candidates = list(map(distinct, references, drawn))
        costs = map(self.costs, references, candidates)
        counts = list(map(len, candidates))
        sentence = torch.repeat_interleave(torch.tensor(counts)).to(sample["target"].device)
        rows = [torch.tensor(row) for rows in candidates for row in rows]
        target, previous = (self.collate(rows, shifted).to(sentence.device) for shifted in (False, True))
        log_p = self.log_probabilities(model, encoder_out, target, previous, sentence)
        if self.bounded and getattr(model, "wfe_head", None) is not None:
            log_p = log_p + self.log_masks(model, sample, target, sentence)
        log_p = by_sentence(log_p, counts, fill=float("-inf"))
        cost = by_sentence(log_p.new_tensor([value for row in costs for value in row]), counts, 0.0)
        return expected_risk(log_p, cost, self.alpha).sum()

    def validation_risk(self, model, sample, references: list[list]) -> Tensor:
        """The cost of what beam search finds, summed over the sentences."""
        found = self.draw(model, sample, VALIDATION_BEAM, False, True, VALIDATION_LENGTH)
        costs = [self.costs(reference, outputs[:1]) for reference, outputs in zip(references, found)]
        return sample["target"].new_tensor(costs, dtype=torch.float).sum()

    def draw(self, model, sample, number: int, sampling: bool, bounded: bool, max_length: int) -> list[list[list]]:
        """Outputs of each sentence, the best first if they are not random, each with its EOS."""
        # Built each time, since fairseq would take a generator that is kept here, and
        # the model in it, for a part of the criterion.
        options = Namespace(beam=number, sampling=sampling, max_len_a=0, max_len_b=max_length)
        if not bounded or getattr(model, "wfe_head", None) is None:
            options.wfe_decoding = "off"
            # Which need an estimate.
            options.wfe_shortlist, options.wfe_gate_weight, options.wfe_base_rate_weight = 0, None, None
        with evaluated(model):
            generator = self.task.build_generator([model], options)
            if sampling:
                draw_quickly(generator)
            found = self.task.inference_step(generator, [model], sample)
        return [[output["tokens"].tolist() for output in outputs] for outputs in found]

    def costs(self, reference: Sequence[int], outputs: Sequence[Sequence[int]]) -> list[float]:
        return self.cost(self.words(reference), list(map(self.words, outputs)))

    def words(self, tokens: Sequence[int]) -> list[int]:
        return [token for token in tokens if token not in self.no_words]

    def without_padding(self, target: Tensor) -> list[list]:
        """(sentences, length), padded on either side -> each sentence's own."""
        return [[token for token in row if token != self.padding_idx] for row in target.tolist()]

    def collate(self, rows: list[Tensor], shifted: bool) -> Tensor:
        """Candidates, each with its EOS, as (candidates, length); shifted: as the decoder reads them."""
        return data_utils.collate_tokens(
            rows,
            self.padding_idx,
            self.task.target_dictionary.eos(),
            left_pad=getattr(self.task.cfg, "left_pad_target", False),
            move_eos_to_beginning=shifted,
        )

    @torch.no_grad()
    def log_masks(self, model, sample, target: Tensor, sentence: Tensor) -> Tensor:
        """What decoding adds to log P(y | x) of each candidate (Equation 4, word reward): nothing to be learnt from.

        Args:
            target: (candidates, length)
            sentence: (candidates,), the sentence that each belongs to

        Returns:
            (candidates,), float32; -inf for a reference that the bound forbids
        """
        options, _ = DecodingConfig.of(self.task.cfg).resolved([model])
        with evaluated(model):  # as the candidates were drawn
            masks = added_scores([model], sample, self.task.target_dictionary, options, target, sentence)
        masks = masks.masked_fill(target.eq(self.padding_idx), 0.0).sum(dim=1)
        # What was drawn is possible; by rounding, a budget may be found spent nevertheless.
        drawn = torch.ones_like(sentence, dtype=torch.bool)
        drawn[1:] = sentence[1:].eq(sentence[:-1])
        drawn[0] = False  # the reference comes first
        return masks.where(~drawn, masks.clamp(min=LEAST_LOG_GATE))

    def log_probabilities(self, model, encoder_out, target: Tensor, previous: Tensor, sentence: Tensor) -> Tensor:
        """log P(y | x) of candidates, in one pass of the decoder.

        Args:
            encoder_out: the encoder's, of the sentences of the batch
            target: (candidates, length), each with its EOS
            previous: the same as the decoder reads it
            sentence: (candidates,), the sentence that each belongs to

        Returns:
            (candidates,), float32
        """
        encoder_out = model.encoder.reorder_encoder_out(encoder_out, sentence)
        net_output = model.decoder(previous, encoder_out=encoder_out)
        # In training some models compute few words' logits, and know where each target is.
        target = model.get_targets({"target": target}, net_output)
        if self.uses_up_logits(model, net_output[0]):
            return -nll_of_tokens(net_output, target, self.padding_idx).sum(dim=1)
        lprobs = log_probs(model, net_output)
        log_p = lprobs.gather(2, target.unsqueeze(2)).squeeze(2).float()
        return log_p.masked_fill(target.eq(self.padding_idx), 0.0).sum(dim=1)


@contextmanager
def evaluated(model) -> Iterator[None]:
    """Without dropout while this lasts."""
    was_training = model.training
    try:
        model.eval()
        yield
    finally:
        model.train(was_training)


@contextmanager
def captured_output(module) -> Iterator[list]:
    """What a module returns while this lasts: so the encoder need not run once more."""
    outputs: list = []
    hook = module.register_forward_hook(lambda module, inputs, output: outputs.append(output))
    try:
        yield outputs
    finally:
        hook.remove()
