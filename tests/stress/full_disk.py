"""Disks that fill up in the midst of the work.

    python tests/stress/full_disk.py [--sizes 6] [--only NAME]      (as root, on Linux: it mounts small disks)

Each command works undisturbed first, which tells how much room it needs. Then it works on disks with
parts of that. It must fail with a line that says why, and what has its final name must be whole.
Then the disk grows, and the same command must end as the undisturbed one did.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

TESTS = Path(__file__).resolve().parents[1]
sys.path[0:0] = [str(TESTS), str(TESTS.parent)]

import torch

from helpers import ROOT
from helpers.tiny_training import TINY, options, script_environment, write_text
from results import check, compare_trainings, counts, experiment, experiment_results, same_tensors, tree
from wfe_plugin.pipeline import checkpoints

ENOUGH = 2**26  # bytes
SIZES = (("train", 300), ("valid", 30), ("test", 400))


@dataclass
class Work:
    """A command that writes to `out`, and how two of its results are compared."""

    name: str
    command: Callable[[Path], list]
    compare: Callable[[Path, Path], None]


def works(folder: Path) -> list[Work]:
    sets = write_text(folder, SIZES)
    data, model = folder / "data", folder / "model"
    preprocess = [ROOT / "preprocess.sh", *sets, "--workers", 2, "--out"]
    training = ["--epochs", 3, "--threads", 1]
    run([*preprocess, data], folder / "log")
    run([ROOT / "train.sh", *options(data, model, *training, preset="small"), "--", "--cpu", *TINY], folder / "log")
    decode = [ROOT / "generate.sh", "--model", model, "--beam", 10, "--nbest", 10, "--threads", 1, "--out"]
    frequencies = [
        ROOT / "scripts" / "run_main.sh",
        "wfe_plugin.cli.frequencies",
        "--model",
        model,
        "--data",
        data,
        "--json",
    ]

    def fairseq_train(out):
        command = [Path(sys.executable).with_name("fairseq-train"), data, "--user-dir", ROOT / "wfe_plugin"]
        command += ["--task", "summarization_wfe", "-s", "source", "-t", "target", "--arch", "wfe_lstm_tiny"]
        command += ["--criterion", "nll_wfe", "--optimizer", "adam", "--batch-size", 32, "--max-epoch", 3, "--cpu"]
        return [*command, *TINY, "--save-dir", out]

    def train(out):
        return [ROOT / "train.sh", *options(data, out, *training, preset="small"), "--", "--cpu", *TINY]

    def files(left, right):
        check(tree(left) == tree(right), f"{right}: files")

    def file(left, right):
        check(left.read_bytes() == right.read_bytes(), f"{right}: content")

    def summaries(left, right):
        scores = [json.loads((out / "scores.json").read_text())["systems"][0]["rouge"] for out in (left, right)]
        check(scores[0] == scores[1], f"{right}: {scores}")
        for name in ("summaries.txt", "nbest.tsv"):
            check((left / name).read_bytes() == (right / name).read_bytes(), f"{right}: {name}")

    def models(left, right):
        for name in ("checkpoint1.pt", "checkpoint3.pt", "checkpoint_best.pt", "checkpoint_last.pt"):
            states = [torch.load(out / name)["model"] for out in (left, right)]
            check(same_tensors(*states), f"{right}: {name}")

    def experiments(left, right):
        check(experiment_results(left) == experiment_results(right), f"{right}: results")
        check((right / "experiment.html").exists(), f"{right}: report")

    return [
        Work("preprocess.sh", lambda out: [*preprocess, out], files),
        Work("train.sh", train, compare_trainings),
        Work("generate.sh", lambda out: [*decode, out], summaries),
        Work("wfe-frequencies", lambda out: [*frequencies, out], file),
        Work("wfe-experiment", lambda out: experiment(folder / "experiment.ini", out), experiments),
        Work("fairseq-train", fairseq_train, models),
    ]


def run(command, log: Path) -> int:
    with open(log, "w") as output:
        return subprocess.run(
            [str(word) for word in command], stdout=output, stderr=subprocess.STDOUT, env=script_environment()
        ).returncode


@contextmanager
def disk(place: Path, size: int):
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def room_needed(work: Work, place: Path, log: Path) -> int:
    """Bytes that a disk had to hold at most, while the command wrote to it."""
    most, ended = [0], threading.Event()

    def watch():
        while not ended.is_set():
            state = os.statvfs(place)
            most[0] = max(most[0], (state.f_blocks - state.f_bfree) * state.f_frsize)
            time.sleep(0.002)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        if run(work.command(place / "out"), log):
            sys.exit(f"{work.name} failed undisturbed:\n{log.read_text()}")
    finally:
        ended.set()
        watcher.join()
    return most[0]


def check_whole(work: Work, out: Path, told: str) -> None:
    """What a failed command has said and left."""
    # fairseq's whole log may be shown by none of our commands, or hold a traceback.
    check("No space left on device" in told, f"{work.name} does not say why it failed:\n{told[-1500:]}")
    check("Traceback" not in told, f"{work.name} shows a traceback:\n{told[-3000:]}")
    for path in out.rglob("*") if out.is_dir() else []:
        if (
            any(part.startswith(".") for part in path.relative_to(out).parts)
            or path.suffix == ".tmp"
            or not path.is_file()
        ):
            continue
        try:
            if path.suffix == ".pt":
                checkpoints.load(path)
            elif path.suffix == ".json":
                json.loads(path.read_text(encoding="utf-8"))
        except Exception as error:
            check(False, f"{work.name} left half of {path}: {error}")
        counts["whole files among those left"] += path.suffix in (".pt", ".json")
    if work.name in ("preprocess.sh", "wfe-frequencies"):
        check(not out.exists(), f"{work.name} left {out}")
    if work.name == "generate.sh":
        left = [path.name for path in out.rglob("*") if path.is_file()]
        check(not left, f"generate.sh left {left}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, default=6, help="disks for each command")
    parser.add_argument("--only", default="", metavar="NAME", help="commands whose name this regular expression finds")
    args = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("only root can mount disks")
    with tempfile.TemporaryDirectory(prefix="full-disk-") as name:
        folder, log = Path(name), Path(name) / "log"
        for work in works(folder):
            if not re.search(args.only, work.name):
                continue
            with disk(folder / f"undisturbed {work.name}", ENOUGH) as undisturbed:
                need = room_needed(work, undisturbed, log)
                for number in range(args.sizes):
                    size = int(need * (number + 0.5) / args.sizes)
                    with disk(folder / f"small {work.name} {number}", size) as small:
                        out = small / "out"
                        if run(work.command(out), log) == 0:  # it found room where it had not at first
                            counts["disks that were large enough"] += 1
                        else:
                            counts[f"{work.name}: disks filled up"] += 1
                            check_whole(work, out, log.read_text(errors="replace"))
                        subprocess.run(["mount", "-o", f"remount,size={ENOUGH}", str(small)], check=True)
                        check(
                            run(work.command(out), log) == 0, f"{work.name} does not go on:\n{log.read_text()[-1500:]}"
                        )
                        work.compare(undisturbed / "out", out)
                print(f"{work.name}: needs {need / 1024:.0f} kB; {counts['differences']} faults so far", flush=True)
    for name, count in sorted(counts.items()):
        print(f"{count:5} {name}")
    sys.exit(counts["differences"] > 0)


if __name__ == "__main__":
    main()
