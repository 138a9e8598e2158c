"""Stub scripts for the tests of wfe-experiment: they do in no time what takes hours."""

import json
import sys
import textwrap
from pathlib import Path

from wfe_plugin.cli import experiment as cli
from wfe_plugin.evaluation import rouge_perl
from wfe_plugin.experiment import commands, run
from wfe_plugin.experiment.runner import Runner


def write(path: Path, text: str) -> Path:
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


PREPROCESS = """\
    import json, os, sys
    out = sys.argv[sys.argv.index("--out") + 1]
    os.makedirs(out + "/text", exist_ok=True)
    open(out + "/text/test.source", "w").write("a long story <b>\\nanother & one\\nthird\\n")
    open(out + "/text/test.target", "w").write("cats & dogs\\none <b>\\na third\\n")
    open(out + "/text/valid.target", "w").write("cats sleep\\ndogs bark\\n")
    json.dump({"version": os.environ.get("DATA_VERSION", "1")}, open(out + "/treatment.json", "w"))
    """
TRAIN = """\
    import json, os, sys
    get = lambda name: sys.argv[sys.argv.index(name) + 1]
    open(os.environ["CALLS"], "a").write("train " + " ".join(sys.argv[1:]) + "\\n")
    os.makedirs(get("--out"), exist_ok=True)
    if os.environ.get("FAIL") and os.environ["FAIL"] in get("--out"):
        sys.exit("train: error: no luck today")
    with open(get("--out") + "/train.log", "w") as log:
        for epoch in (1, 2):
            values = {"epoch": epoch, "valid_nll_loss": str(9 - epoch)}
            if "--baseline" not in sys.argv:
                values["valid_wfe_loss"] = str(5 - epoch)
            if "nll_unlikelihood" in sys.argv:
                values["valid_unlikelihood_loss"] = str(0.5 / epoch)
            log.write("2024 | INFO | valid | " + json.dumps(values) + "\\n")
            print(f"train: epoch {epoch}: validation nll {9 - epoch}", flush=True)
    """
GENERATE = """\
    import os, sys
    get = lambda name: sys.argv[sys.argv.index(name) + 1]
    kind = "speed" if "--time-only" in sys.argv else "tune" if get("--split") == "valid" else "generate"
    open(os.environ["CALLS"], "a").write(kind + " " + " ".join(sys.argv[1:]) + "\\n")
    time = {"off": "1.5s (2.00", "full": "3.0s (1.00"}[get("--decoding")]
    print(f"x | Translated 3 sentences (9 tokens) in {time} sentences/s, 1.00 tokens/s)")
    if kind == "speed":
        sys.exit()
    lines = {"off": ["cats cats & cats", "one one", "third"], "full": ["cats & dogs", "one <b>", "third"]}
    if kind == "tune":  # the penalty that is right is 2; below, words repeat, and above, they are missing
        penalty = float(get("--lenpen"))
        text = ["cats cats", "dogs dogs"] if penalty < 2 else ["cats sleep", "dogs bark"] if penalty < 4 else ["", ""]
        lines = {"off": text, "full": text}
    open(get("--out") + "/summaries.txt", "w").write("".join(line + "\\n" for line in lines[get("--decoding")]))
    """
CONFIG = """\
    [experiment]
    title = Cats & <dogs>
    seeds = 1 2
    beams = 1 5
    speed rounds = 0
    [data]
    train = text/train
    valid = text/valid
    test = text/test
    [system EncDec]
    training = EncDec
    [system EncDec+WFE]
    training = EncDec+WFE
    """


class StubRunner(Runner):
    """Runs stub scripts; no model is there to ask for its size or its estimates."""

    def model_facts(self, model):
        return {"seconds": 90.0, "parameters": 1_234_567, "epochs": 2, "best_epoch": 1}

    def frequencies_command(self, training, seed, test, out):
        result = {
            "true_counts": ["1", "2", ">=3"], "estimates": ["0", "1", "2", "3", ">=4"],
            "matrix": [[1, 4, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]],
            "recall": 80.0, "allowed_recall": 90.0, "mean_allowed_words": 12.5, "sentences": 3,
        }  # fmt: skip
        code = "import sys; open(sys.argv[1], 'w').write(sys.argv[2])"
        return [sys.executable, "-c", code, str(out), json.dumps(result)]


def make_lab(tmp_path, monkeypatch):
    """Runs the command on stubs; `calls` returns what they were asked since it was last called."""
    monkeypatch.setattr(commands, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(rouge_perl, "obstacle", lambda: "not in this test")  # which takes its time
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    for name, code in (("preprocess.sh", PREPROCESS), ("train.sh", TRAIN), ("generate.sh", GENERATE)):
        script = write(scripts / name, f"#!{sys.executable}\n" + textwrap.dedent(code))
        script.chmod(0o755)
    monkeypatch.setattr(
        run, "Runner", lambda experiment, jobs, overwrite: StubRunner(experiment, jobs, overwrite, scripts)
    )
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    write(tmp_path / "cats.ini", CONFIG)

    return Lab(tmp_path, scripts)


class Lab:
    def __init__(self, folder, scripts):
        self.folder, self.scripts = folder, scripts
        self.out, self.config = folder / "results", folder / "cats.ini"

    def run(self, *options):
        return cli.main([str(self.config), *options])

    def edit(self, old, new):
        text = self.config.read_text()
        assert old in text
        self.config.write_text(text.replace(old, new))

    def calls(self, kind=""):
        path = self.folder / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return [line for line in lines if line.startswith(kind)]
