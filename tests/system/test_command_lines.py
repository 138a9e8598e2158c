"""From text to summaries through fairseq's own command lines, on a toy corpus."""

import functools
import os
import random
import re
import subprocess
import sys

import pytest
from omegaconf import OmegaConf

from helpers import ROOT
from helpers.toy import toy_task
from wfe_plugin.generation.generator import WFESequenceGenerator
from wfe_plugin.models.wfe_lstm import WFELSTMConfig

PLUGIN = ROOT / "wfe_plugin"


def run(command, *arguments, cwd, check=True, text_input=None, **environment):
    """Run one of fairseq's commands; returns all that it printed."""
    result = subprocess.run(
        [sys.executable, "-m", f"fairseq_cli.{command}", *map(str, arguments)],
        cwd=cwd,
        input=text_input,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
    )
    if check:
        assert result.returncode == 0, result.stdout[-3000:]
        return result.stdout
    return result


def hypotheses(output):
    """Best hypothesis of each sentence as fairseq prints them, by number."""
    found = {}
    for number, text in re.findall(r"^H-(\d+)\t[^\t]+\t(.*)$", output, re.MULTILINE):
        found.setdefault(int(number), text)
    return found


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Binarised data: the summary is every other word of the source."""
    folder = tmp_path_factory.mktemp("corpus")
    rng = random.Random(0)
    for split, size in (("train", 200), ("valid", 20), ("test", 20)):
        sources = [rng.choices("abcdefghij", k=rng.randint(2, 8)) for _ in range(size)]
        for suffix, step in (("article", 1), ("title", 2)):
            lines = [" ".join(source[::step]) + "\n" for source in sources]
            (folder / f"{split}.{suffix}").write_text("".join(lines))
    run(
        "preprocess", "-s", "article", "-t", "title", "--trainpref", "train",
        "--validpref", "valid", "--testpref", "test", "--destdir", "data", cwd=folder,
    )  # fmt: skip
    return folder


TRAIN = [
    "data", "--user-dir", PLUGIN, "--task", "summarization_wfe", "--arch", "wfe_lstm_tiny",
    "--criterion", "nll_wfe", "--optimizer", "adam", "--lr", "0.002", "--clip-norm", "10",
    "--batch-size", "32", "--no-progress-bar", "--log-format", "json",
]  # fmt: skip
DECODE = [
    "data", "--user-dir", PLUGIN, "--task", "summarization_wfe", "--batch-size", "8",
    "--max-len-b", "10", "--no-progress-bar",
]  # fmt: skip


@pytest.fixture(scope="module")
def trained(corpus):
    """Two epochs, then resumed for a third, with BLEU measured in validation."""
    first = run(
        "train",
        *TRAIN,
        "--save-dir",
        "wfe",
        "--max-epoch",
        "2",
        cwd=corpus,
    )
    second = run(
        "train", *TRAIN, "--save-dir", "wfe", "--max-epoch", "3", "--eval-bleu",
        "--eval-bleu-args", '{"beam": 2, "max_len_b": 10}', "--eval-bleu-print-samples",
        cwd=corpus,
    )  # fmt: skip
    return first, second


def test_training_logs_each_loss(trained):
    first, _ = trained
    for name in ("valid_loss", "valid_nll_loss", "valid_ppl", "valid_wfe_loss"):
        assert re.search(rf'"{name}": "[0-9.]+"', first)
    losses = re.findall(r'"train_wfe_loss": "([0-9.]+)"', first)
    assert float(losses[-1]) < float(losses[0])


def test_training_resumes(trained, corpus):
    _, second = trained
    assert "Loaded checkpoint wfe/checkpoint_last.pt (epoch 3" in second
    assert (corpus / "wfe" / "checkpoint3.pt").exists()


def test_validation_measures_bleu(trained):
    """That it decodes with the bound is tested without a command line, below."""
    _, second = trained
    assert re.search(r'"valid_bleu": "[0-9.]+"', second)
    assert "example hypothesis:" in second


def test_validation_decodes_with_the_bound():
    task = toy_task(8, eval_bleu=True, eval_bleu_args='{"beam": 2}')
    config = WFELSTMConfig(max_source_positions=9, max_target_positions=9)
    task.build_model(OmegaConf.create({**vars(config), "_name": "wfe_lstm"}))
    assert type(task.sequence_generator) is WFESequenceGenerator
    assert task.sequence_generator.beam_size == 2


@pytest.fixture(scope="module")
def generated(corpus, trained):
    """Runs fairseq-generate on the test set, once for each set of options."""

    @functools.cache
    def generate(*options):
        return run("generate", *DECODE, "--path", "wfe/checkpoint_last.pt", *options, cwd=corpus)

    return generate


def test_generate_in_each_mode(generated):
    outputs = {mode: hypotheses(generated("--wfe-decoding", mode)) for mode in ("bound", "off")}
    outputs["full"] = hypotheses(generated())
    assert all(len(output) == 20 for output in outputs.values())
    assert outputs["full"] != outputs["off"] != outputs["bound"]


def test_interactive_decodes_as_generate_does(corpus, generated):
    """Line by line or all at once, the outputs are those of the test set."""
    sources = (corpus / "test.article").read_text()
    expected = hypotheses(generated())
    output = run(
        "interactive", *DECODE, "--path", "wfe/checkpoint_last.pt", "--buffer-size", "20",
        cwd=corpus, text_input=sources,
    )  # fmt: skip
    assert hypotheses(output) == expected


def test_validate(corpus, trained):
    output = run(
        "validate", "data", "--user-dir", PLUGIN, "--task", "summarization_wfe",
        "--path", "wfe/checkpoint_last.pt", "--batch-size", "8", cwd=corpus,
    )  # fmt: skip
    assert re.search(r"nll_loss [0-9.]+ .*wfe_loss [0-9.]+", output)


HUB = """
import wfe_plugin
from wfe_plugin.models.wfe_lstm import WFELSTMModel
hub = WFELSTMModel.from_pretrained("wfe", "checkpoint_last.pt", data_name_or_path="{data}")
sources = open("test.article").read().splitlines()
for number, summary in enumerate(hub.translate(sources, beam=5, max_len_b=10)):
    print(f"H-{{number}}\\t0\\t{{summary}}")
