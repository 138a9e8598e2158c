"""kill -9 at random moments; afterwards everything must be as if nothing had happened.

    python tests/stress/kill_and_resume.py [--kills 20] [--further-kills 16] [--experiment-kills 6]
                                           [--preprocess-kills 6]

Trainings of the paper's preset are killed in the midst of an epoch, while a checkpoint is being
written, around the switch from Adam to SGD and at any moment, then continued, several times
each. In the end the models, validation scores, outputs and their scores must be those of an
undisturbed training, to the last bit. Likewise for trainings of other kinds (--further-kills:
an estimate on top of a model, minimum risk training, a Transformer, unlikelihood with a choice by
ROUGE), for wfe-preprocess and for wfe-experiment.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[0:0] = [str(TESTS), str(TESTS.parent)]

from helpers import ROOT
from helpers.tiny_training import TINY, options, script_environment, write_text
from results import check, compare_trainings, counts, experiment, experiment_results, tree

EPOCHS = 8
SWITCH = 5  # the last epoch of Adam in the paper's preset
KILLS_A_TRAINING = 4
TINY_TRANSFORMER = [
    f"--{side}-{name}={value}"
    for side in ("encoder", "decoder")
    for name, value in (("embed-dim", 8), ("ffn-embed-dim", 8), ("attention-heads", 2), ("layers", 1))
] + ["--log-interval", "1"]
RUNNING = "is running in this directory"
SIZES = (("train", 3000), ("valid", 30), ("test", 40))


class Job:
    """A command in a session of its own, with its output in a file."""

    def __init__(self, command, log):
        self.log = log
        with open(log, "w") as output:
            self.process = subprocess.Popen(
                [str(word) for word in command],
                stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                env=script_environment(), start_new_session=True,
            )  # fmt: skip

    def wait_until(self, condition, interval):
        """Whether the condition came true before the command ended; looks every so many seconds."""
        while self.process.poll() is None:
            if condition():
                return True
            time.sleep(interval)
        return False

    def kill(self, which):
        """SIGKILL for the command and all it started, or for one of both."""
        started = descendants(self.process.pid)
        for pid in {"all": [*started, self.process.pid], "child": started[:1], "parent": [self.process.pid]}[which]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()


def descendants(pid):
    """Processes that a process has started, and those that they started, and so on."""
    children = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found, waiting = [], [pid]
    while waiting:
        waiting[0:1] = new = children.get(waiting[0], [])
        found += new
    return found


def to_the_end(command, log):
    """Run a command; an orphan of an earlier one may have to finish its work first."""
    while True:
        job = Job(command, log)
        if job.process.wait() == 0:
            return
        if RUNNING not in Path(log).read_text():
            sys.exit(f"FAILED: {' '.join(map(str, command))}\n{Path(log).read_text()}")
        counts["waits for an orphan"] += 1


# Training


def moments(out, takes, rng, switches):
    """When to kill, by name: each returns a condition, how often to look, and a further delay.

    All in seconds; an undisturbed training `takes` so many, and may switch to another optimizer.
    """

    def updates():
        try:
            return (out / "train.log").read_text().count("train_inner")
        except OSError:
            return 0

    def epochs():
        return max((int(path.stem[10:]) for path in out.glob("checkpoint[0-9]*.pt")), default=0)

    def in_an_epoch():
        target = updates() + rng.randint(1, 40)
        return (lambda: updates() >= target), 0.05, 0

    def while_writing():
        target = out / f"checkpoint{epochs() + rng.randint(1, 2)}.pt.tmp"
        return target.exists, 0.0005, rng.choice([0, 0, 0.001])

    def at_the_switch():
        return (lambda: epochs() >= SWITCH), 0.05, rng.uniform(0, takes / 3)

    def any_time():
        return (lambda: True), 0, rng.uniform(0, takes)

    return [in_an_epoch, while_writing, *([at_the_switch] if switches else []), any_time]


def train_and_kill(kills, folder, rng):
    """The paper's preset, which goes from Adam to SGD."""
    data = prepare(folder)
    kill_trainings(kills, folder, rng, Trainings("paper", data, "paper", []))


def train_further_and_kill(kills, folder, rng):
    """What is trained on top of a finished model, draws outputs, or is of another family."""
    data, model = prepare(folder), folder / "encdec"
    base = Trainings("encdec", data, "small", ["--baseline"])
    to_the_end(base.command(model), folder / "log")
    further = [
        Trainings("votes", data, "small", ["--add-wfe", model, "--estimator", "votes"]),
        Trainings("mrt", data, "mrt", ["--from", model], ["--mrt-size", 3, "--log-interval", 1]),
        Trainings("transformer", data, "transformer-small", [], TINY_TRANSFORMER),
        Trainings("unlikelihood", data, "small", ["--best-by", "rouge"], ["--criterion", "nll_unlikelihood", *TINY]),
    ]
    for number, trainings in enumerate(further):
        share = kills // len(further) + (number < kills % len(further))
        kill_trainings(share, folder, rng, trainings)


def prepare(folder):
    sets = write_text(folder, SIZES)
    to_the_end([ROOT / "preprocess.sh", *sets, "--out", folder / "data"], folder / "log")
    return folder / "data"


@dataclass
class Trainings:
    """Of one kind, each in a directory of its own."""

    name: str
    data: Path
    preset: str
    own: list  # options of wfe-train
    fairseq: list = field(default_factory=lambda: TINY)

    def command(self, out):
        more = ["--epochs", EPOCHS, "--patience", EPOCHS, "--threads", 1, *self.own]
        return [ROOT / "train.sh", *options(self.data, out, *more, preset=self.preset), "--", "--cpu", *self.fairseq]


