"""Beam search (Figure 1 of the paper) under the rules of a step."""

import itertools
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Optional

import torch
from fairseq import search, utils
from fairseq.sequence_generator import SequenceGenerator
from torch import Tensor

from wfe_plugin.errors import UserError
from wfe_plugin.generation.batch import EncodedBatch
from wfe_plugin.generation.ensemble import RuledEnsemble
from wfe_plugin.generation.hypotheses import Hypotheses
from wfe_plugin.generation.options import DecodingConfig
from wfe_plugin.generation.own_budgets import OwnBudgets, constrained_search
from wfe_plugin.generation.rules import rules_of_step
from wfe_plugin.generation.rules.minimum_length import MinimumLength
from wfe_plugin.generation.rules.rule import StepContext
from wfe_plugin.generation.search import choose
from wfe_plugin.generation.shortlist import DecoderOutput, shortened_outputs
from wfe_plugin.method.coverage import coverage_penalty, length_penalty
from wfe_plugin.method.loss import true_frequencies
from wfe_plugin.method.word_budgets import WordBudgets


class WFESequenceGenerator(SequenceGenerator):
    """fairseq's generator, with the rules of a step between the models and the search.

    The search is fairseq's, in a loop of our own: it passes on what the rules need to know of a batch,
    and looks at the best words of each hypothesis only.

    Takes the arguments of :class:`~fairseq.sequence_generator.SequenceGenerator` and besides:

    Args:
        options: resolved
        print_alignment: `hard` or `soft`: add alignments from the attention
        sentence_budgets: the user's own, of the sentence with each number
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
        sentence_budgets: Sequence[Optional[WordBudgets]] = (),
        **kwargs,
    ):
        self.own_budgets = OwnBudgets(tgt_dict, WordBudgets.of(options.budget), sentence_budgets)
        search_strategy = search_strategy or search.BeamSearch(tgt_dict)
        if self.own_budgets.required:
            search_strategy = constrained_search(search_strategy, tgt_dict, options)
        rules = rules_of_step(options, tgt_dict, no_repeat_ngram_size, bool(self.own_budgets))
        ensemble = RuledEnsemble(models, tgt_dict, options, rules)
        super().__init__(ensemble, tgt_dict, min_len=0, search_strategy=search_strategy, **kwargs)
        self.options = options
        self.minimum_length = MinimumLength(min_len, self.eos)
        self.print_alignment = print_alignment
        if options.wfe_shortlist > 0:
            self.decoder_outputs = [DecoderOutput(model.decoder) for model in models]
            # With fewer words a search could not fill its beam, or draw from the best.
            drawn = getattr(search_strategy, "sampling_topk", 0)
            ensemble.shortlist = max(options.wfe_shortlist, 2 * self.beam_size + 1, drawn)
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
        source = sample["net_input"]["src_tokens"]
        if constraints is None:
            constraints = self.own_constraints(sample)
        if constraints is None and self.search.supports_constraints:
            raise UserError(
                "--constraints: the source sentences have no constraints; give "
                "them to fairseq-interactive, each after a tab at the end of a line"
            )
        if constraints is not None and not self.search.supports_constraints:
            raise UserError("constraints were given, but this search does not support them: use --constraints")
        self.search.init_constraints(constraints, self.beam_size)
        batch = self.encode(sample, prefix_tokens, constraints)
        max_len = min(int(self.max_len_a * source.size(1) + self.max_len_b), self.max_len - 1)
        vocabulary = batch.sentences.vocabulary
        with nullcontext() if vocabulary is None else shortened_outputs(self.decoder_outputs, vocabulary):
            finalized = self.search_batch(batch, max_len, self.eos if bos_token is None else bos_token, source.device)
        if not all(finalized):
            raise UserError(
                "no output within the maximum length meets the constraints of a "
                "sentence; allow longer ones with --max-len-b"
            )
        for hypothesis in itertools.chain.from_iterable(finalized):
            hypothesis["tokens"] = batch.sentences.in_dictionary(hypothesis["tokens"])
        if self.options.coverage_penalty > 0 or self.options.gnmt_length_penalty is not None:
            source_length = source.ne(self.pad).sum(dim=1)
            finalized = [self.ranked(hypotheses, length) for hypotheses, length in zip(finalized, source_length)]
        return [sorted(hypotheses, key=lambda h: h["score"].item(), reverse=True) for hypotheses in finalized]

    def own_constraints(self, sample) -> Optional[Tensor]:
        """The words that the user's budgets require, as fairseq packs constraints."""
        if not self.own_budgets.required:
            return None
        return self.own_budgets.constraints(sample["id"].tolist()).to(sample["id"].device)

    def encode(self, sample, prefix_tokens=None, constraints=None) -> EncodedBatch:
        """What the encoders make of a batch, with all that the rules need to know of it."""
        return self.model.encode(
            sample["net_input"],
            prefix=prefix_tokens,
            constraints=None if constraints is None else constrained_words(constraints, self.pad),
            truth=self.true_frequencies(sample) if self.options.wfe_decoding == "oracle" else None,
            budgets=self.own_budgets.of(sample["id"].tolist()) if self.own_budgets else None,
        )

    def search_batch(self, batch: EncodedBatch, max_len: int, start: int, device) -> list[list[dict]]:
        """The outputs of each sentence, in the order in which they were found."""
        beam, wanted = self.beam_size, self.words_wanted(batch)
        hypotheses = Hypotheses(batch.sentences.number, beam, start, device)
        rows = hypotheses.sentence.repeat_interleave(beam)
        batch = batch._replace(encoder_outs=self.model.reorder_encoder_out(batch.encoder_outs, rows))
        states: list[dict] = [{} for _ in self.model.models]
        for step in range(max_len + 1):  # one extra step for EOS
            candidates, attention = self.model.candidates(hypotheses.tokens, batch, states, self.temperature, wanted)
            hypotheses.note_attention(attention)
            context = StepContext(hypotheses.tokens[:, 1:], batch.sentences)
            self.limit(candidates.scores, hypotheses.tokens, context, at_end=step == max_len)
            chosen, can_go_on = choose(self.search, hypotheses, candidates)
            ended = chosen.words.eq(self.eos) & chosen.scores.ne(float("-inf"))
            ended[:, :beam] &= ~hypotheses.set_aside
            hypotheses.finish(chosen, ended[:, :beam], self.eos, self.len_penalty if self.normalize_scores else None)
            left = can_go_on & ~torch.tensor(hypotheses.has_enough(), device=device)
            if step == max_len or not left.any():
                break
            keep = None
            if not left.all():
                keep = left.nonzero().view(-1)
                self.search.prune_sentences(keep)
                batch = self.model.select(batch, keep, beam)
            active, parents = hypotheses.extend(chosen, ended, keep)
            self.search.update_constraints(active)
            self.model.reorder_incremental_state(states, parents)
        return hypotheses.outputs

    def words_wanted(self, batch: EncodedBatch) -> int:
        """How many words of each hypothesis the search must see beside the special symbols; 0: all.

        A plain beam search needs no more than twice as many words of a hypothesis
        as the beam is wide. Whatever else looks at scores may want any word.
        """
        plain = type(self.search) is search.BeamSearch and self.lm_model is None
        if not plain or batch.sentences.prefix is not None or self.token_indices_to_suppress is not None:
            return 0
        vocabulary = batch.sentences.vocabulary
        size = self.vocab_size if vocabulary is None else len(vocabulary)
        return min(2 * self.beam_size, size - self.tgt_dict.nspecial)

    def limit(self, lprobs: Tensor, tokens: Tensor, step: StepContext, at_end: bool) -> None:
        """What fairseq does to the scores of a step, and the minimum length, in place.

        Args:
            lprobs: (rows, columns), special symbols in the first columns
            tokens: (rows, words so far and the start symbol)
            at_end: nothing but the end of the sentence may come
        """
        if self.lm_model is not None:
            output = self.lm_model(tokens)
            fused = self.lm_model.get_normalized_probs(output, log_probs=True, sample=None)
            lprobs += fused[:, -1, :] * self.lm_weight
        lprobs[:, self.pad] = float("-inf")
        if self.unk_penalty != 0:
            lprobs[:, self.unk] -= self.unk_penalty
        place, prefix = step.generated.size(1), step.sentences.prefix
        if at_end:
            lprobs[:, : self.eos] = float("-inf")
            lprobs[:, self.eos + 1 :] = float("-inf")
        elif prefix is not None and place < prefix.size(1):
            force(lprobs, step.of_rows(prefix[:, place : place + 1]), self.pad)
        elif self.token_indices_to_suppress is not None:
            lprobs[:, self.token_indices_to_suppress] = float("-inf")
        self.minimum_length(lprobs, step)

    def ranked(self, hypotheses: list[dict], source_length: Tensor) -> list[dict]:
        """The outputs of one sentence, with the scores of Wu et al. (2016)."""
        scores = torch.stack([h["score"] for h in hypotheses]).float()
        alpha, beta = self.options.gnmt_length_penalty, self.options.coverage_penalty
        if alpha is not None:
            log_p = torch.stack([h["positional_scores"].sum() for h in hypotheses])
            length = torch.tensor([len(h["tokens"]) for h in hypotheses]).to(log_p)
            scores = log_p / length_penalty(length, alpha)
        if beta > 0:
            attention = torch.stack([h["attention"].sum(dim=1) for h in hypotheses])
            source_length = source_length.expand(len(hypotheses))
            scores = scores + coverage_penalty(attention, source_length, beta)
        return [{**hypothesis, "score": score} for hypothesis, score in zip(hypotheses, scores)]

    def true_frequencies(self, sample) -> Tensor:
        target = sample.get("target")
        if target is None:
            raise UserError(
                "--wfe-decoding oracle takes its budgets from reference "
                "summaries, which this text does not have; use full, strict, bound, gate or off"
            )
        return true_frequencies(target, self.vocab_size, self.pad)

    def alignment(self, source: Tensor, hypothesis):
        """Alignment of a hypothesis with its source, from the attention.

        The attention starts at the first word, whichever side the batch is padded on:
        see :meth:`RuledEnsemble.encode`.
        """
        source = utils.strip_pad(source, self.pad).cpu()
        attention = hypothesis["attention"][: source.numel()].transpose(0, 1).cpu()
        extract = utils.extract_hard_alignment if self.print_alignment == "hard" else utils.extract_soft_alignment
        return extract(attention, source, hypothesis["tokens"].cpu(), self.pad, self.eos)


def force(lprobs: Tensor, words: Tensor, pad: int) -> None:
    """Forbid all but one word of each row, (rows, 1), unless that is padding; in place."""
    scores = lprobs.gather(1, words)
    lprobs.masked_fill_(words.ne(pad), float("-inf"))
    lprobs.scatter_(1, words, scores)


def constrained_words(constraints: Tensor, pad: int) -> Tensor:
    """Words of fairseq's packed constraints, (sentences, number), filled with padding.

    Each row holds the number of constraints, then each constraint's words
    with a zero after it, and zeros at the end.
    """
    words = constraints.clone()
    words[:, 0] = 0
    return words.masked_fill(words.eq(0), pad)


def show_attention(decoder) -> None:
    """Undo that fairseq switches attention off in decoders that only generate."""
    for module in decoder.modules():
        if hasattr(module, "need_attn"):
            module.need_attn = True
