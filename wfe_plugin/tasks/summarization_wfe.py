"""Summarization with word-frequency estimation, for all of fairseq's commands."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Optional

from fairseq.data.encoders import TOKENIZER_REGISTRY
from fairseq.models import (
    ARCH_MODEL_REGISTRY,
    MODEL_REGISTRY,
    FairseqLanguageModel,
)
from fairseq.tasks import register_task
from fairseq.tasks.translation import TranslationConfig, TranslationTask

from wfe_plugin.errors import UserError
from wfe_plugin.generation.generator import WFESequenceGenerator
from wfe_plugin.generation.options import DecodingConfig
from wfe_plugin.generation.scorer import WFESequenceScorer
from wfe_plugin.generation.shortlist import output_layer_name
from wfe_plugin.generation.values import refuse_impossible_values
from wfe_plugin.models.wfe_model import WFEModel
from wfe_plugin.option_values import require

logger = logging.getLogger(__name__)


@dataclass
class SummarizationWFEConfig(DecodingConfig, TranslationConfig):
    """fairseq's options of translation, and those of decoding within estimated frequencies."""


class UnknownWords(ValueError, RuntimeError):
    """Numbers beyond a vocabulary. For all but a RuntimeError, fairseq-train would leave a crash.pt."""


@register_task("summarization_wfe", dataclass=SummarizationWFEConfig)
class SummarizationWFETask(TranslationTask):
    """fairseq's translation task, decoding within estimated word frequencies."""

    cfg: SummarizationWFEConfig
    has_estimate: Optional[bool] = None  # whether the model has that was built last
    told: Optional[str] = None  # what was said last of how models are decoded

    @classmethod
    def load_dictionary(cls, filename):
        try:
            dictionary = super().load_dictionary(filename)
        except (ValueError, RuntimeError) as error:
            reason = str(error).strip()
            raise ValueError(f"{filename}: not a vocabulary of fairseq-preprocess ({reason})") from None
        if any("\0" in word for word in dictionary.symbols):
            raise ValueError(f"{filename}: not a vocabulary of fairseq-preprocess (NUL bytes): damaged?")
        if len(dictionary) == dictionary.nspecial:
            raise ValueError(f"{filename}: the vocabulary has no words")
        return dictionary

    def load_dataset(self, split, *args, **kwargs):
        super().load_dataset(split, *args, **kwargs)
        dataset = self.datasets[split]
        try:
            dataset[len(dataset) - 1]
        except Exception:  # whatever numpy makes of a file that ends early
            raise ValueError(
                f"{self.cfg.data}: the set {split!r} is empty, damaged or cut short: binarise it again"
            ) from None

    def build_model(self, cfg, from_checkpoint=False):
        refuse_models_without_a_source(getattr(cfg, "_name", None) or getattr(cfg, "arch", None))
        if self.cfg.eval_bleu:
            refuse_impossible_bleu(self.cfg)
        model = super().build_model(cfg, from_checkpoint)
        self.has_estimate = getattr(model, "wfe_head", None) is not None
        return model

    def begin_epoch(self, epoch, model):
        """Refuses here what the first batch would: for an error in a batch fairseq leaves a crash.pt."""
        super().begin_epoch(epoch, model)
        if isinstance(model, WFEModel):
            model.refuse_to_learn_untrained()
            summaries = self.datasets[self.cfg.train_subset].tgt
            model.count_base_rates(summaries[i] for i in range(len(summaries)))

    def can_reuse_epoch_itr(self, dataset):
        """Whether batches are kept for later epochs: of the data sets on disk alone.

        fairseq keeps those of every line that it was ever given to summarize,
        and a server would grow for ever.
        """
        kept = any(dataset is known for known in self.datasets.values())
        return kept and super().can_reuse_epoch_itr(dataset)

    def get_batch_iterator(self, dataset, *args, epoch=1, **kwargs):
        """As fairseq's, without loss of data, and with the same batches after a restart.

        fairseq makes batches of a multiple of eight sentences by default
        (--required-batch-size-multiple), and silently drops the last batch if
        it is not: up to seven sentences are never trained on, validated or
        summarized. The multiple is a matter of speed on some GPUs, and no
        reason to lose sentences.

        fairseq puts sentences together in batches once, in the epoch in which
        a training is started, with a seed that depends on that epoch; later
        epochs only shuffle the batches. A training that was interrupted would
        go on with other batches than it began with. Here they are always those
        of a start in the first epoch.
        """
        kwargs["required_batch_size_multiple"] = 1
        self.refuse_impossible_batches(dataset, **kwargs)
        made_once = not (kwargs.get("disable_iterator_cache") or kwargs.get("update_epoch_batch_itr"))
        known = self.dataset_to_epoch_iter.get(dataset)
        iterator = super().get_batch_iterator(dataset, *args, epoch=1 if made_once else epoch, **kwargs)
        if iterator is not known:
            iterator.epoch = max(1, epoch)
            # A loader that is used again never shuffles if it did not in its first
            # epoch: with --curriculum, only a restart would make it.
            iterator.reuse_dataloader = False
        return iterator

    def refuse_impossible_batches(self, dataset, max_sentences=None, max_tokens=None, num_workers=0, **others) -> None:
        training = self.datasets.get(getattr(self.cfg, "train_subset", None))
        suffix = "" if training is None or dataset is training else "-valid"
        for option, value in (("--batch-size", max_sentences), ("--max-tokens", max_tokens)):
            if value is not None:
                require(value >= 1, option + suffix, value, "1 or more")
        require(num_workers >= 0, "--num-workers", num_workers, "0 or more")

    def train_step(self, sample, *args, **kwargs):
        with self.unknown_words_told(sample):
            return super().train_step(sample, *args, **kwargs)

    def valid_step(self, sample, *args, **kwargs):
        with self.unknown_words_told(sample):
            return super().valid_step(sample, *args, **kwargs)

    def inference_step(self, generator, models, sample, *args, **kwargs):
        with self.unknown_words_told(sample):
            return super().inference_step(generator, models, sample, *args, **kwargs)

    @contextmanager
    def unknown_words_told(self, sample) -> Iterator[None]:
        """Says so if an error comes from words that are not in the vocabulary, which are not looked for otherwise."""
        try:
            yield
        except (IndexError, RuntimeError):
            for side, tokens, dictionary in (
                (self.cfg.source_lang, sample["net_input"]["src_tokens"], self.source_dictionary),
                (self.cfg.target_lang, sample.get("target"), self.target_dictionary),
            ):
                # After an error on a GPU nothing can be asked of it.
                if tokens is not None and not tokens.is_cuda and tokens.max() >= len(dictionary):
                    raise UnknownWords(
                        f"{self.cfg.data}: has words that are not in dict.{side}.txt (number {tokens.max()} of "
                        f"{len(dictionary)}), which must be that of the binarised data: binarise them again"
                    ) from None
            raise

    def build_generator(
        self,
        models,
        args,
        seq_gen_cls=None,
        extra_gen_cls_kwargs=None,
        prefix_allowed_tokens_fn=None,
    ):
        """As fairseq's; *args* may override the task's options of decoding.

        So a hub model takes `translate(..., wfe_decoding="off")`, and validation
        `--eval-bleu-args '{"wfe_decoding": "bound"}'`.
        """
        refuse_impossible_values(args, len(self.target_dictionary))
        options = DecodingConfig.of(args, self.cfg)
        options.validate()
        options, decoded = options.resolved(models)
        if decoded != self.told:  # once, not for every batch of minimum risk training
            logger.info(decoded)
            self.told = decoded
        refuse_impossible_ngrams(args, options)
        refuse_shortlists_that_cannot_work(options, models, args)
        refuse_other_language_models((extra_gen_cls_kwargs or {}).get("lm_model"))
        unchanged = options.wfe_decoding == "off" and not rules_of(options, args)
        if unchanged or seq_gen_cls is not None:
            return super().build_generator(
                models,
                args,
                seq_gen_cls=seq_gen_cls,
                extra_gen_cls_kwargs=extra_gen_cls_kwargs,
                prefix_allowed_tokens_fn=prefix_allowed_tokens_fn,
            )
        refuse_what_cannot_work(models, args, options, prefix_allowed_tokens_fn)
        if getattr(args, "score_reference", False):
            return WFESequenceScorer(self.target_dictionary, options=options)
        print_alignment = getattr(args, "print_alignment", None)
        return super().build_generator(
            models,
            args,
            seq_gen_cls=WFESequenceGenerator,
            extra_gen_cls_kwargs={
                **(extra_gen_cls_kwargs or {}),
                "options": options,
                "print_alignment": print_alignment,
            },
        )


