"""What a training is told: the options of wfe-train, and which of them go together."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Optional

from wfe_plugin.errors import UserError
from wfe_plugin.pipeline.options import refuse_managed
from wfe_plugin.pipeline.presets import ESTIMATORS, JOINT_ESTIMATORS, PRESETS, Preset
from wfe_plugin.pipeline.protocols import protocol_of

MODEL = "model"  # the directory within --out where the phase of the model trains
BEST_BY = ("nll", "rouge", "loss", "risk")

# Options of fairseq-train on which resuming, stopping and choosing depend.
MANAGED = (
    "--save-dir --restore-file --max-epoch --max-update --stop-time-hours --patience --seed --log-format "
    "--best-checkpoint-metric --maximize-best-checkpoint-metric --keep-last-epochs --no-epoch-checkpoints "
    "--no-last-checkpoints --no-save --no-save-optimizer-state --save-interval --save-interval-updates "
    "--validate-interval --validate-interval-updates --disable-validation --stop-min-lr --reset-optimizer "
    "--reset-lr-scheduler --reset-dataloader --reset-meters --finetune-from-model --continue-once "
    "--write-checkpoints-asynchronously --user-dir --task --source-lang --target-lang --without-wfe --wfe-only "
    "--wfe-new-head --wfe-estimator --wfe-calibration --copy-attention "
    "--distributed-world-size --distributed-rank --distributed-init-method --distributed-port "
    "--distributed-no-spawn --distributed-num-procs --device-id --nprocs-per-node --distributed-backend "
    # The task sets the first; the second changes the batches when a training continues.
    "--required-batch-size-multiple --update-ordered-indices-seed"
).split()
# These differ between the stages of a preset.
STAGED = ["--optimizer", "--lr", "--clip-norm"]
COPYING = "--copy-attention"  # of fairseq-train
# fairseq fails with them on a CPU, some steps later.
HALF_PRECISION = ["--fp16", "--bf16", "--memory-efficient-fp16", "--memory-efficient-bf16"]


@dataclass(frozen=True)
class TrainOptions:
    """The options of wfe-train by name; None: the preset decides.

    `epochs`, `patience`, `minutes` and `best_by` are of the phase that trains the model; with
    `add_wfe`, which has no such phase, of the estimate.
    """

    data: str
    out: str
    preset: Optional[str] = None
    baseline: bool = False
    add_wfe: Optional[str] = None
    start_from: Optional[str] = None
    estimator: Optional[str] = None
    copying: Optional[bool] = None
    epochs: Optional[int] = None
    patience: Optional[int] = None
    minutes: Optional[float] = None
    best_by: Optional[str] = None
    estimate_epochs: Optional[int] = None
    estimate_patience: Optional[int] = None
    calibration: bool = True
    protocol: Optional[str] = None
    seed: int = 1
    threads: Optional[int] = None
    gpus: int = 1
    machines: int = 1
    machine: int = 0
    master: Optional[str] = None
    fairseq_options: Sequence[str] = ()

    @property
    def in_phases(self) -> bool:
        """Whether the model is trained first, and the estimate on top of it."""
        return not (self.baseline or self.add_wfe or self.start_from or self.estimator in JOINT_ESTIMATORS)

    def phase_of_the_model(self) -> "TrainOptions":
        """Of completed options: what --baseline trains, in a directory within."""
        return replace(self, out=os.path.join(self.out, MODEL), baseline=True, estimator=None)

    def phase_of_the_estimate(self) -> "TrainOptions":
        """Of completed options: what --add-wfe trains on top of that."""
        from wfe_plugin.pipeline.fairseq_options import without_training_options

        preset = PRESETS[self.preset]
        return replace(
            self,
            add_wfe=os.path.join(self.out, MODEL),
            epochs=self.estimate_epochs or preset.estimate_epochs,
            patience=self.estimate_patience or preset.estimate_patience,
            minutes=None,
            best_by="loss",
            fairseq_options=without_training_options(self.fairseq_options),
        )

    def calibrates(self, estimator: Optional[str]) -> bool:
        """Whether a calibration follows the training of an estimate; None: there is none."""
        return self.calibration and estimator is not None and estimator not in JOINT_ESTIMATORS

    @property
    def on_cpu(self) -> bool:
        return "--cpu" in self.fairseq_options

    @property
    def processes(self) -> int:
        return self.gpus * self.machines

    def validate(self) -> None:
        """Raise UserError where options do not go together."""
        if self.start_from and (self.baseline or self.add_wfe or self.estimator):
            raise UserError("--from determines the kind of model; leave out --baseline, --add-wfe and --estimator")
        if self.start_from and not self.preset:
            raise UserError("--from needs --preset mrt")
        if self.baseline and (self.add_wfe or self.estimator):
            raise UserError("--baseline trains no estimate: leave out --add-wfe and --estimator")
        if self.copying and (self.add_wfe or self.start_from):
            raise UserError("--copying cannot be added to a trained model: leave it out")
        if self.preset:
            self.validate_preset(PRESETS[self.preset])
        if self.add_wfe and self.best_by == "nll":
            raise UserError("--best-by nll: --add-wfe does not change the model or its NLL; choose loss or rouge")
        if self.protocol:
            protocol_of(self.protocol)
        if not 0 <= self.machine < self.machines:
            raise UserError(f"--machine must be at least 0 and less than --machines, {self.machines}")
        if self.machines > 1 and not re.fullmatch(r"[^\s:]+:\d+", self.master or ""):
            raise UserError("--machines needs --master HOST:PORT")

    def validate_preset(self, preset: Preset) -> None:
        name = f"--preset {self.preset}"
        if preset.trains_further != bool(self.start_from):
            raise UserError(f"{name} needs --from MODEL" if preset.trains_further else f"{name} does not take --from")
        if not preset.takes_wfe and (self.add_wfe or self.estimator):
            raise UserError(f"the model of {name} cannot have an estimate: leave out --add-wfe and --estimator")
        if self.copying and not preset.can_copy:
            raise UserError(
                f"--copying: the model of {name} cannot copy; choose a preset with LSTMs (paper, medium, small)"
            )
        if self.best_by == "risk" and preset.best_by != "risk":
            raise UserError(f"--best-by risk: {name} does not measure it; choose nll, loss or rouge")
        if preset.batch_size % self.processes:
            raise UserError(
                f"{self.processes} processes cannot share a batch of {preset.batch_size}: the number of processes must divide it"
            )
        managed = MANAGED + (STAGED if len(preset.stages) > 1 else [])
        refuse_managed(self.fairseq_options, managed, "wfe-train")

    def completed(self, preset: str) -> "TrainOptions":
        """The same with this preset, and with its values where none are given."""
        options = replace(self, preset=preset)
        options.validate()
        values = PRESETS[preset]
        epochs, patience = values.epochs, values.patience
        best_by = values.best_by
        if self.add_wfe:
            epochs = self.estimate_epochs or values.estimate_epochs
            patience = self.estimate_patience or values.estimate_patience
            best_by = "loss"
        baseline = self.baseline or not (values.takes_wfe or self.start_from)
        other_model = {"--arch", "-a"}.intersection(self.fairseq_options)
        copying = self.in_phases and values.can_copy and not other_model if self.copying is None else self.copying
        return replace(
            options,
            baseline=baseline,
            fairseq_options=[*([COPYING] if copying else []), *self.fairseq_options],
            estimator=None if baseline or self.start_from else self.estimator or ESTIMATORS[0],
            epochs=self.epochs or epochs,
            patience=self.patience or patience,
            # By likelihood a model that copies is best before its summaries are: on Reuters after four epochs of
            # seven, with three points of ROUGE less on the validation set.
            best_by=self.best_by or ("rouge" if copying else best_by),
        )


def check_processes(options: TrainOptions) -> None:
    """Refuse what fairseq would misunderstand without a word."""
    import torch

    for variable, (program, at_most) in {
        "WORLD_SIZE": ("torchrun", 1),
        "SLURM_STEP_NUM_TASKS": ("srun", options.machines),
        "OMPI_COMM_WORLD_SIZE": ("mpirun", options.machines),
    }.items():
        started = os.environ.get(variable, "1")
        if started.isdigit() and int(started) > at_most:
            raise UserError(
                f"{program} or a job system has started this process as one of several ({variable} is {started}), "
                "and each would train a model of its own. Start wfe-train once per machine: with --gpus and "
                "--machines, it starts the processes itself"
            )
    for option in HALF_PRECISION:
        if option in options.fairseq_options and (options.on_cpu or not torch.cuda.is_available()):
            raise UserError(f"{option} after --: needs a GPU; leave it out, or try --amp")
    found = torch.cuda.device_count()
    if options.gpus > max(found, 1) and not options.on_cpu:
        raise UserError(
            f"--gpus {options.gpus}: this machine has {found} GPUs; for processes on the CPU, add: -- --cpu"
        )