unbounded = hub.translate(sources, beam=5, max_len_b=10, wfe_decoding="off")
print("without the bound:", *unbounded, sep="|")
"""


def test_hub_interface(corpus, generated):
    result = subprocess.run(
        [sys.executable, "-c", HUB.format(data=corpus / "data")],
        cwd=corpus,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(PLUGIN.parent)},
        check=True,
    )
    assert hypotheses(result.stdout) == hypotheses(generated())
    off = result.stdout.rstrip("\n").split("without the bound:|")[1].split("|")
    assert dict(enumerate(off)) == hypotheses(generated("--wfe-decoding", "off"))


def test_ensemble_of_two(generated):
    output = generated("--path", "wfe/checkpoint1.pt:wfe/checkpoint3.pt")
    assert len(hypotheses(output)) == 20
    scores = re.findall(r"^H-\d+\t(\S+)", output, re.MULTILINE)
    assert scores != re.findall(r"^H-\d+\t(\S+)", generated(), re.MULTILINE)


def test_model_without_head_says_what_to_do(corpus):
    run("train", *TRAIN, "--without-wfe", "--save-dir", "baseline", "--max-epoch", "1", cwd=corpus)
    arguments = [*DECODE, "--path", "baseline/checkpoint_last.pt"]
    refused = run("generate", *arguments, "--wfe-decoding", "full", cwd=corpus, check=False)
    assert refused.returncode != 0
    assert "use auto or off" in refused.stdout.splitlines()[-1]
    assert refused.stdout.splitlines()[-1].startswith("fairseq-generate: error: ")
    assert "Traceback" not in refused.stdout
    output = run("generate", *arguments, cwd=corpus)
    assert len(hypotheses(output)) == 20
