"""Summarization with word-frequency estimation, for all of fairseq's commands."""

import logging
from dataclasses import dataclass
from typing import Optional

from fairseq.tasks import register_task
from fairseq.tasks.translation import TranslationConfig, TranslationTask

from wfe_plugin.generation.checks import check_ruled_search, check_search, rules_of
from wfe_plugin.generation.generator import WFESequenceGenerator
from wfe_plugin.generation.options import DecodingConfig
from wfe_plugin.generation.scorer import WFESequenceScorer
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
        check_search(options, args, models)
        unchanged = options.wfe_decoding == "off" and not rules_of(options, args)
        if unchanged or seq_gen_cls is not None:
            return super().build_generator(
                models,
                args,
                seq_gen_cls=seq_gen_cls,
                extra_gen_cls_kwargs=extra_gen_cls_kwargs,
                prefix_allowed_tokens_fn=prefix_allowed_tokens_fn,
            )
        check_ruled_search(options, args, models, prefix_allowed_tokens_fn)
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
                "sentence_budgets": getattr(args, "sentence_budgets", ()),
            },
        )
