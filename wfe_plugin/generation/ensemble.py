"""One or several models that search together, with what WFE adds to a step."""

import math
from typing import NamedTuple, Optional

import torch
from fairseq import utils
from fairseq.sequence_generator import EnsembleModel
from torch import Tensor

from wfe_plugin.errors import UserError
from wfe_plugin.generation.options import DecodingConfig
from wfe_plugin.generation.shortlist import choose_words
from wfe_plugin.method.best_words import best_words
from wfe_plugin.method.bound import (
    LAST_RESORT,
    FrequencyBound,
    add_log_mask,
    frequency_bound,
    occurrences,
    select_sentences,
    select_words,
)
from wfe_plugin.method.estimator import FrequencyEstimate
from wfe_plugin.method.ngram_blocking import repeating_words
from wfe_plugin.method.penalties import cap_log_mask, penalize
from wfe_plugin.models.wfe_model import corresponding_words

# Keys under which the generator hands the user's wishes for a batch to
# `forward_encoder`, beside the inputs of the encoder.
PREFIX_TOKENS = "wfe_prefix_tokens"
CONSTRAINT_TOKENS = "wfe_constraint_tokens"
# Likewise, but for the oracle: a* of the batch, (sentences, vocabulary).
TRUE_FREQUENCIES = "wfe_true_frequencies"
# The batch as `forward_encoder` made it, when the search asks for it again.
ENCODED = "wfe_encoded"

# Scores that are worked on at a time: few enough for the cache of a processor.
SLICE_NUMBERS = 1 << 20


class EncodedBatch(NamedTuple):
    """What the encoders know of a batch, as it goes through the search.

    Sentences that are finished leave the batch; `sentence` tells which ones are
    left. Hypotheses of one sentence stand in consecutive rows.
    """

    encoder_outs: list  # one a model, of `rows` sentences
    sentence: Tensor  # (rows,), index of the sentence that each row belongs to
    bound: Optional[FrequencyBound]  # of the sentences that are left; None: no bound
    prefix_tokens: Optional[Tensor]  # (sentences left, length)
    constraint_tokens: Optional[Tensor]  # (sentences left, number)
    outside: Optional[Tensor] = None  # (sentences left, vocabulary), True at words that the source lacks
    # The search's vocabulary, ascending; None: all words. All word indices of the
    # search, the prefix included, are places in this list.
    words: Optional[Tensor] = None

    def slice(self, sentences: slice) -> "EncodedBatch":
        """What the work on scores needs of some of the sentences that are left."""
        prefix, constraints = (
            None if words is None else words[sentences] for words in (self.prefix_tokens, self.constraint_tokens)
        )
        bound = self.bound and select_sentences(self.bound, sentences)
        outside = None if self.outside is None else self.outside[sentences]
        return self._replace(bound=bound, outside=outside, prefix_tokens=prefix, constraint_tokens=constraints)


