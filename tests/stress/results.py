"""What the work of the pipelines comes to, for comparisons with undisturbed work."""

import json
import sys
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[0:0] = [str(TESTS), str(TESTS.parent)]

import torch

import wfe_plugin
from helpers import ROOT
from helpers.tiny_training import TINY

wfe_plugin.register()  # lets torch load fairseq's checkpoints

counts = Counter()


def check(condition, message):
    counts["comparisons"] += 1
    if not condition:
        counts["differences"] += 1
        print(f"DIFFERENT: {message}", flush=True)


def same_tensors(left, right):
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same_tensors(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same_tensors, left, right))
    return torch.equal(left, right) if isinstance(left, torch.Tensor) else left == right


def compare_trainings(expected, found):
    records = [outcome(out) for out in (expected, found)]
    check(records[0] == records[1], f"{found}: {records}")
    names = [sorted(path.name for path in out.glob("checkpoint*.pt")) for out in (expected, found)]
    check(names[0] == names[1] and len(names[0]) > 1, f"{found}: {names}")
    for name in names[0]:
        left, right = (torch.load(out / name) for out in (expected, found))
        check(
            left["extra_state"]["val_loss"] == right["extra_state"]["val_loss"], f"{found}: validation loss in {name}"
        )
        check(same_tensors(left["model"], right["model"]), f"{found}: model in {name}")
        states = [state["last_optimizer_state"] for state in (left, right)]
        check(same_tensors(*states), f"{found}: optimizer in {name}")


def outcome(out):
    """What wfe-train noted in the end, but for how long it took."""
    finished = json.loads((out / "training.json").read_text())["finished"]
    del finished["seconds"], finished["progress"]["clock"]
    return finished


def tree(folder):
    """Every file's content, but for fairseq's log, which holds the names of temporary files."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "preprocess.log"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


CONFIG = """\
[experiment]
out = {out}
beams = 2
training options = --epochs 2 -- --cpu {tiny}
[data]
train = train
valid = valid
test = test
[training EncDec+WFE]
[system EncDec+WFE]
training = EncDec+WFE
[system off]
training = EncDec+WFE
decoding = off
"""


def experiment(config, out):
    """The command for a small one, whose configuration is written to a file."""
    config.write_text(CONFIG.format(out=out, tiny=" ".join(TINY)))
    return [ROOT / "scripts" / "run_main.sh", "wfe_plugin.cli.experiment", config, "--jobs", 1]


def experiment_results(out):
    """Outputs, scores and confusion matrices, without when and how they were made."""
    found = {}
    for path in sorted(out.rglob("*")):
        if path.name in ("summaries.txt", "nbest.tsv"):
            found[str(path.relative_to(out))] = path.read_text()
        elif path.name == "evaluation.json" or (path.suffix == ".json" and path.parent.parent.name == "frequencies"):
            content = json.loads(path.read_text())
            for changing in ("description", "finished", "command", "seconds", "versions"):
                content.pop(changing, None)
            found[str(path.relative_to(out))] = content
    return found
