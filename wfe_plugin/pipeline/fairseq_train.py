"""The command line of fairseq-train for what is left of a training."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wfe_plugin.pipeline import checkpoints
from wfe_plugin.pipeline.child import ROOT, user_dir
from wfe_plugin.pipeline.presets import Stage
from wfe_plugin.pipeline.record import Progress
from wfe_plugin.pipeline.train_options import COPYING, TrainOptions
from wfe_plugin.pipeline.treat import SIDES

if TYPE_CHECKING:
    from wfe_plugin.pipeline.training import Training


def command(training: Training, progress: Progress, last: Path | None) -> list[str]:
    """fairseq-train for the epochs that are left of the present stage, from the last checkpoint."""
    options, stage = training.options, stage_of(training, progress.last + 1)
    words = [str(training.data.directory), "--user-dir", user_dir(), "--task", "summarization_wfe"]
    words += ["--criterion", "nll_wfe", "--source-lang", SIDES[0], "--target-lang", SIDES[1]]
    words += [*training.preset.options, *stage.options, *model_options(training)]
    if training.base and not progress.last:
        words += ["--finetune-from-model", str(training.base.checkpoint)]
    words += ["--batch-size", str(training.preset.batch_size // options.processes), "--seed", str(options.seed)]
    for side, length in training.data.lengths.items():
        words += [f"--max-{side}-positions", str(length)]
    words += ["--skip-invalid-size-inputs-valid-test"]  # wfe-preprocess has reported them
    words += ["--save-dir", str(training.out), "--no-last-checkpoints"]
    words += ["--max-epoch", str(last_epoch(training, progress)), "--patience", str(options.patience)]
    words += ["--best-checkpoint-metric", metric(training)]
    # The best epoch is among the last ones, or training would have stopped; with copying, also by ROUGE.
    if options.best_by != "rouge" or COPYING in options.fairseq_options:
        words += ["--keep-last-epochs", str(options.patience + 1)]
    if last:
        words += ["--restore-file", str(last)]
        if stage_of(training, progress.last) is not stage:
            words += ["--reset-optimizer"]
    words += ["--log-format", "json", "--distributed-world-size", str(options.processes)]
    start = [sys.executable]
    if options.processes > 1:
        words += ["--distributed-init-method", "env://", "--distributed-no-spawn"]
        words += ["--distributed-backend", "gloo" if options.on_cpu else "nccl", "--ddp-backend", "legacy_ddp"]
        # fairseq would send it from the first process to the others as objects that torch refuses to load.
        words += ["--load-checkpoint-on-all-dp-ranks"]
        start = torchrun(options)
    process = str(Path(__file__).with_name("train_process.py"))
    return [*start, process, *reached(training, progress), *words, *options.fairseq_options]


def reached(training: Training, progress: Progress) -> list[str]:
    """The first arguments of train_process.py."""
    score = ["none", "0"] if progress.score is None else [repr(progress.score), str(progress.waited)]
    seconds, before = training.limit
    return [*score, "none" if seconds is None else repr(seconds), repr(before)]


def stage_of(training: Training, epoch: int) -> Stage:
    """The stage that an epoch (from 1) belongs to."""
    return training.preset.estimate if training.options.add_wfe else training.preset.stage(epoch)


def last_epoch(training: Training, progress: Progress) -> int:
    """That of the present stage."""
    epochs = training.options.epochs
    return min(epochs, stage_of(training, progress.last + 1).last_epoch or epochs)


def model_options(training: Training) -> list[str]:
    """What the model is, and which part of it is trained."""
    estimator = training.options.estimator
    words = training.record["settings"].get("model_options") or training.preset.wfe_options(estimator)
    words = list(words)
    if training.options.add_wfe:
        words += ["--wfe-only"]
    if training.preset.trains_further and not training.baseline:
        # Beside a risk below 1, the loss of the estimate would be all that the encoder learns from.
        words += ["--wfe-detached"]
        calibration = checkpoints.model_option(checkpoints.load(training.base.checkpoint), "wfe_calibration")
        words += ["--wfe-calibration", calibration] if calibration else []  # with --mrt-bounded
    return words


def metric(training: Training) -> str:
    """The validation score that stops the training, in fairseq's words."""
    stop_by = training.options.best_by
    if stop_by == "rouge":  # which is known in the end
        stop_by = "loss" if training.options.add_wfe else training.preset.best_by
    return "nll_loss" if stop_by == "nll" else stop_by


def torchrun(options: TrainOptions) -> list[str]:
    code = "import sys; sys.path[0] = sys.argv.pop(1); from torch.distributed.run import main; main()"
    start = [sys.executable, "-c", code, str(ROOT), "--nproc-per-node", str(options.gpus)]
    if options.machines == 1:
        return [*start, "--standalone"]
    host, port = options.master.split(":")
    start += ["--nnodes", str(options.machines), "--node-rank", str(options.machine)]
    return [*start, "--master-addr", host, "--master-port", port]
