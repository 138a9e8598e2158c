"""Beam search (Figure 1 of the paper) under the frequency bound."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Optional

import torch
from fairseq import search, utils
from fairseq.sequence_generator import SequenceGenerator
from torch import Tensor

from wfe_plugin.errors import UserError
from wfe_plugin.generation.ensemble import (
    CONSTRAINT_TOKENS,
    ENCODED,
    PREFIX_TOKENS,
    TRUE_FREQUENCIES,
    BoundedEnsemble,
    EncodedBatch,
)
from wfe_plugin.generation.options import DecodingConfig
from wfe_plugin.generation.search import MinimumLength, WatchedSearch
from wfe_plugin.generation.shortlist import DecoderOutput, shortened_outputs
from wfe_plugin.method.coverage import coverage_penalty, length_penalty
from wfe_plugin.method.loss import true_frequencies


class WFESequenceGenerator(SequenceGenerator):
    """fairseq's generator with the log-mask of Equation 4 added at every step.

    The alternatives to that mask are here as well, and can go with it or without.

    Takes the arguments of :class:`~fairseq.sequence_generator.SequenceGenerator`
    and besides:

    Args:
        options: resolved
        print_alignment: `hard` or `soft`: add alignments from the attention
    """

    def __init__(
        self,
        models,
        tgt_dict,
        *,
        options: DecodingConfig,
        min_len: int = 1,
        no_repeat_ngram_size: int = 0,
        search_strategy: Optional[search.Search] = None,
        print_alignment: Optional[str] = None,
        **kwargs,
    ):
        search_strategy = search_strategy or search.BeamSearch(tgt_dict)
        ensemble = BoundedEnsemble(models, tgt_dict, options, no_repeat_ngram_size)
        super().__init__(
            ensemble,
            tgt_dict,
            # Applied by MinimumLength, which knows when budgets are spent.
            min_len=0,
            search_strategy=WatchedSearch(search_strategy, ensemble),
            **kwargs,
        )
        self.repeat_ngram_blocker = MinimumLength(min_len, self.eos)
        self.oracle = options.wfe_decoding == "oracle"
        if options.wfe_shortlist > 0:
            self.outputs = [DecoderOutput(model.decoder) for model in models]
            # With fewer words a search could not fill its beam, or draw from the best.
            drawn = getattr(search_strategy, "sampling_topk", 0)
            ensemble.shortlist = max(options.wfe_shortlist, 2 * self.beam_size + 1, drawn)
        self.print_alignment = print_alignment
        self.options = options
        if print_alignment is not None or options.coverage_penalty > 0:
            for model in models:
                show_attention(model.decoder)

    @torch.no_grad()
    def generate(self, models, sample, **kwargs):
        finalized = super().generate(models, sample, **kwargs)
        if self.print_alignment is not None:
            src_tokens = sample["net_input"]["src_tokens"]
            for source, hypotheses in zip(src_tokens, finalized):
                for hypothesis in hypotheses:
                    hypothesis["alignment"] = self.alignment(source, hypothesis)
        return finalized

    def _generate(self, sample, prefix_tokens=None, constraints=None, bos_token=None):
        net_input = dict(sample["net_input"])
        if prefix_tokens is not None:
            net_input[PREFIX_TOKENS] = prefix_tokens
        if constraints is not None:
            net_input[CONSTRAINT_TOKENS] = self.constrained_words(constraints)
        elif self.search.supports_constraints:
            raise UserError(
                "--constraints: no constraints came with the source sentences; give "
                "them to fairseq-interactive, each after a tab at the end of a line"
            )
        if self.oracle:
            net_input[TRUE_FREQUENCIES] = self.true_frequencies(sample)
        encoded = self.model.forward_encoder(net_input)
        net_input[ENCODED] = encoded
        with self.vocabulary_of(encoded):
            finalized = super()._generate(
                {**sample, "net_input": net_input},
                prefix_tokens=encoded.prefix_tokens,
                constraints=constraints,
                bos_token=bos_token,
            )
        if encoded.words is not None:
            for hypothesis in itertools.chain.from_iterable(finalized):
                hypothesis["tokens"] = encoded.words[hypothesis["tokens"]]
        if not all(finalized):
            raise UserError(
                "no output within the maximum length meets the constraints of a "
                "sentence; allow longer ones with --max-len-b"
            )
        if self.options.coverage_penalty > 0 or self.options.gnmt_length_penalty is not None:
            source_length = net_input["src_tokens"].ne(self.pad).sum(dim=1)
            return [self.ranked(hypotheses, length) for hypotheses, length in zip(finalized, source_length)]
        return finalized

    @contextmanager
    def vocabulary_of(self, encoded: EncodedBatch) -> Iterator[None]:
        """Search in the vocabulary of a batch, and among each hypothesis's best words.

        A plain beam search needs no more than twice as many words of a hypothesis
        as the beam is wide. Whatever else looks at scores may want any word.
        """
        whole = self.vocab_size
        if encoded.words is not None:
            self.vocab_size = encoded.words.numel()
        plain = (
            type(self.search.search) is search.BeamSearch
            and encoded.prefix_tokens is None
            and self.lm_model is None
            and self.token_indices_to_suppress is None
        )
        self.model.candidates = None
        self.model.candidates_wanted = 0
        if plain:
            special = self.model.special_symbols
            wanted = min(2 * self.beam_size, self.vocab_size - special)
            self.model.candidates_wanted = wanted
            self.vocab_size = special + wanted
        try:
            if encoded.words is None:
                yield
            else:
                with shortened_outputs(self.outputs, encoded.words):
                    yield
        finally:
            self.vocab_size = whole

    def ranked(self, hypotheses: list[dict], source_length: Tensor) -> list[dict]:
        """The outputs of one sentence by the score of Wu et al. (2016)."""
        scores = torch.stack([h["score"] for h in hypotheses]).float()
        alpha, beta = (
            self.options.gnmt_length_penalty,
            self.options.coverage_penalty,
        )
        if alpha is not None:
            log_p = torch.stack([h["positional_scores"].sum() for h in hypotheses])
            length = torch.tensor([len(h["tokens"]) for h in hypotheses]).to(log_p)
            scores = log_p / length_penalty(length, alpha)
        if beta > 0:
            attention = torch.stack([h["attention"].sum(dim=1) for h in hypotheses])
            source_length = source_length.expand(len(hypotheses))
            scores = scores + coverage_penalty(attention, source_length, beta)
        for hypothesis, score in zip(hypotheses, scores):
            hypothesis["score"] = score
        return sorted(hypotheses, key=lambda h: h["score"].item(), reverse=True)

    def true_frequencies(self, sample) -> Tensor:
        target = sample.get("target")
        if target is None:
            raise UserError(
                "--wfe-decoding oracle takes its budgets from the reference "
                "summaries, and this text has none; use full, strict, bound, gate or off"
            )
        return true_frequencies(target, self.vocab_size, self.pad)

    def constrained_words(self, constraints: Tensor) -> Tensor:
        """Words of fairseq's packed constraints, (sentences, n), filled with pad.

        Each row holds the number of constraints, then each constraint's words
        with a zero after it, and zeros at the end.
        """
        words = constraints.clone()
        words[:, 0] = 0
        return words.masked_fill(words.eq(0), self.pad)

    def is_finished(self, step, unfin_idx, max_len, finalized_sent_len, beam_size):
        return (
            super().is_finished(step, unfin_idx, max_len, finalized_sent_len, beam_size)
            or not self.search.can_go_on[unfin_idx]
        )

    def alignment(self, source: Tensor, hypothesis):
        """Alignment of a hypothesis with its source, from the attention.

        The attention starts at the first word, whichever side the batch is padded on:
        see :meth:`BoundedEnsemble.forward_encoder`.
        """
        source = utils.strip_pad(source, self.pad).cpu()
        attention = hypothesis["attention"][: source.numel()].transpose(0, 1).cpu()
        extract = utils.extract_hard_alignment if self.print_alignment == "hard" else utils.extract_soft_alignment
        return extract(attention, source, hypothesis["tokens"].cpu(), self.pad, self.eos)


def show_attention(decoder: torch.nn.Module) -> None:
    """Undo that fairseq switches attention off in decoders that only generate."""
    for module in decoder.modules():
        if hasattr(module, "need_attn"):
            module.need_attn = True
