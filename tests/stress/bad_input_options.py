"""Cases of bad_input.py: options and configurations."""

from bad_input_cases import MODULES, TRAINING, Case
from bad_input_world import World
from helpers.bad_world import TASK
from helpers.tiny_training import TINY, options

TRAINING_VALUES = {
    "--wfe-weight": ["-1", "nan", "inf", "x"],
    "--wfe-over-cost": ["-0.2", "nan"],
    "--wfe-under-cost": ["-1", "nan"],
    "--wfe-epsilon": ["-0.25", "nan"],
    "--wfe-power": ["0.5", "-2", "nan"],
    "--label-smoothing": ["-0.1", "1", "2"],
    "--encoder-hidden-size": ["0", "-3", "x"],
    "--decoder-hidden-size": ["0", "-3"],
    "--encoder-layers": ["0", "-1"],
    "--decoder-layers": ["0", "-1"],
    "--encoder-embed-dim": ["0", "-1"],
    "--decoder-embed-dim": ["0", "-1"],
    "--dropout": ["-0.1", "1.5", "nan"],
    "--encoder-states": ["both"],
    "--average-over": ["words"],
}
# Of training, with the options that they need; what is said comes last.
TRAINING_WORDS = [
    (["--arch", "wfe_transformer_small", "--adaptive-softmax-cutoff", "5"], None),
    (["--arch", "abs_small", "--criterion", "mrt", "--mrt-bounded"], "--mrt-bounded"),
    (["--criterion", "mrt", "--mrt-bounded", "--without-wfe"], "--mrt-bounded"),
    (["--criterion", "mrt", "--mrt-alpha", "inf"], "--mrt-alpha"),
    (["--criterion", "mrt", "--mrt-size", "0"], "--mrt-size"),
    (["--wfe-only"], "--finetune-from-model"),
    (["--wfe-new-head"], "--finetune-from-model"),
]  # fmt: skip
DECODING_VALUES = {
    "--wfe-decoding": ["none_such"],
    "--word-cap": ["-1", "x"],
    "--repetition-penalty": ["0.5", "-1", "nan", "inf"],
    "--frequency-penalty": ["-1", "nan", "inf"],
    "--presence-penalty": ["-1", "nan"],
    "--coverage-penalty": ["-1", "nan"],
    "--gnmt-length-penalty": ["-1", "nan"],
    "--no-repeat-ngram-size": ["1000"],
    "--ignore-when-blocking": ["none_such"],
}


def option_cases(w: World):
    yield from training_options(w)
    yield from decoding_options(w)
    yield from options_of_commands(w)
    yield from configurations(w)


def training_options(w: World):
    out = w.open / "new"
    for option, values in TRAINING_VALUES.items():
        for value in values:
            arguments = [w.data, *TASK, *TRAINING, *TINY, "--save-dir", out, f"{option}={value}"]
            yield Case("fairseq-train", f"{option} {value}", arguments, option, out=out)
            if value in ("-1", "-0.25", "0.5", "0", "none_such", "1"):
                arguments = [
                    *options(w.data, out, "--epochs", "1", preset="small"),
                    "--",
                    "--cpu",
                    *TINY,
                    f"{option}={value}",
                ]
                yield Case("wfe-train", f"{option} {value}", arguments, option, out=w.open / "new" / "checkpoint1.pt")
    for words, said in TRAINING_WORDS:
        tiny = [] if "--arch" in words else TINY
        arguments = [w.data, *TASK, *TRAINING, *tiny, "--save-dir", out, *words]
        yield Case("fairseq-train", " ".join(words), arguments, said, out=out)
    for value in ("-1", "nan"):
        arguments = [w.data, *TASK, *TRAINING, *TINY, "--save-dir", out, "--criterion", "nll_unlikelihood"]
        yield Case(
            "fairseq-train",
            f"unlikelihood {value}",
            [*arguments, f"--unlikelihood-weight={value}"],
            "--unlikelihood-weight",
            out=out,
        )


