"""Binarised data to a trained model: what train.sh runs."""

import argparse
import fcntl
import json
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Optional

import torch

from wfe_plugin.evaluation.errors import EvaluationError
from wfe_plugin.evaluation.rouge import rouge
from wfe_plugin.evaluation.rouge_protocol import METRICS
from wfe_plugin.evaluation.text_files import read_lines
from wfe_plugin.models.wfe_model import ESTIMATORS
from wfe_plugin.pipeline import checkpoints, decode
from wfe_plugin.pipeline.base_model import BaseModel
from wfe_plugin.pipeline.binarized import check_set
from wfe_plugin.pipeline.checkpoints import Epoch
from wfe_plugin.pipeline.child import ROOT, run, user_dir
from wfe_plugin.pipeline.display import Display, say
from wfe_plugin.pipeline.errors import PipelineError, told
from wfe_plugin.pipeline.options import positive, positive_number, refuse_managed, seed, split_options
from wfe_plugin.pipeline.presets import PRESETS
from wfe_plugin.pipeline.record import (
    RECORD,
    Progress,
    data_identity,
    difference,
    read_record,
    read_scores,
    vocabularies,
)
from wfe_plugin.pipeline.text import TextError, sha256
from wfe_plugin.pipeline.time_limit import TimeLimit
from wfe_plugin.pipeline.treat import SETTINGS_FILE, SIDES, Treatment
from wfe_plugin.whole_files import write_json, written_whole

LOG = "train.log"
ROUGE = "rouge.json"
# fairseq's data loaders take up to five seconds to notice that their training was interrupted.
LOCK_SECONDS = 8
# Decoding takes longer than validation: of a large validation set, about so many pairs are decoded.
ROUGE_PAIRS = 2000

PRESET_HELP = "\n".join(
    f"  {name:17} {preset.description};\n"
    f"  {'':17} batch {preset.batch_size}, at most {preset.epochs} epochs, patience {preset.patience}"
    for name, preset in PRESETS.items()
)
EPILOG = f"""\
presets:
{PRESET_HELP}

examples:
  train.sh --data prepared --out models/wfe --preset small
  train.sh --data prepared --out models/encdec --preset small --baseline -- --dropout 0.4
  train.sh --data prepared --out models/copying --preset small --add-wfe models/encdec --estimator copying
  train.sh --data prepared --out models/unlikelihood --preset small --baseline -- --criterion nll_unlikelihood
  train.sh --data prepared --out models/mrt --preset mrt --from models/encdec
  train.sh --data gigaword --out models/paper --preset paper --gpus 4

estimators of word frequencies:
  paper    upper bound and gate, with the paper's loss
  hurdle   the probability that a word occurs, and how often it then does, by maximum likelihood
  copying  hurdle, and it sees which words the source has: for summaries that take most of their
           words from the source

The best checkpoint, OUT/{checkpoints.BEST}, is that of the epoch with the best score on the
validation set: the negative log-likelihood of the summaries (nll), the loss that is trained,
which includes the loss of the frequency estimate or of unlikelihood (loss), the mean F1 of
ROUGE-1, -2 and -L with beam 5 (rouge; of a large validation set, every n-th batch, about
{ROUGE_PAIRS} pairs), or with --preset mrt what is missing to that F1 on the whole validation set (risk).
Early stopping goes by nll, by loss with --best-by loss or --add-wfe, or by risk. Training stops
when the score has not improved for --patience epochs, or when another epoch, as long as those so far
on average, would take it beyond --minutes (validation included; what a model was trained before is not).

A training that was interrupted continues after its last finished epoch when the same command is
given again, and ends as it would have ended undisturbed (with --minutes, after as many epochs as the
clock allows). fairseq's whole output is in OUT/{LOG},
as JSON lines among others.

Several GPUs share the batch of the preset. Several machines, which must see the same --data and
--out under the same names: give this command on each, at the same time, with another --machine:
  train.sh ... --gpus 4 --machines 2 --machine 0 --master HOST:PORT    # on HOST
  train.sh ... --gpus 4 --machines 2 --machine 1 --master HOST:PORT
Processes on a CPU instead of GPUs: train.sh ... --gpus 2 -- --cpu
"""