def rules_of(options: DecodingConfig, args) -> list[str]:
    """The options beside the mask that change outputs, fairseq's included."""
    size = getattr(args, "no_repeat_ngram_size", 0)
    return options.rules() + ([f"--no-repeat-ngram-size {size}"] if size else [])


def refuse_what_cannot_work(models, args, options: DecodingConfig, prefix_allowed_tokens_fn) -> None:
    """Refuse, at the start, combinations that could only fail later."""
    if options.coverage_penalty > 0 and any(getattr(m.decoder, "attention", m) is None for m in models):
        raise UserError("--coverage-penalty needs the attention to the source, but the model has none")
    rules = rules_of(options, args)
    stock = "use --wfe-decoding off"
    if rules:
        stock += f" without {', '.join(rules)}"
    if getattr(args, "score_reference", False):
        rules = [rule for rule in rules if not rule.startswith("--word-reward")]
        if rules:
            raise UserError(
                f"--score-reference scores given summaries, and nothing is searched for: leave out {', '.join(rules)}"
            )
        if options.wfe_decoding == "oracle":
            raise UserError(
                "--score-reference with --wfe-decoding oracle: a reference is always "
                "within its own frequencies; use --wfe-decoding off for the same scores"
            )
        if getattr(args, "print_alignment", None):
            raise UserError("--print-alignment is of generated text; with --score-reference, use --wfe-decoding off")
    if getattr(args, "match_source_len", False):
        raise UserError(
            "--match-source-len fixes the length of the output, for which the words that "
            f"are allowed may not suffice; {stock}"
        )
    if prefix_allowed_tokens_fn is not None or getattr(args, "prefix_allowed_tokens_fn", None) is not None:
        raise UserError(f"prefix_allowed_tokens_fn may leave only words that are not allowed any more; {stock}")
    min_len, max_len_b = getattr(args, "min_len", 1), getattr(args, "max_len_b", 200)
    if getattr(args, "max_len_a", 0) == 0 and min_len > max_len_b:
        raise UserError(f"--min-len {min_len} is larger than the maximum length, --max-len-b {max_len_b}")