class BoundedEnsemble(EnsembleModel):
    """Adds the frequency bound and its alternatives to the models' predictions.

    The estimates of several models are averaged, as fairseq averages their
    probabilities: r̂ and ĝ each, which makes one bound for the ensemble.

    Args:
        models: models with a WFE head; any models for the oracle and for `off`
        dictionary: of the target
        options: resolved; the ranking of outputs is the generator's business
        no_repeat_ngram_size: 0: n-grams may repeat
    """

    def __init__(self, models, dictionary, options: DecodingConfig, no_repeat_ngram_size: int = 0):
        super().__init__(models)
        self.pad, self.eos, self.unk = dictionary.pad(), dictionary.eos(), dictionary.unk()
        self.options = options
        self.decoding = options.wfe_decoding
        self.bound_eos = options.wfe_bound_eos
        self.shortlist = options.wfe_shortlist
        self.no_repeat_ngram_size = no_repeat_ngram_size
        self.exempt_words = words_of_option("--exempt-words", options.exempt_words, dictionary)
        self.ignored_words = words_of_option("--ignore-when-blocking", options.ignore_when_blocking, dictionary)
        self.target_of_source = None
        if options.out_of_source_penalty > 0:
            self.target_of_source = corresponding_words(self.single_model.encoder.dictionary, dictionary)
        # How many words of each hypothesis the search is shown beside the special
        # symbols; 0: all. The generator sets it for each batch.
        self.candidates_wanted = 0
        self.candidates: Optional[Tensor] = None  # those words, (rows, columns)

    def forward_encoder(self, net_input) -> EncodedBatch:
        if ENCODED in net_input:
            return net_input[ENCODED]
        net_input = dict(net_input)
        prefix = net_input.pop(PREFIX_TOKENS, None)
        constraints = net_input.pop(CONSTRAINT_TOKENS, None)
        truth = net_input.pop(TRUE_FREQUENCIES, None)
        # Some encoders move padding to the right and some leave it where it is. Here it is
        # on the right for all, so that the attention of any model starts at the first word.
        source = utils.convert_padding_direction(net_input["src_tokens"], self.pad, left_to_right=True)
        net_input["src_tokens"] = source
        encoder_outs = super().forward_encoder(net_input)
        sentences = torch.arange(source.size(0), device=source.device)
        encoded = EncodedBatch(encoder_outs, sentences, None, prefix, constraints)
        if self.target_of_source is not None:
            encoded = encoded._replace(outside=self.outside_source(source))
        if self.decoding == "off":
            return encoded
        if self.decoding == "oracle":
            # What a perfect estimator would say; the oracle has no use for gates.
            estimate = FrequencyEstimate(truth, torch.zeros_like(truth))
        else:
            estimate = self.average_estimate(encoder_outs, source)
            for part in estimate:
                refuse_nan(part, "estimates of word frequencies")
        bound = self.bound_of_batch(estimate, prefix, constraints)
        encoded = encoded._replace(bound=bound)
        return self.shortened(encoded, estimate) if self.shortlist else encoded

    def shortened(self, encoded: EncodedBatch, estimate) -> EncodedBatch:
        """The batch with a vocabulary of its own."""
        special = torch.arange(self.special_symbols, device=estimate.r.device)
        prefix = encoded.prefix_tokens
        always = [special] if prefix is None else [special, prefix]
        words = choose_words(estimate.a_hat, self.shortlist, always)
        return encoded._replace(
            words=words,
            outside=None if encoded.outside is None else encoded.outside[:, words],
            bound=select_words(encoded.bound, words),
            prefix_tokens=prefix if prefix is None else torch.searchsorted(words, prefix),
        )

    @property
    def special_symbols(self) -> int:
        """How many there are; they come first in fairseq's dictionaries."""
        return self.single_model.decoder.dictionary.nspecial

    def bound_of_batch(
        self,
        estimate: FrequencyEstimate,
        prefix: Optional[Tensor],
        constraints: Optional[Tensor],
    ) -> FrequencyBound:
        return frequency_bound(
            estimate,
            self.decoding,
            unbounded=None if self.bound_eos else self.eos,
            minimum_budget=self.minimum_budget(estimate.r, prefix, constraints),
            floor=self.floor(estimate.r, constraints),
            calibration=self.options.calibration,
            log_base_rate=self.average_log_base_rate(),
            # Under Equation 4 as it stands, the unknown word is a word like any other.
            exempt=() if self.options.calibration.is_equation_4 else (self.pad, self.unk),
        )

    def average_log_base_rate(self) -> Optional[Tensor]:
        """log of the mean base rate, (vocabulary,); None unless it is asked for and all models have one."""
        if self.options.wfe_base_rate_weight == 0:
            return None
        found = [model.log_base_rate() for model in self.models]
        if any(log_rate is None for log_rate in found):
            return None
        return torch.logsumexp(torch.stack(found), dim=0) - math.log(len(found))

    def outside_source(self, source: Tensor) -> Tensor:
        """True at words that a source lacks, but for special symbols and exempt words; (sentences, vocabulary)."""
        words = self.target_of_source.to(source.device)[source]
        outside = torch.ones(
            len(source), len(self.single_model.decoder.dictionary), dtype=torch.bool, device=source.device
        )
        outside.scatter_(1, words.masked_fill(words < 0, self.unk), False)
        outside[:, [self.pad, self.eos, self.unk]] = False
        if self.exempt_words is not None:
            outside[:, self.exempt_words] = False
        return outside

    def average_estimate(self, encoder_outs, source: Tensor) -> FrequencyEstimate:
        estimates = [
            model.estimate_frequencies(encoder_out, source) for model, encoder_out in zip(self.models, encoder_outs)
        ]
        if len(estimates) == 1:
            return estimates[0]
        r_hat = torch.stack([estimate.r_hat for estimate in estimates]).mean(dim=0)
        # The average of the gates, in the logarithm so that none underflows;
        # then back to the g that has this gate.
        log_g_hat, log_closed = (
            torch.logsumexp(torch.stack(logs), dim=0) - math.log(len(estimates))
            for logs in (
                [estimate.log_g_hat for estimate in estimates],
                [estimate._replace(g=-estimate.g).log_g_hat for estimate in estimates],
            )
        )
        return FrequencyEstimate(r_hat, log_g_hat - log_closed)

    def minimum_budget(self, like: Tensor, prefix: Optional[Tensor], constraints: Optional[Tensor]) -> Optional[Tensor]:
        """Budgets that the user's wishes call for, (sentences, vocabulary).

        A forced prefix and constraints may use their words as often as they
        have them.
        """
        wishes = [words for words in (prefix, constraints) if words is not None]
        if not wishes:
            return None
        minimum = torch.zeros_like(like)
        for words in wishes:
            minimum.scatter_add_(1, words, torch.ones_like(words).type_as(minimum))
        minimum[:, self.eos] = 0.0  # a prefix may end in EOS, which is no wish for more
        return minimum

    def floor(self, like: Tensor, constraints: Optional[Tensor]) -> Optional[Tensor]:
        """LAST_RESORT at words that must stay possible, (sentences, vocabulary).

        A search in which no hypothesis can end has no result, and a hypothesis
        that spent a constrained word elsewhere could not be completed.
        """
        if constraints is None and not self.bound_eos:
            return None
        floor = torch.zeros_like(like)
        floor[:, self.eos] = LAST_RESORT
        if constraints is not None:
            floor.scatter_(1, constraints, LAST_RESORT)
        return floor

    def reorder_encoder_out(self, encoded: EncodedBatch, new_order) -> EncodedBatch:
        sentence = encoded.sentence[new_order]
        if torch.equal(sentence, encoded.sentence):
            # Hypotheses changed places within their sentences only, and all
            # that belongs to a sentence stays where it is.
            return encoded
        left = torch.unique_consecutive(sentence)
        known = torch.unique_consecutive(encoded.sentence)
        encoder_outs = super().reorder_encoder_out(encoded.encoder_outs, new_order)
        encoded = encoded._replace(encoder_outs=encoder_outs, sentence=sentence)
        if left.numel() == known.numel():
            return encoded
        keep = torch.searchsorted(known, left)
        return encoded._replace(
            bound=encoded.bound and select_sentences(encoded.bound, keep),
            outside=select(encoded.outside, keep),
            prefix_tokens=select(encoded.prefix_tokens, keep),
            constraint_tokens=select(encoded.constraint_tokens, keep),
        )

    def forward_decoder(self, tokens, encoded: EncodedBatch, incremental_states, temperature=1.0):
        generated = tokens[:, 1:]  # fairseq's start symbol is not a word
        if encoded.words is not None:
            tokens = encoded.words[tokens]
        if self.candidates_wanted > 0 and self.models_size == 1:
            scores, attention = self.logits(tokens, encoded, incremental_states)
            scores = scores.div_(temperature) if temperature != 1.0 else scores
            normalize = self.normalized
        else:
            scores, attention = super().forward_decoder(tokens, encoded.encoder_outs, incremental_states, temperature)
            normalize = None
        if self.options.coverage_penalty > 0 and attention is None:
            raise UserError("--coverage-penalty needs the model's attention to the source, and this model shows none")
        if self.candidates_wanted > 0:
            return self.best_candidates(scores, generated, encoded, normalize), attention
        scores = self.without_other_words(scores, encoded).contiguous()
        return self.adjusted(scores, generated, encoded), attention

    def without_other_words(self, scores: Tensor, encoded: EncodedBatch) -> Tensor:
        """Behind a shortlist stands what all other words have together."""
        return scores if encoded.words is None else scores[:, :-1]

    def logits(self, tokens, encoded: EncodedBatch, incremental_states):
        """What the single model's decoder returns for the last word, before the softmax.

        Returns:
            (rows, vocabulary); attention (rows, time) or None
        """
        keywords = {"encoder_out": encoded.encoder_outs[0]}
        if self.has_incremental_states():
            keywords["incremental_state"] = incremental_states[0]
        logits, extra = self.single_model.decoder(tokens, **keywords)
        attention = extra.get("attn") if isinstance(extra, dict) else extra
        if isinstance(attention, (list, tuple)):
            attention = attention[0]
        return logits[:, -1], None if attention is None else attention[:, -1]

    def normalized(self, logits: Tensor) -> Tensor:
        """(rows, vocabulary), at least in float32."""
        # As a sequence of one word: an adaptive softmax takes nothing else.
        return self.single_model.get_normalized_probs((logits.unsqueeze(1), None), log_probs=True, sample=None).squeeze(
            1
        )

    def best_candidates(self, scores: Tensor, generated: Tensor, encoded: EncodedBatch, normalize) -> Tensor:
        """The scores of the special symbols and of the best words of each hypothesis.

        All that a search wants are the best words. The scores of few sentences
        at a time are normalised, masked and searched through while they are in
        the processor's cache. `candidates` tells which words they are.

        Args:
            scores: (rows, vocabulary), log-probabilities or, with *normalize*, what these
                are made of: logits, or features (rows, size) for an adaptive softmax

        Returns:
            (rows, number of special symbols + number of candidates wanted)
        """
        rows, vocabulary = scores.size(0), len(self.single_model.decoder.dictionary)
        if encoded.words is not None:
            vocabulary = len(encoded.words)
        special = self.special_symbols
        sentences = torch.unique_consecutive(encoded.sentence).numel()
        beam = rows // sentences
        step = sentences
        if scores.device.type == "cpu":
            step = max(1, SLICE_NUMBERS // (beam * vocabulary))
        found_scores, found_words = [], []
        for start in range(0, sentences, step):
            part = slice(start * beam, (start + step) * beam)
            some = scores[part] if normalize is None else normalize(scores[part])
            some = self.adjusted(
                self.without_other_words(some, encoded),
                generated[part],
                encoded.slice(slice(start, start + step)),
            )
            best, words = best_words(some[:, special:], self.candidates_wanted)
            found_scores.append(torch.cat((some[:, :special], best), dim=1))
            found_words.append(words + special)
        words = torch.cat(found_words)
        symbols = torch.arange(special, device=words.device).expand(rows, -1)
        self.candidates = torch.cat((symbols, words), dim=1)
        return torch.cat(found_scores)

    def adjusted(self, lprobs: Tensor, generated: Tensor, encoded: EncodedBatch) -> Tensor:
        """Log-probabilities under the bound and its alternatives, in place.

        Args:
            lprobs: (rows, vocabulary)
            generated: (rows, words so far)
        """
        # Where one word's logit is too large, or no number, all words of a softmax are NaN.
        refuse_nan(lprobs[:, self.eos], "scores of words")
        if generated.size(1) > 0 and self.penalizes_words:
            self.penalize_words(lprobs, generated, encoded)
        if encoded.bound is not None:
            lprobs = add_log_mask(lprobs, encoded.bound, generated)
        if self.options.word_reward != 0:
            ending = lprobs[:, self.eos].clone()
            lprobs.add_(self.options.word_reward)[:, self.eos] = ending
        if encoded.outside is not None:
            sentences = lprobs.unflatten(0, (encoded.outside.size(0), -1))
            sentences.sub_(self.options.out_of_source_penalty * encoded.outside.unsqueeze(1).type_as(lprobs))
        if generated.size(1) > 0 and self.options.word_cap > 0:
            self.cap_words(lprobs, generated, encoded)
        if self.no_repeat_ngram_size > 0:
            self.block_ngrams(lprobs, generated, encoded)
        return lprobs

    @property
    def penalizes_words(self) -> bool:
        options = self.options
        return options.repetition_penalty != 1.0 or options.frequency_penalty != 0.0 or options.presence_penalty != 0.0

    def places(self, words: Optional[Tensor], encoded: EncodedBatch) -> Optional[Tensor]:
        """Where words of an option stand in the search's vocabulary."""
        if words is None or encoded.words is None:
            return words
        return torch.isin(encoded.words, words.to(encoded.words.device)).nonzero().view(-1)

    def is_exempt(self, generated: Tensor, encoded: EncodedBatch) -> Tensor:
        """True at words that may be said as often as the model likes, (rows, words so far)."""
        exempt = generated.eq(self.eos)
        words = self.places(self.exempt_words, encoded)
        return exempt if words is None else exempt | torch.isin(generated, words.to(generated.device))

    def penalize_words(self, lprobs: Tensor, generated: Tensor, encoded: EncodedBatch) -> None:
        before = lprobs.gather(1, generated)
        penalized = penalize(
            before,
            occurrences(generated),
            self.options.repetition_penalty,
            self.options.frequency_penalty,
            self.options.presence_penalty,
        )
        exempt = self.is_exempt(generated, encoded)
        lprobs.scatter_(1, generated, before.where(exempt, penalized.type_as(lprobs)))

    def cap_words(self, lprobs: Tensor, generated: Tensor, encoded: EncodedBatch) -> None:
        """Forbid words that were said as often as they may be.

        As under the bound, a forced prefix and constraints may use their words as
        often as they have them, constraints also beyond that if there is no other
        way, and EOS is free.
        """
        minimum, floor = None, None
        prefix, constraints = encoded.prefix_tokens, encoded.constraint_tokens
        wishes = [words for words in (prefix, constraints) if words is not None]
        if wishes:
            minimum = sum(times_in(words, generated) for words in wishes)
        if constraints is not None:
            floor = times_in(constraints, generated).clamp(max=1) * LAST_RESORT
        counts = occurrences(generated)
        mask = cap_log_mask(counts, self.options.word_cap, minimum, floor)
        mask = mask.masked_fill(self.is_exempt(generated, encoded), 0.0)
        capped = lprobs.gather(1, generated) + mask
        lprobs.scatter_(1, generated, capped.type_as(lprobs))

    def block_ngrams(self, lprobs: Tensor, generated: Tensor, encoded: EncodedBatch) -> None:
        """Forbid what would repeat an n-gram, but never EOS or a forced word."""
        ignored = self.places(self.ignored_words, encoded)
        ignored = None if ignored is None else ignored.to(generated.device)
        blocked = repeating_words(generated, self.no_repeat_ngram_size, self.pad, ignored)
        allowed = [torch.full_like(generated[:, :1], self.eos)]
        step = generated.size(1)
        prefix = encoded.prefix_tokens
        if prefix is not None and step < prefix.size(1):
            allowed.append(prefix[:, step : step + 1])
        if encoded.constraint_tokens is not None:
            allowed.append(encoded.constraint_tokens)
        for words in allowed:
            blocked = blocked.masked_fill(times_in(words, blocked) > 0, self.pad)
        lprobs.scatter_(1, blocked, float("-inf"))


def words_of_option(option: str, text: str, dictionary) -> Optional[Tensor]:
    """The indices of words that an option names; None if it names none."""
    words = text.split()
    unknown = [word for word in words if word not in dictionary]
    if unknown:
        raise UserError(
            f"{option}: not in the target dictionary: {' '.join(unknown)}; "
            "write them as they are there (in lower case, for example, or BPE pieces with @@)"
        )
    return torch.tensor([dictionary.index(word) for word in words]) if words else None


def times_in(words: Tensor, candidates: Tensor) -> Tensor:
    """How often each candidate of a hypothesis is among the words of its sentence.

    Args:
        words: (sentences, number of words)
        candidates: (rows, number of candidates), the same number of rows for each
            sentence, those of one sentence together

    Returns:
        (rows, number of candidates), integer
    """
    rows_per_sentence = candidates.size(0) // words.size(0)
    words = words.repeat_interleave(rows_per_sentence, dim=0)
    return candidates.unsqueeze(2).eq(words.unsqueeze(1)).sum(dim=2)


def refuse_nan(numbers: Tensor, what: str) -> None:
    """A search among them would find nothing, or anything."""
    if numbers.isnan().any():
        raise UserError(
            f"the {what} are not numbers (NaN): the model's activations overflow. With --fp16, "
            "leave it out; else its training has diverged: take an earlier checkpoint"
        )


def select(tensor: Optional[Tensor], indices: Tensor) -> Optional[Tensor]:
    return None if tensor is None else tensor.index_select(0, indices)