def kill_trainings(kills, folder, rng, trainings):
    if not kills:
        return

    def outputs(model):
        out = folder / "outputs" / model.name
        decode = [ROOT / "generate.sh", "--model", model, "--out", out, "--nbest", 3, "--threads", 1]
        decode += ["--input", folder / "test.article"]
        to_the_end(decode, folder / "log")
        return [(out / name).read_text() for name in ("summaries.txt", "nbest.tsv")]

    undisturbed = folder / f"{trainings.name}-undisturbed"
    begun = time.monotonic()
    to_the_end(trainings.command(undisturbed), folder / "log")
    takes = time.monotonic() - begun
    expected = outputs(undisturbed)
    done, attempts, begun = 0, 0, 0
    while done < kills:
        out = folder / f"{trainings.name}-killed{begun}"
        begun += 1
        for _ in range(KILLS_A_TRAINING):
            choices = moments(out, takes, rng, trainings.preset == "paper")
            moment = choices[attempts % len(choices)]
            which = ["all", "all", "child", "parent"][attempts // len(choices) % 4]
            attempts += 1
            condition, interval, delay = moment()
            job = Job(trainings.command(out), folder / "log")
            if job.wait_until(condition, interval):
                time.sleep(delay)
            if job.process.poll() is not None:  # finished, or refused because of an orphan of the last kill
                counts["too late to kill"] += 1
                continue
            job.kill(which)
            done += 1
            counts[f"training killed: {moment.__name__}"] += 1
            counts[f"training killed: {which}"] += 1
            counts[f"training killed: {trainings.name}"] += 1
            counts["unfinished checkpoints left"] += len(list(out.glob("*.pt.tmp")))
            print(f"kill {done} of {trainings.name}: {moment.__name__}, {which}; epochs finished: "
                  f"{sorted(int(p.stem[10:]) for p in out.glob('checkpoint[0-9]*.pt'))}", flush=True)  # fmt: skip
            if done == kills:
                break
        to_the_end(trainings.command(out), folder / "log")
        compare_trainings(undisturbed, out)
        check(outputs(out) == expected, f"outputs of {out}")
        counts["trainings continued to their end"] += 1


# wfe-preprocess


def preprocess_and_kill(kills, folder, rng):
    sets = write_text(folder, SIZES, words="carton cartoon carbon tone bone stone Bonn Boston".split())

    def command(out):
        return [ROOT / "preprocess.sh", *sets, "--out", out, "--tokenize", "--lowercase", "--bpe", "joint",
                "--merges", 20, "--workers", 2]  # fmt: skip

    begun = time.monotonic()
    to_the_end(command(folder / "undisturbed"), folder / "log")
    takes = time.monotonic() - begun
    expected = tree(folder / "undisturbed")
    (folder / "killed").mkdir()
    out = folder / "killed" / "data"
    for number in range(kills):
        shutil.rmtree(out, ignore_errors=True)
        job = Job(command(out), folder / "log")
        time.sleep(rng.uniform(0, takes))
        if job.process.poll() is None:
            job.kill("all")
            counts["preprocess.sh killed"] += 1
        # Either nothing or everything.
        check(not out.exists() or tree(out) == expected, f"preprocess.sh left half of its work, kill {number}")
        to_the_end(command(out), folder / "log")
        check(tree(out) == expected, f"preprocess.sh, kill {number}")
        check(os.listdir(out.parent) == ["data"], f"preprocess.sh, kill {number}: {os.listdir(out.parent)}")


# wfe-experiment


def experiment_and_kill(kills, folder, rng):
    write_text(folder, (("train", 300), ("valid", 30), ("test", 40)))

    def command(name):
        return experiment(folder / f"{name}.ini", out=name)

    def results(name):
        return experiment_results(folder / name)

    begun = time.monotonic()
    to_the_end(command("undisturbed"), folder / "log")
    takes = time.monotonic() - begun
    expected = results("undisturbed")
    assert len(expected) == 7, sorted(expected)
    done = 0
    while done < kills:
        name = f"killed{done}"
        for _ in range(3):
            job = Job(command(name), folder / "log")
            time.sleep(rng.uniform(0.1, 0.7) * takes)
            if job.process.poll() is None:
                job.kill(rng.choice(["all", "all", "parent"]))
                done += 1
                counts["wfe-experiment killed"] += 1
        to_the_end(command(name), folder / "log")
        check(results(name) == expected, f"wfe-experiment {name}")
        counts["experiments continued to their end"] += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--further-kills", type=int, default=16)
    parser.add_argument("--preprocess-kills", type=int, default=6)
    parser.add_argument("--experiment-kills", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", help="keep everything in this directory")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    folder = Path(args.folder or tempfile.mkdtemp(prefix="kill-and-resume-"))
    parts = (
        (preprocess_and_kill, args.preprocess_kills),
        (train_and_kill, args.kills),
        (train_further_and_kill, args.further_kills),
        (experiment_and_kill, args.experiment_kills),
    )
    for part, kills in parts:
        if kills:
            (folder / part.__name__).mkdir(parents=True, exist_ok=True)
            part(kills, folder / part.__name__, rng)
    if not args.folder:
        shutil.rmtree(folder)
    for name, count in sorted(counts.items()):
        print(f"{count:5} {name}")
    sys.exit(counts["differences"] > 0)


if __name__ == "__main__":
    main()
