"""Summarization with word-frequency estimation, for all of fairseq's commands."""

import logging
from dataclasses import dataclass
from typing import Optional

from fairseq.tasks import register_task
from fairseq.tasks.translation import TranslationConfig, TranslationTask

from wfe_plugin.errors import UserError
from wfe_plugin.generation.generator import WFESequenceGenerator
from wfe_plugin.generation.options import DecodingConfig
from wfe_plugin.generation.scorer import WFESequenceScorer
from wfe_plugin.generation.shortlist import output_layer_name
from wfe_plugin.models.wfe_model import WFEModel

logger = logging.getLogger(__name__)


@dataclass
class SummarizationWFEConfig(DecodingConfig, TranslationConfig):
    """fairseq's options of translation, and those of decoding within estimated frequencies."""


@register_task("summarization_wfe", dataclass=SummarizationWFEConfig)
class SummarizationWFETask(TranslationTask):
    """fairseq's translation task, decoding within estimated word frequencies."""

    cfg: SummarizationWFEConfig
    has_estimate: Optional[bool] = None  # whether the model has that was built last
    told: Optional[str] = None  # what was said last of how models are decoded

    def build_model(self, cfg, from_checkpoint=False):
        model = super().build_model(cfg, from_checkpoint)
        self.has_estimate = getattr(model, "wfe_head", None) is not None
        return model

    def begin_epoch(self, epoch, model):
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
        made_once = not (kwargs.get("disable_iterator_cache") or kwargs.get("update_epoch_batch_itr"))
        known = self.dataset_to_epoch_iter.get(dataset)
        iterator = super().get_batch_iterator(dataset, *args, epoch=1 if made_once else epoch, **kwargs)
        if iterator is not known:
            iterator.epoch = max(1, epoch)
            # A loader that is used again never shuffles if it did not in its first
            # epoch: with --curriculum, only a restart would make it.
            iterator.reuse_dataloader = False
        return iterator

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
        options = DecodingConfig.of(args, self.cfg)
        options.validate()
        options, decoded = options.resolved(models)
        if decoded != self.told:  # once, not for every batch of minimum risk training
            logger.info(decoded)
            self.told = decoded
        refuse_impossible_ngrams(args, options)
        refuse_shortlists_that_cannot_work(options, models, args)
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