# Options of fairseq-train on which resuming, stopping and choosing depend.
MANAGED = (
    "--save-dir --restore-file --max-epoch --max-update --stop-time-hours --patience --seed --log-format "
    "--best-checkpoint-metric --maximize-best-checkpoint-metric --keep-last-epochs --no-epoch-checkpoints "
    "--no-last-checkpoints --no-save --no-save-optimizer-state --save-interval --save-interval-updates "
    "--validate-interval --validate-interval-updates --disable-validation --stop-min-lr --reset-optimizer "
    "--reset-lr-scheduler --reset-dataloader --reset-meters --finetune-from-model --continue-once "
    "--write-checkpoints-asynchronously --user-dir --task --source-lang --target-lang --without-wfe --wfe-only --wfe-new-head "
    "--wfe-estimator "
    "--distributed-world-size --distributed-rank --distributed-init-method --distributed-port "
    "--distributed-no-spawn --distributed-num-procs --device-id --nprocs-per-node --distributed-backend "
    # The task sets the first; the second changes the batches when a training continues.
    "--required-batch-size-multiple --update-ordered-indices-seed"
).split()
# Those that differ between the phases of a preset: one value for all of them is nothing to wish for.
PHASED = ["--optimizer", "--lr", "--clip-norm"]

# fairseq fails with them on a CPU, some steps later.
HALF_PRECISION = ["--fp16", "--bf16", "--memory-efficient-fp16", "--memory-efficient-bf16"]