def refuse_impossible_ngrams(args, options: DecodingConfig) -> None:
    size, longest = getattr(args, "no_repeat_ngram_size", 0), getattr(args, "max_len_b", 200)
    require(size >= 0, "--no-repeat-ngram-size", size, "1 or more, or 0 to block none")
    if getattr(args, "max_len_a", 0) == 0 and size > max(longest, 0):
        raise UserError(
            f"--no-repeat-ngram-size {size} is larger than the maximum length, "
            f"--max-len-b {longest}: nothing could ever be blocked"
        )
    if options.ignore_when_blocking and size == 0:
        raise UserError("--ignore-when-blocking exempts words from n-gram blocking: give --no-repeat-ngram-size, too")


def refuse_shortlists_that_cannot_work(options: DecodingConfig, models, args) -> None:
    if options.wfe_shortlist == 0:
        return
    if options.wfe_decoding == "off":
        raise UserError("--wfe-shortlist takes its words from the estimate, and the model has none")
    for option, name in (
        ("--constraints", "constraints"),
        ("--score-reference", "score_reference"),
        ("--lm-path", "lm_path"),
    ):
        if getattr(args, name, None):
            raise UserError(f"{option} may ask for words that are not in --wfe-shortlist: leave one out")
    for model in models:
        output_layer_name(model.decoder)


def refuse_other_language_models(model) -> None:
    if model is not None and not isinstance(model, FairseqLanguageModel):
        raise ValueError("--lm-path: is no language model of fairseq, but one that reads a source")


def refuse_models_without_a_source(architecture: Optional[str]) -> None:
    model = ARCH_MODEL_REGISTRY.get(architecture) or MODEL_REGISTRY.get(architecture)
    if model is not None and issubclass(model, FairseqLanguageModel):
        raise ValueError(f"--arch {architecture} is a language model, which reads no source: choose an encoder-decoder")


def refuse_impossible_bleu(cfg: SummarizationWFEConfig) -> None:
    for option, text in (
        ("--eval-bleu-args", cfg.eval_bleu_args),
        ("--eval-bleu-detok-args", cfg.eval_bleu_detok_args),
    ):
        try:
            given = json.loads(text)
        except ValueError:
            given = None
        if not isinstance(given, dict):
            raise ValueError(f"{option} is {text!r}; it must be a JSON object, for example '{{\"beam\": 5}}'")
    if cfg.eval_bleu_detok not in TOKENIZER_REGISTRY:
        raise ValueError(
            f"--eval-bleu-detok is {cfg.eval_bleu_detok}; it must be one of {', '.join(sorted(TOKENIZER_REGISTRY))}"
        )
