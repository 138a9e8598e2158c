"""One or several models that search together, under the rules of a step."""

from collections.abc import Sequence
from typing import Callable, Optional

import torch
from fairseq import utils
from fairseq.sequence_generator import EnsembleModel
from torch import Tensor

from wfe_plugin.errors import UserError
from wfe_plugin.generation.batch import EncodedBatch, Sentences
from wfe_plugin.generation.estimates import average_estimate, bound_of_batch, refuse_nan
from wfe_plugin.generation.fast_search import Candidates, best_candidates
from wfe_plugin.generation.options import DecodingConfig
from wfe_plugin.generation.rules.rule import Rule, StepContext
from wfe_plugin.generation.shortlist import choose_words
from wfe_plugin.method.bound import select_words
from wfe_plugin.method.estimator import FrequencyEstimate
from wfe_plugin.models.wfe_model import corresponding_words


class RuledEnsemble(EnsembleModel):
    """fairseq's ensemble, which puts the models' predictions under rules.

    The estimates of several models are averaged, as fairseq averages their
    probabilities: r̂ and ĝ each, which makes one bound for the ensemble.

    Args:
        models: models with a WFE head; any models for the oracle and for `off`
        dictionary: of the target
        options: resolved
        rules: of a step, in order
    """

    def __init__(self, models, dictionary, options: DecodingConfig, rules: Sequence[Rule] = ()):
        super().__init__(models)
        self.dictionary = dictionary
        self.options = options
        self.rules = rules
        self.shortlist = 0  # search among so many words of each sentence; 0: all
        self.target_of_source: Optional[Tensor] = None
        if any(rule.reads_source for rule in rules):
            words = corresponding_words(self.single_model.encoder.dictionary, dictionary)
            self.target_of_source = words.masked_fill(words < 0, dictionary.unk())

    def encode(
        self,
        net_input: dict,
        prefix: Optional[Tensor] = None,
        constraints: Optional[Tensor] = None,
        truth: Optional[Tensor] = None,
        budgets: Optional[Sequence] = None,
    ) -> EncodedBatch:
        """
        Args:
            net_input: of the encoders
            prefix, constraints, budgets: what the user wishes; see `Sentences`
            truth: a*, (sentences, vocabulary), for the oracle
        """
        # Some encoders move padding to the right and some leave it where it is. Here it is
        # on the right for all, so that the attention of any model starts at the first word.
        source = utils.convert_padding_direction(net_input["src_tokens"], self.dictionary.pad(), left_to_right=True)
        encoder_outs = self.forward_encoder({**net_input, "src_tokens": source})
        sentences = Sentences(len(source), prefix=prefix, constraints=constraints, budgets=budgets)
        if self.target_of_source is not None:
            sentences = sentences._replace(source_words=self.target_of_source.to(source.device)[source])
        if self.options.wfe_decoding == "off":
            return EncodedBatch(encoder_outs, sentences)
        if self.options.wfe_decoding == "oracle":
            assert truth is not None
            # What a perfect estimator would say; the oracle has no use for gates.
            estimate = FrequencyEstimate(truth, torch.zeros_like(truth))
        else:
            estimate = average_estimate(self.models, encoder_outs, source)
        wishes = [prefix, constraints, self.copied_unknowns(source)]
        bound = bound_of_batch(estimate, self.options, self.models, self.dictionary, wishes, constraints)
        sentences = sentences._replace(bound=bound)
        return EncodedBatch(encoder_outs, self.shortened(sentences, estimate) if self.shortlist else sentences)

    def copied_unknowns(self, source: Tensor) -> Optional[Tensor]:
        """The unknown word, once for each position from which a model may copy it: they are different words.

        Returns:
            (sentences, time), EOS elsewhere; None if nothing is copied
        """
        if not getattr(self.single_model.decoder, "copies", False):
            return None
        words = self.single_model.decoder.target_of_source[source]
        return words.masked_fill(words.ne(self.dictionary.unk()), self.dictionary.eos())

    def shortened(self, sentences: Sentences, estimate: FrequencyEstimate) -> Sentences:
        """The sentences with a vocabulary of their own."""
        prefix, source_words, bound = sentences.prefix, sentences.source_words, sentences.bound
        assert bound is not None
        always = [torch.arange(self.dictionary.nspecial, device=estimate.r.device)]
        words = choose_words(estimate.a_hat, self.shortlist, always if prefix is None else [*always, prefix])
        if source_words is not None:
            known = torch.isin(source_words, words)
            source_words = torch.searchsorted(words, source_words.masked_fill(~known, self.dictionary.unk()))
        return sentences._replace(
            vocabulary=words,
            bound=select_words(bound, words),
            prefix=None if prefix is None else torch.searchsorted(words, prefix),
            source_words=source_words,
        )

    def select(self, batch: EncodedBatch, keep: Tensor, beam_size: int) -> EncodedBatch:
        """What is left when sentences are finished.

        Args:
            keep: (number,), places of the sentences that are left, ascending
        """
        rows = (keep.unsqueeze(1) * beam_size + torch.arange(beam_size, device=keep.device)).view(-1)
        return EncodedBatch(self.reorder_encoder_out(batch.encoder_outs, rows), batch.sentences.select(keep))

    def candidates(
        self, tokens: Tensor, batch: EncodedBatch, states: list[dict], temperature: float, wanted: int
    ) -> tuple[Candidates, Optional[Tensor]]:
        """Scores of the next word of each hypothesis, under the rules of the step.

        Args:
            tokens: (rows, words so far and the start symbol)
            states: of the decoders, one per model
            wanted: how many words of each hypothesis beside the special symbols; 0: all

        Returns:
            candidates; attention (rows, time) or None
        """
        step = StepContext(tokens[:, 1:], batch.sentences)
        tokens = batch.sentences.in_dictionary(tokens)
        normalize = None
        if wanted > 0 and self.models_size == 1:
            scores, attention = self.logits(tokens, batch.encoder_outs[0], states[0])
            scores = scores.div_(temperature) if temperature != 1.0 else scores
            if temperature != 1.0 or not getattr(self.single_model.decoder, "returns_log_probs", False):
                normalize = self.normalized
        else:
            scores, attention = self.forward_decoder(tokens, batch.encoder_outs, states, temperature)
        if self.options.coverage_penalty > 0 and attention is None:
            raise UserError("--coverage-penalty needs attention to the source, which this model does not return")
        words = batch.sentences.vocabulary
        vocabulary = len(self.dictionary) if words is None else len(words)
        rules: list[Callable[[Tensor, StepContext], None]] = [self.refuse_nan_scores, *self.rules]
        if wanted > 0:
            special = self.dictionary.nspecial
            return best_candidates(scores, step, rules, normalize, special, wanted, vocabulary), attention
        # Behind a shortlist is what all other words have together.
        scores = scores[:, :vocabulary].contiguous()
        for rule in rules:
            rule(scores, step)
        return Candidates(scores), attention

    def refuse_nan_scores(self, lprobs: Tensor, step: StepContext) -> None:
        """Where one word's logit is too large, or no number, all words of a softmax are NaN."""
        refuse_nan(lprobs[:, self.dictionary.eos()], "scores of words")

    def logits(self, tokens: Tensor, encoder_out, state: dict) -> tuple[Tensor, Optional[Tensor]]:
        """What the single model's decoder returns for the last word, before the softmax.

        Returns:
            (rows, vocabulary); attention (rows, time) or None
        """
        keywords = {"incremental_state": state} if self.has_incremental_states() else {}
        logits, extra = self.single_model.decoder(tokens, encoder_out=encoder_out, **keywords)
        attention = extra.get("attn") if isinstance(extra, dict) else extra
        if isinstance(attention, (list, tuple)):
            attention = attention[0]
        return logits[:, -1], None if attention is None else attention[:, -1]

    def normalized(self, logits: Tensor) -> Tensor:
        """(rows, vocabulary), at least in float32."""
        # As a sequence of one word: an adaptive softmax takes nothing else.
        output = (logits.unsqueeze(1), None)
        return self.single_model.get_normalized_probs(output, log_probs=True, sample=None).squeeze(1)
