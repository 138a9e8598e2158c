"""Stand-ins for the hard work of wfe-experiment: they do in no time what takes hours."""

import sys
import textwrap
from pathlib import Path

from wfe_plugin.cli import experiment as cli
from wfe_plugin.evaluation import rouge_perl
from wfe_plugin.experiment import commands, trainings
from wfe_plugin.experiment.config import read_experiment
from wfe_plugin.experiment.results import collect
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
    open(out + "/text/valid.source", "w").write("cats\\ndogs\\n")
    open(out + "/text/valid.target", "w").write("cats sleep\\ndogs bark\\n")
    names = dict(tokenize=False, unk=False, lowercase=False, digits=False, bpe="none", merges=0)
    settings = {**names, "source_max_length": 9, "target_max_length": 9}
    record = {"settings": settings, "text": {}, "report": {}, "version": os.environ.get("DATA_VERSION", "1")}
    json.dump(record, open(out + "/treatment.json", "w"))
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
# The real worker, whose models say what is written here.
WORKER = """\
    import os, sys
    sys.path[0] = os.environ["ROOT"]
    from wfe_plugin.experiment import worker

    def call(*words):
        open(os.environ["CALLS"], "a").write(" ".join(map(str, words)) + "\\n")

    def search(data, item, every=1):
        kind = "speed" if item["kind"] == "speed" else "tune" if item["split"] == "valid" else "generate"
        call(kind, os.path.basename(item["model"]), *item["arguments"])
        get = lambda name: item["arguments"][item["arguments"].index(name) + 1]
        off = get("--wfe-decoding") == "off"
        lines = ["cats cats & cats", "one one", "third"] if off else ["cats & dogs", "one <b>", "third"]
        if kind == "tune":  # the penalty that is right is 2; below, words repeat, and above, they are missing
            penalty = float(get("--lenpen"))
            right = ["cats sleep", "dogs bark"]
            lines = ["cats cats", "dogs dogs"] if penalty < 2 else right if penalty < 4 else ["", ""]
        return lines, 1.5 if off else 3.0

    def frequencies(data, item):
        call("frequencies", os.path.basename(item["model"]))
        result = {
            "true_counts": ["1", "2", ">=3"], "estimates": ["0", "1", "2", "3", ">=4"],
            "matrix": [[1, 4, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]],
            "recall": 80.0, "allowed_recall": 90.0, "mean_allowed_words": 12.5, "sentences": 3,
        }
        worker.step_of(item).finish(result=result)

    def explain(data, item):
        numbers = item["description"]["numbers"]
        call("explain", os.path.basename(item["model"]), *numbers)
        step = worker.step_of(item)
        step.record.with_suffix(".html").write_text("<p>why</p>")
        step.finish(votes=[[["sto@@", 0.25], ["ry", None], ["<b>", 0.5]] for _ in numbers])

    def perplexity(data, item):
        call("perplexity", os.path.basename(item["model"]), len(item["files"]))
        for number, one in enumerate(item["files"]):
            worker.step_of(one).finish(perplexity=10.0 + number)

    worker.start = lambda threads: None
    worker.search = search
    worker.KINDS.update(explain=explain, frequencies=frequencies, perplexity=perplexity)
    sys.exit(worker.main())
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


def make_lab(tmp_path, monkeypatch):
    """Runs the command on stand-ins; `calls` returns what they were asked since it was last called."""
    monkeypatch.setattr(commands, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(rouge_perl, "obstacle", lambda: "not in this test")  # which takes its time
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    for name, code in (("wfe-preprocess", PREPROCESS), ("wfe-train", TRAIN), ("worker", WORKER)):
        write(scripts / name, code)
    monkeypatch.setattr(commands, "executable", lambda name: [sys.executable, str(scripts / name)])
    # No model is there to ask for its size.
    facts = {"seconds": 90.0, "parameters": 1_234_567, "epochs": 2, "best_epoch": 1}
    monkeypatch.setattr(trainings.Trainings, "facts", lambda self, model: facts)
    monkeypatch.setattr(cli, "parsers", dict)  # which take their time
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("ROOT", str(commands.ROOT))
    write(tmp_path / "cats.ini", CONFIG)
    return Lab(tmp_path, scripts)


class Lab:
    def __init__(self, folder, scripts):
        self.folder, self.scripts = folder, scripts
        self.out, self.config = folder / "results", folder / "cats.ini"

    def run(self, *options):
        return cli.main([str(self.config), *options])

    def runner(self):
        return Runner(read_experiment(self.config), jobs=1)

    def results(self):
        return collect(self.runner())

    def edit(self, old, new):
        text = self.config.read_text()
        assert old in text
        self.config.write_text(text.replace(old, new))

    def calls(self, kind=""):
        path = self.folder / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return [line for line in lines if line.startswith(kind)]