def decoding_options(w: World):
    out = w.open / "new"
    for option, values in DECODING_VALUES.items():
        for value in values:
            more = ["--no-repeat-ngram-size", 2] if "ignore" in option else []
            arguments = [w.data, *TASK, "--path", w.folder / "good.pt", "--cpu", "--max-len-b", 9]
            for command in ("fairseq-generate", "fairseq-interactive"):
                words = [*arguments, *more, f"{option}={value}"]
                yield Case(command, f"{option} {value}", words, option, stdin=b"a b\n")
            if option != "--wfe-decoding" and value in ("-1", "0", "none_such", "1", "nan"):
                arguments = [
                    "--model",
                    w.model,
                    "--out",
                    out,
                    "--threads",
                    1,
                    "--",
                    "--cpu",
                    *more,
                    f"{option}={value}",
                ]
                yield Case("wfe-generate", f"{option} {value}", arguments, option, out=out)


def options_of_commands(w: World):
    out = w.open / "new"
    for option, value in {"--beam": "0", "--nbest": "9", "--decoding": "x", "--threads": "0", "--none-such": "1", "--split": "none_such",
                          "--protocol": "x", "--time-only": "0"}.items():  # fmt: skip
        yield Case(
            "wfe-generate",
            f"{option} {value}",
            ["--model", w.model, "--out", out, option, value],
            value if option == "--split" else option,
            out=out,
        )
    for option, value in {"--epochs": "0", "--patience": "-1", "--seed": "-1", "--threads": "x", "--gpus": "0", "--gpus 2": None, "--machine": "2",
                          "--estimator": "x", "--preset": "x", "--best-by": "x", "--none-such": "1", "--add-wfe": "nowhere"}.items():  # fmt: skip
        words = option.split() if value is None else [option, value]
        yield Case("wfe-train", f"{option} {value}", [*options(w.data, out, preset="small"), *words], option, out=out)
    files = ["--train", w.train, "--valid", w.valid, "--out", out]
    for option, value in {
        "--merges": "0",
        "--workers": "0",
        "--bpe": "x",
        "--none-such": "1",
        "--train": "nowhere",
    }.items():
        yield Case(
            "wfe-preprocess",
            f"{option} {value}",
            [*files, option, value],
            "nowhere" if option == "--train" else option,
            out=out,
        )
    for name, words, said in (("no options", [], "required"), ("unknown", ["--none-such"], "error: ")):
        for command in MODULES:
            known = {"wfe-treat": ["apply", w.data], "wfe-experiment": ["config.ini"], "wfe-frequencies": ["--model", "x", "--data", "x"],
                     "wfe-evaluate": ["--references", "x", "--hypotheses", "x"]}.get(command, []) if words else []  # fmt: skip
            yield Case(command, name, [*known, *words], said)


def configurations(w: World):
    """Of wfe-experiment."""
    out = w.open / "new"
    for name, config in {"none": None, "empty": "", "no section": "a = 1\n", "unknown section": "[nothing]\n", "unknown key": "[experiment]\nnothing = 1\n",
                         "beams": "[experiment]\nbeams = 0\n[data]\nprepared = data\n", "latin-1": "[experiment]\ntitle = caf\xe9\n", "seeds": "[experiment]\nseeds = x\n[data]\nprepared = data\n",
                         "training": "[data]\nprepared = data\n[system a]\ntraining = none_such\n", "tune": "[data]\nprepared = data\n[training E]\n[system a]\ntraining = E\ntune = lenpen\n",
                         "options": "[experiment]\nout = open/new\ntraining options = --none-such 1\n[data]\nprepared = data\n"}.items():  # fmt: skip
        path = w.folder / f"config {name}.ini"
        if config is not None:
            path.write_text(config, encoding="latin-1" if name == "latin-1" else "utf-8")
        said = "--none-such" if name == "options" else path.name
        yield Case("wfe-experiment", f"configuration {name}", [path], said, out=out / "config options.md")