def parse(argv: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Our options, and those for fairseq-train."""
    argv, extra = split_options(argv)
    parser = argparse.ArgumentParser(
        prog="train.sh",
        usage="%(prog)s --data DIR --out DIR --preset NAME [options] [-- fairseq options]",
        description="Train a summarizer on data that preprocess.sh has made.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--data", required=True, metavar="DIR", help="directory made by preprocess.sh")
    parser.add_argument("--out", required=True, metavar="DIR", help="directory for the model")
    parser.add_argument("--preset", required=True, choices=list(PRESETS), help="see below")
    parser.add_argument("--baseline", action="store_true", help="no word-frequency estimation: EncDec")
    parser.add_argument(
        "--add-wfe",
        metavar="MODEL",
        help="train word-frequency estimation alone, on top of a model made by train.sh --baseline with the same "
        "preset and the same options of the model, which stays as it is",
    )
    parser.add_argument(
        "--from",
        dest="start_from",
        metavar="MODEL",
        help="for --preset mrt: the model to be trained further, made by train.sh; it says of which size "
        "the new one is, and whether it estimates word frequencies",
    )
    parser.add_argument("--estimator", choices=list(ESTIMATORS), help="see below (default: paper)")
    parser.add_argument("--epochs", type=positive, metavar="N", help="at most so many (default: the preset's)")
    parser.add_argument("--patience", type=positive, metavar="N", help="default: the preset's")
    parser.add_argument(
        "--minutes", type=positive_number, metavar="N", help="at most so long, in whole epochs (default: no limit)"
    )
    parser.add_argument(
        "--best-by",
        choices=("nll", "rouge", "loss", "risk"),
        help="see below (default: nll; loss with --add-wfe; risk with --preset mrt)",
    )
    parser.add_argument("--seed", type=seed, default=1, metavar="N", help="default: %(default)s")
    parser.add_argument("--threads", type=positive, metavar="N", help="threads of each process (default: torch's)")
    parser.add_argument("--gpus", type=positive, default=1, metavar="N", help="on this machine (default: 1)")
    parser.add_argument("--machines", type=positive, default=1, metavar="N", help="default: 1")
    parser.add_argument("--machine", type=int, default=0, metavar="I", help="which one this is, from 0")
    parser.add_argument("--master", metavar="HOST:PORT", help="a free port of machine 0")
    args = parser.parse_args(argv)
    preset = PRESETS[args.preset]
    args.epochs = args.epochs or preset.epochs
    args.patience = args.patience or preset.patience
    if preset.trains_further != bool(args.start_from):
        parser.error(f"--preset {args.preset} " + ("needs --from MODEL" if preset.trains_further else "has no --from"))
    if args.start_from and (args.baseline or args.add_wfe or args.estimator):
        parser.error("--from: the model is what it is; leave out --baseline, --add-wfe and --estimator")
    without = "--baseline" if args.baseline else None if preset.takes_wfe else f"the model of --preset {args.preset}"
    if without and (args.add_wfe or args.estimator):
        parser.error(f"{without} has no word-frequency estimation: leave out --add-wfe and --estimator")
    args.baseline = bool(without)
    args.estimator = args.estimator or "paper"
    if args.add_wfe and args.best_by == "nll":
        parser.error("--best-by nll: --add-wfe leaves the model and its NLL as they are; choose loss or rouge")
    if args.best_by == "risk" and preset.best_by != "risk":
        parser.error(f"--best-by risk: nothing is known of it with --preset {args.preset}")
    args.best_by = args.best_by or ("loss" if args.add_wfe else preset.best_by)
    if not 0 <= args.machine < args.machines:
        parser.error(f"--machine must be less than --machines, {args.machines}, and not negative")
    if args.machines > 1 and not re.fullmatch(r"[^\s:]+:\d+", args.master or ""):
        parser.error("--machines needs --master HOST:PORT")
    if preset.batch_size % (args.gpus * args.machines):
        parser.error(f"the batch of {preset.batch_size} cannot be shared by {args.gpus * args.machines} processes")
    return args, extra


def check_processes(args: argparse.Namespace, extra: list[str]) -> None:
    """Refuse what fairseq would take for something else without a word."""
    for variable, (program, at_most) in {
        "WORLD_SIZE": ("torchrun", 1),
        "SLURM_STEP_NUM_TASKS": ("srun", args.machines),
        "OMPI_COMM_WORLD_SIZE": ("mpirun", args.machines),
    }.items():
        started = os.environ.get(variable, "1")
        if started.isdigit() and int(started) > at_most:
            raise PipelineError(
                f"this process is one of several that {program} or a job system has started ({variable} is "
                f"{started}): each would train a model of its own. Start train.sh once on each machine; "
                "with --gpus and --machines it starts the processes itself"
            )
    for option in HALF_PRECISION:
        if option in extra and ("--cpu" in extra or not torch.cuda.is_available()):
            raise PipelineError(f"{option} after --: needs a GPU; leave it out, or try --amp")
    found = torch.cuda.device_count()
    if args.gpus > max(found, 1) and "--cpu" not in extra:
        raise PipelineError(f"--gpus {args.gpus}: this machine has {found}; for processes on the CPU, add: -- --cpu")


def check_data(directory: Path) -> dict:
    """What preprocess.sh noted about the data; raises if anything is missing."""
    if not directory.is_dir():
        raise PipelineError(f"{directory}: no such directory")
    if os.pathsep in str(directory):
        raise PipelineError(f"{directory}: fairseq takes {os.pathsep!r} in the name for a separator; please rename it")
    Treatment.load(directory)
    for side in SIDES:
        if not (directory / f"dict.{side}.txt").is_file():
            raise PipelineError(f"{directory}: dict.{side}.txt is missing: please run preprocess.sh again")
    for split in ("train", "valid"):
        if not any(directory.glob(f"{split}.{'-'.join(SIDES)}.*")):
            raise PipelineError(f"{directory}: holds no binarised {split} set: please run preprocess.sh again")
        check_set(directory, split)
    return json.loads((directory / SETTINGS_FILE).read_text(encoding="utf-8"))


def describe(args: argparse.Namespace, extra: list[str], data: str, base: Optional[BaseModel]) -> dict:
    """All that must stay the same when a training continues."""
    settings = {
        "preset": args.preset,
        "baseline": args.baseline,
        "best_by": args.best_by,
        "seed": args.seed,
        "data": data,
        "fairseq_options": extra,
        **({"estimator": args.estimator} if args.estimator != "paper" else {}),
    }
    if args.add_wfe:
        settings["add_wfe"] = sha256(str(base.checkpoint))
    elif base:
        settings.update(base.model_settings(), start_from=sha256(str(base.checkpoint)))
    return settings


class Training:
    """One model in one directory, from wherever it is to its end."""

    def __init__(self, args: argparse.Namespace, extra: list[str]):
        self.args, self.extra = args, extra
        self.preset = PRESETS[args.preset]
        self.data, self.out = Path(os.path.abspath(args.data)), Path(os.path.abspath(args.out))
        if ":" in str(self.out):
            raise PipelineError(
                f"{self.out}: generate.sh would take ':' for a separator of models; choose another --out"
            )
        self.prepared = check_data(self.data)
        data = data_identity(self.prepared)
        self.base = None
        if args.add_wfe or args.start_from:
            self.base = BaseModel("--add-wfe" if args.add_wfe else "--from", args.add_wfe or args.start_from)
            self.base.check_data(data)
        if args.add_wfe:
            self.base.check_wfe_can_be_added(args.preset)
        self.limit = TimeLimit(
            args.minutes and 60 * args.minutes, self.base.clock() if self.base and args.minutes else 0.0
        )
        self.record = {
            "settings": describe(args, extra, data, self.base),
            "vocabularies": vocabularies(self.data),
        }
        self.baseline = self.record["settings"]["baseline"]
        self.reached = 0  # epochs of the training that is in the directory, if it was finished
        self.stopped_by_clock = False
        # What other machines log is nothing but repetition, and errors are shown anyway.
        self.log = Path(os.devnull) if args.machine else self.out / LOG

    def run(self) -> None:
        self.out.mkdir(parents=True, exist_ok=True)
        if self.args.machine > 0:  # everything but training itself is the first machine's business
            self.train(inherit=[])
            return
        with self.lock() as descriptor:
            if self.already_done():
                say(f"{self.args.out}: already trained; {self.outcome()}")
                return
            write_json(self.out / RECORD, self.record)
            epochs = self.train(inherit=[descriptor])
            best = self.best_by_rouge(epochs) if self.args.best_by == "rouge" else Progress.of(epochs).best
            self.keep(best, epochs)
            say(f"done: {self.outcome()}: {self.args.out}/{checkpoints.BEST}")

    @contextmanager
    def lock(self) -> Iterator[int]:
        """Hold the directory, as long as a process of this training lives: also one that outlives us."""
        descriptor = os.open(self.out, os.O_RDONLY)
        give_up = time.monotonic() + LOCK_SECONDS
        try:
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > give_up:
                        raise PipelineError(f"{self.args.out}: a training is running in this directory") from None
                    time.sleep(0.2)
            yield descriptor
        finally:
            os.close(descriptor)

    def already_done(self) -> bool:
        """Whether nothing is left to do. Raises if the directory holds something else."""
        if not any(self.out.iterdir()):
            return False
        if not (self.out / RECORD).is_file():
            raise PipelineError(f"{self.args.out}: exists and was not made by train.sh; choose another --out")
        stored = read_record(self.out / RECORD)
        old, new = stored["settings"], self.record["settings"]
        changes = [f"  {key}: " + difference(key, old, new) for key in {**new, **old} if old.get(key) != new.get(key)]
        # A training that failed before its first epoch has nothing to lose.
        if changes and any(self.out.glob("checkpoint*.pt")):
            raise PipelineError(
                "\n".join([f"{self.args.out}: holds a training with other settings:", *changes, "Choose another --out"])
            )
        finished = stored.get("finished")
        if not finished or not (self.out / checkpoints.BEST).exists():
            return False
        progress = Progress(**finished["progress"])
        in_time = self.limit.seconds is not None and self.limit.seconds <= finished.get("stopped_at_seconds", 0)
        if in_time or progress.complete(self.args.epochs, self.args.patience, self.limit):
            self.record = stored
            return True
        self.reached = progress.last
        return False

    def train(self, inherit: list[int]) -> list[Epoch]:
        """Run fairseq-train, once for each phase that is not finished yet."""
        epochs = checkpoints.finished_epochs(self.out)
        progress = Progress.of(epochs)
        if progress.last < self.reached:
            raise PipelineError(
                f"{self.args.out}: trained for {self.reached} epochs; to go on, checkpoint{self.reached}.pt is needed"
            )
        if progress.last:
            say(f"{self.args.out}: continues after epoch {progress.last}")
        while not progress.complete(self.args.epochs, self.args.patience, self.limit):
            self.check_same_data()
            try:
                with open(self.log, "a", encoding="utf-8") as log:
                    run(
                        self.command(progress, epochs[-1].path if epochs else None),
                        f"fairseq-train, whose whole output is in {self.log},",
                        Display(log),
                        threads=self.args.threads,
                        inherit=inherit,
                    )
            except BrokenPipeError:  # nobody reads what is said here any more
                raise
            except OSError as error:  # a full disk, most likely, of which writing does not name the file
                raise PipelineError(f"{error.filename or self.log}: {error.strerror or error}") from None
            before = progress
            epochs = checkpoints.finished_epochs(self.out)
            progress = Progress.of(epochs)
            if progress.last == before.last:  # or it would be started again and again
                raise PipelineError(f"fairseq-train ended without an error, but also without an epoch: see {self.log}")
            if self.limit.seconds and progress.last < self.last_epoch(before):
                # By its clock, which has gone on while the checkpoint was written, or by the patience.
                self.stopped_by_clock = progress.waited < self.args.patience
                break
        return epochs

    def check_same_data(self) -> None:
        """fairseq reads them again in each phase, and epochs are decoded in the end."""
        if data_identity(check_data(self.data)) != self.record["settings"]["data"]:
            raise PipelineError(
                f"{self.args.data}: was prepared anew while a model was trained on it; for the new data, choose another --out"
            )

    def command(self, progress: Progress, last: Optional[Path]) -> list[str]:
        """fairseq-train for the epochs that are left of the present phase, from the last checkpoint."""
        args, phase = self.args, self.preset.phase(progress.last + 1)
        processes = args.gpus * args.machines
        options = [str(self.data), "--user-dir", user_dir(), "--task", "summarization_wfe"]
        options += ["--criterion", "nll_wfe", "--source-lang", SIDES[0], "--target-lang", SIDES[1]]
        options += [*self.preset.options, *phase.options]
        options += self.record["settings"].get("model_options") or self.preset.wfe_options(
            None if args.baseline else args.estimator
        )
        options += ["--wfe-only"] if args.add_wfe else []
        if self.preset.trains_further and not self.baseline:
            # Beside a risk below 1, the loss of the estimate would be all that the encoder learns from.
            options += ["--wfe-detached"]
        if self.base and not progress.last:
            options += ["--finetune-from-model", str(self.base.checkpoint)]
        options += ["--batch-size", str(self.preset.batch_size // processes), "--seed", str(args.seed)]
        for side in SIDES:
            # One more, for the end of the sentence. fairseq would drop longer pairs without telling.
            length = self.prepared["settings"][f"{side}_max_length"] + 1
            options += [f"--max-{side}-positions", str(length)]
        options += ["--skip-invalid-size-inputs-valid-test"]  # preprocess.sh has reported them
        options += ["--save-dir", str(self.out), "--no-last-checkpoints"]
        options += ["--max-epoch", str(self.last_epoch(progress))]
        options += ["--patience", str(args.patience)]
        stop_by = args.best_by
        if stop_by == "rouge":
            stop_by = "loss" if args.add_wfe else self.preset.best_by
        options += ["--best-checkpoint-metric", "nll_loss" if stop_by == "nll" else stop_by]
        if args.best_by != "rouge":  # the best epoch is among the last ones, or training would have stopped
            options += ["--keep-last-epochs", str(args.patience + 1)]
        if last:
            options += ["--restore-file", str(last)]
            if self.preset.phase(progress.last) is not phase:
                options += ["--reset-optimizer"]
        options += ["--log-format", "json", "--distributed-world-size", str(processes)]
        start = [sys.executable]
        if processes > 1:
            backend = "gloo" if "--cpu" in self.extra else "nccl"
            options += ["--distributed-init-method", "env://", "--distributed-no-spawn"]
            options += ["--distributed-backend", backend, "--ddp-backend", "legacy_ddp"]
            # fairseq would send it from the first process to the others as objects that torch refuses to load.
            options += ["--load-checkpoint-on-all-dp-ranks"]
            start = self.torchrun()
        reached = ["none", "0"] if progress.score is None else [repr(progress.score), str(progress.waited)]
        reached += ["none" if self.limit.seconds is None else repr(self.limit.seconds), repr(self.limit.before)]
        return [*start, str(Path(__file__).with_name("train_process.py")), *reached, *options, *self.extra]

    def last_epoch(self, progress: Progress) -> int:
        """That of the present phase."""
        return min(self.args.epochs, self.preset.phase(progress.last + 1).last_epoch or self.args.epochs)

    def torchrun(self) -> list[str]:
        args = self.args
        code = "import sys; sys.path[0] = sys.argv.pop(1); from torch.distributed.run import main; main()"
        start = [sys.executable, "-c", code, str(ROOT), "--nproc-per-node", str(args.gpus)]
        if args.machines == 1:
            return [*start, "--standalone"]
        host, port = args.master.split(":")
        start += ["--nnodes", str(args.machines), "--node-rank", str(args.machine)]
        return [*start, "--master-addr", host, "--master-port", port]

    def best_by_rouge(self, epochs: list[Epoch]) -> int:
        """Decode the validation set with each epoch's model. What has been decoded before is not again."""
        self.check_same_data()
        references = read_lines(self.data / "text" / "valid.target")
        treatment = Treatment.load(self.data)
        stored = self.out / ROUGE
        scores = read_scores(stored)
        for epoch in epochs:
            if str(epoch.number) in scores:
                continue
            found = decode.split(
                decode.Decoding(
                    data=self.data,
                    models=[epoch.path],
                    mode="off" if self.baseline else "full",
                    beam=5,
                    threads=self.args.threads,
                    any_length=not checkpoints.has_positions(checkpoints.load(epoch.path)),
                    extra=["--cpu"] if "--cpu" in self.extra else [],
                ),
                "valid",
                parts=max(1, len(references) // ROUGE_PAIRS),
            )
            result = rouge(
                [treatment.undo(hypotheses[0].text) for hypotheses in found.values()],
                [[references[number]] for number in found],
            )
            scores[str(epoch.number)] = sum(result.headline(metric).value for metric in METRICS) / len(METRICS)
            write_json(stored, scores)
            say(f"epoch {epoch.number}: mean ROUGE F1 {scores[str(epoch.number)]:.2f} on {len(found)} validation pairs")
        return max((epoch.number for epoch in epochs), key=lambda number: scores[str(number)])

    def keep(self, best: int, epochs: list[Epoch]) -> None:
        """Put the best checkpoint in its place, which fairseq may have chosen by another score; all is done."""
        (path,) = [epoch.path for epoch in epochs if epoch.number == best]
        if path.name != checkpoints.BEST:
            with written_whole(self.out / checkpoints.BEST) as unfinished:
                shutil.copyfile(path, unfinished)
        progress = Progress.of(epochs)
        before = self.base.clock() if self.base else 0.0
        self.record["finished"] = {
            "best_epoch": best,
            "progress": progress._asdict(),
            "seconds": round(progress.clock - before, 1),
        }
        if self.stopped_by_clock:
            self.record["finished"]["stopped_at_seconds"] = self.limit.seconds
        write_json(self.out / RECORD, self.record)

    def outcome(self) -> str:
        finished = self.record["finished"]
        return f"{finished['progress']['last']} epochs, the best by {self.args.best_by} is {finished['best_epoch']}"


def main(argv=None) -> int:
    # A terminated run must end its children like an interrupted one.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        args, extra = parse(sys.argv[1:] if argv is None else argv)
        managed = MANAGED + (PHASED if len(PRESETS[args.preset].phases) > 1 else [])
        refuse_managed(extra, managed, "train.sh")
        check_processes(args, extra)
        Training(args, extra).run()
    except (PipelineError, TextError, EvaluationError, OSError) as error:
        print(f"train: error: {told(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("train: interrupted; the same command continues after the last finished epoch", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
