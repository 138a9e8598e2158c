"""wfe-experiment: configuration, resuming, and the report, with stub scripts for the hard work."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from helpers import ROOT
from helpers.experiment_stubs import write
from wfe_plugin.cli import experiment as cli
from wfe_plugin.cli import train
from wfe_plugin.experiment.commands import Command, run_all
from wfe_plugin.experiment.config import ConfigError, joined, read_experiment
from wfe_plugin.experiment.lock import alone_in
from wfe_plugin.experiment.runner import Runner
from wfe_plugin.experiment.steps import Step, StepError
from wfe_plugin.pipeline.errors import told

EXAMPLES = ROOT / "examples"

# Configuration

DATA = "[data]\ntrain = text/train\nvalid = text/valid\ntest = text/test\n"


SYSTEMS = DATA + "[system A]\ntraining = EncDec\n[system B]\ntraining = EncDec\n"


def test_the_shortest_configuration_is_the_papers_experiment(tmp_path):
    experiment = read_experiment(write(tmp_path / "mine.ini", DATA))
    assert [system.name for system in experiment.systems] == [
        "EncDec", "EncDec+WFE", "WFE, strict", "WFE, bound only", "WFE, gate only", "WFE, copying",
        "WFE, oracle",
    ]  # fmt: skip
    decodings = ["off", "full", "strict", "bound", "gate", "full", "oracle"]
    assert [system.decoding for system in experiment.systems] == decodings
    assert [system.role for system in experiment.systems] == ["baseline", *["wfe"] * 5, "oracle"]
    encdec, wfe, copying = experiment.trainings
    assert encdec.baseline and not wfe.baseline and not copying.baseline
    assert copying.base == encdec and wfe.base is None
    assert (experiment.beams, experiment.seeds, experiment.preset) == ((1, 5, 10), (1,), "small")
    assert (experiment.baseline.name, experiment.proposed.name) == ("EncDec", "EncDec+WFE")
    assert experiment.out == tmp_path / "results" and experiment.title == "mine"
    assert experiment.data.arguments[:2] == ("--train", str(tmp_path / "text/train"))
    assert [(test.split, test.protocol) for test in experiment.tests] == [("test", "gigaword")]


def test_own_trainings_have_the_standard_systems_that_they_allow(tmp_path):
    own = DATA + "[training EncDec]\nbaseline = yes\n[training EncDec+WFE]\n"
    experiment = read_experiment(write(tmp_path / "mine.ini", own))
    assert [system.name for system in experiment.systems] == [
        "EncDec", "EncDec+WFE", "WFE, strict", "WFE, bound only", "WFE, gate only", "WFE, oracle",
    ]  # fmt: skip


def test_the_configuration_in_the_help_can_be_read(tmp_path):
    # What is not indented explains it.
    text = textwrap.dedent("".join(line for line in cli.EPILOG.splitlines(True) if line.startswith("  ")))
    text += "[training EncDec+WFE]\n[system EncDec+WFE]\ntraining = EncDec+WFE\n"
    experiment = read_experiment(write(tmp_path / "help.ini", text))
    (test,) = experiment.tests
    assert (test.name, test.split, test.protocol) == ("DUC-2004", "test1", "duc2004")
    assert experiment.title == "My headlines" and experiment.seeds == (1, 2)
    encdec, penalty, wfe = experiment.systems
    assert penalty.grid == (("--repetition-penalty", ("1.1", "1.5", "2")), ("--lenpen", ("0.5", "1")))
    assert [system.role for system in experiment.systems] == ["baseline", "alternative", "wfe"]
    assert (experiment.tuning_beam, experiment.speed_rounds) == (5, 3)
    assert encdec.options == ("--", "--max-len-b", "30", "--no-repeat-ngram-size", "3")
    assert wfe.decoding == "full" and wfe.training.options == ("--epochs", "20", "--", "--dropout", "0.4")


def test_files_instead_of_prefixes(tmp_path):
    text = "[data]\ntrain = a.x a.y\nvalid = b.x b.y\ntest = c.x c.y\n  'd d.x' d.y\n"
    text += "options = --gigaword -- --dataset-impl mmap\n"
    arguments = read_experiment(write(tmp_path / "c.ini", text)).data.arguments
    assert arguments[-4:] == ("--gigaword", "--", "--dataset-impl", "mmap")
    assert arguments.count("--test-files") == 2 and str(tmp_path / "d d.x") in arguments


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*/experiment.ini")), ids=lambda path: path.parent.name)
def test_configurations_of_the_examples(path):
    experiment = read_experiment(path)
    assert len(experiment.seeds) >= 2 and experiment.beams == (1, 5, 10)
    # The other configuration has nothing to train or decode again that this one has made.
    compare = read_experiment(path.with_name("compare.ini"))
    assert (compare.out, compare.data, compare.preset) == (experiment.out, experiment.data, experiment.preset)
    assert set(compare.systems) >= set(experiment.systems)
    assert set(compare.seeds) <= set(experiment.seeds) and set(compare.beams) <= set(experiment.beams)
    table3 = read_experiment(path.with_name("table3.ini"))
    # Its trainings have other limits, so that none of their models may be taken for the others.
    assert table3.out != experiment.out and (table3.data, table3.preset) == (experiment.data, experiment.preset)
    assert {training.preset for training in table3.trainings} == {
        "small", "abs-small", "ras-lstm-small", "ras-elman-small", "lvt2k-small", "mrt", "transformer-small", "fconv-small"
    }  # fmt: skip
    # Nothing is trained that no system decodes with, and all trainings have the same time.
    assert {system.training for system in table3.systems} == set(table3.trainings)
    runner = Runner(table3, jobs=1)
    for training in table3.trainings:
        args, _ = train.parse(runner.train_command(training, 1, 1)[1:])
        assert args.minutes == (3 if args.add_wfe else 5) and args.epochs == 40
    run = path.parent / "run.sh"
    done = subprocess.run([str(run), "--help"], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.startswith("usage: run.sh")
    refused = subprocess.run([str(run), "--nonsense"], stderr=subprocess.PIPE, text=True)
    assert refused.returncode == 2 and "unknown option --nonsense" in refused.stderr
    refused = subprocess.run([str(run), "--config", "nonsense"], stderr=subprocess.PIPE, text=True)
    assert refused.returncode == 1 and f"{path.with_name('nonsense.ini')}: no such file" in refused.stderr


def test_options_are_joined_around_one_separator():
    assert joined((), ()) == ()
    assert joined(("--a", "--", "-b"), ("-c",), ("--", "-d")) == ("--a", "-c", "--", "-b", "-d")


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "[data]: is missing"),
        ("x = 1\n", "line 1: a [section] must come first"),
        (DATA + "nonsense\n", "line 5: expected key = value"),
        ("[data]\ntrain = a\n", "[data] valid: is missing"),
        (DATA + "tst = a\n", "[data] tst: unknown key; did you mean 'test'?"),
        (DATA + "prepared = d\n", "[data] train: has no use beside 'prepared'"),
        (DATA + "train = b\n", "[data] train: stands twice (line 5)"),
        (DATA + "[data]\n", "[data] stands twice"),
        (SYSTEMS + "[system  A]\ntraining = EncDec\n", "[system  A]: stands twice, with other blanks"),
        (DATA + "[sytem A]\n", "[sytem]: unknown section"),
        (DATA + "[experiment]\nbeams = ,\n", "[experiment] beams: is empty; write, for example: 1 5 10"),
        (DATA + "[experiment]\nseeds = ,\n", "[experiment] seeds: is empty; write, for example: 1"),
        (DATA + "[experiment]\ntuning beam = ,\n", "[experiment] tuning beam: is empty"),
        (DATA + "[experiment]\nbeams = 1 five\n", "[experiment] beams: 'five' is not a whole number"),
        (DATA + "[experiment]\nbeams = 0\n", "[experiment] beams: '0' is not a whole number of at least 1"),
        (DATA + "[experiment]\nseeds = 1 1\n", "[experiment] seeds: a number stands twice"),
        (
            DATA + "[experiment]\npreset = big\n",
            "[experiment] preset: 'big' is not one of paper, small, transformer-small",
        ),
        (DATA + "[experiment]\nbaseline = X\n", "[experiment] baseline: 'X' is not one of EncDec"),
        (DATA + "[experiment]\ntraining options = 'a\n", "[experiment] training options: No closing quotation"),
        (DATA + "[system A]\n", "[system A] training: is missing"),
        (DATA + "[system A]\ntraining = B\n", "[system A] training: 'B' is not one of EncDec, EncDec+WFE"),
        (DATA + "[system A]\ntraining = EncDec\ndecoding = full\n", "estimates no frequencies: choose off or oracle"),
        (DATA + "[system A b]\ntraining = EncDec\n[system a-b]\ntraining = EncDec\n", "too much like 'A b'"),
        (DATA + "[training A]\nadd wfe to = B\n", "[training A] add wfe to: 'B' is not one of"),
        (DATA + "[training A]\nbaseline = yes\nadd wfe to = A\n", "add wfe to: a baseline estimates no frequencies"),
        (
            DATA + "[training A]\npreset = big\n",
            "[training A] preset: 'big' is not one of paper, small, transformer-small",
        ),
        (DATA + "[training A]\npreset = abs\nadd wfe to = A\n", "add wfe to: a baseline estimates no frequencies"),
        (DATA + "[training A]\npreset = mrt\n", "[training A] start from: preset mrt needs it"),
        (DATA + "[training A]\nstart from = A\n", "[training A] start from: preset small does not take it"),
        (DATA + "[training A]\npreset = mrt\nstart from = A\n", "[training A] start from: 'A' is not one of"),
        (
            DATA + "[training B]\n[training A]\npreset = mrt\nstart from = B\nbaseline = yes\n",
            "[training A] baseline: has no use beside 'start from'",
        ),
        (
            DATA + "[training A]\npreset = abs\n[training B]\nadd wfe to = A\n",
            "[training B] add wfe to: 'A' has another preset, abs",
        ),
        (SYSTEMS + "role = rival\n", "[system B] role: 'rival' is not one of alternative, wfe, oracle"),
        (SYSTEMS + "compare with = C\n", "[system B] compare with: 'C' is not one of A; one a line"),
        (
            DATA + "[system A]\ntraining = EncDec\ncompare with = B\n",
            "[system A] compare with: there is no other system; leave it out",
        ),
        (SYSTEMS + "compare with =\n", "[system B] compare with: name one system a line, each once"),
        (SYSTEMS + "compare with = A\n  A\n", "[system B] compare with: name one system a line, each once"),
        (SYSTEMS.replace("[system B]", "role = wfe\n[system B]"), "[system A] role: this is the baseline"),
        (SYSTEMS + "tune =\n", "[system B] tune: is empty; write, for example: --repetition-penalty 1.1"),
        (SYSTEMS + "tune = --lenpen\n", "[system B] tune: --lenpen needs two values or more"),
        (SYSTEMS + "tune = --lenpen 1\n", "[system B] tune: --lenpen needs two values or more"),
        (SYSTEMS + "tune = 1 2\n", "[system B] tune: a line must begin with an option, not with '1'"),
        (SYSTEMS + "tune = -- --lenpen 1 2\n", "[system B] tune: a line must begin with an option, not with '--'"),
        (SYSTEMS + "tune = --lenpen 1 2 --unkpen 3\n", "--lenpen: a second option belongs on a line of its own"),
        (SYSTEMS + "tune = --lenpen 1 2 1\n", "[system B] tune: --lenpen: a value stands twice"),
        (SYSTEMS + "tune = --lenpen 1 2\n  --lenpen 3 4\n", "[system B] tune: --lenpen stands twice"),
        (SYSTEMS + "tune = --lenpen 1 2\ntune = --unkpen 3 4\n", "[system B] tune: stands twice"),
        (SYSTEMS + "tune = --lenpen 1 2\noptions = -- --lenpen=3\n", "--lenpen stands in 'options', too"),
        (SYSTEMS + "tune = --lenpen 1 '2\n", "[system B] tune: No closing quotation"),
        (
            SYSTEMS + "tune = --beam 1 2\n",
            "[system B] tune: --beam: wfe-experiment decides on this for generate.sh; use 'beams' in [experiment]",
        ),
        (SYSTEMS + "tune = --wfe-decoding full off\n", "[system B] tune: --wfe-decoding: generate.sh sets this itself"),
        (SYSTEMS + "options = --decoding off\n", "[system B] options: --decoding: wfe-experiment decides on this"),
        (SYSTEMS + "options = -- --beam 3\n", "[system B] options: --beam after --: generate.sh sets this itself"),
        (
            DATA + "options = --lowercase --out x\n",
            "[data] options: --out: wfe-experiment decides on this for preprocess.sh",
        ),
        (DATA + "options = --test-files a b\n", "[data] options: --test-files: wfe-experiment decides on this"),
        (
            DATA + "[training A]\noptions = --epochs 3 --seed 7\n",
            "[training A] options: --seed: wfe-experiment decides on this for train.sh; use 'seeds' in [experiment]",
        ),
        (
            DATA + "[experiment]\ntraining options = -- --save-dir x\n",
            "[experiment] training options: --save-dir after --: train.sh sets this itself",
        ),
        (DATA + "[experiment]\ntuning beam = 1 5\n", "[experiment] tuning beam: one number only"),
        (DATA + "[experiment]\nspeed rounds = no\n", "[experiment] speed rounds: 'no' is not a whole number"),
        (DATA + "[test D]\nprotocol = duc\n", "[test D] protocol: 'duc' is not one of gigaword, duc2004"),
    ],
)
def test_bad_configurations_name_file_and_key(tmp_path, capsys, text, message):
    path = write(tmp_path / "bad.ini", text)
    assert cli.main([str(path)]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"wfe-experiment: error: {path}") and message in error
    assert "Traceback" not in error


# All that Runner says on a command line; the report tells of it.
SET = {
    "train.sh": "--data --out --preset --seed --threads --baseline --add-wfe --from",
    "generate.sh": "--model --data --split --input --out --time-only --beam --decoding --threads --references --protocol",
    "preprocess.sh": "--out --overwrite --train --train-files --valid --valid-files --test --test-files",
}


@pytest.mark.parametrize(
    "script, option", [(script, option) for script in SET for option in [*SET[script].split(), "-h", "--help"]]
)
def test_options_that_the_experiment_sets_itself_are_refused(tmp_path, script, option):
    section, key = {
        "train.sh": ("experiment", "training options"),
        "generate.sh": ("experiment", "decoding options"),
        "preprocess.sh": ("data", "options"),
    }[script]
    for form in (f"{option} x", f"{option}=x"):
        text = DATA + f"{'' if section == 'data' else f'[{section}]'}\n{key} = {form}\n"
        with pytest.raises(ConfigError) as refused:
            read_experiment(write(tmp_path / "c.ini", text))
        assert f"[{section}] {key}: {option}: wfe-experiment decides on this for {script}; " in str(refused.value)


def test_no_such_file(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        read_experiment(tmp_path / "missing.ini")


# Running, with stubs


def test_everything_is_done_once(lab, capsys):
    assert lab.run("--jobs", "2") == 0
    output = capsys.readouterr().out
    assert "training of EncDec+WFE, seed 2: epoch 2: validation nll 7" in output
    calls = lab.calls()
    assert sum(call.startswith("train") for call in calls) == 4 and len(calls) == 12
    assert sum("--baseline" in call for call in calls) == 2
    for name in ("cats.html", "cats.md"):
        assert (lab.out / name).is_file()
    report = (lab.out / "cats.html").read_text()
    assert lab.run() == 0
    assert lab.calls() == []
    assert (lab.out / "cats.html").read_text() == report
    assert not list(lab.out.rglob("*unfinished*"))


def test_wfe_is_added_when_its_base_is_trained(lab, capsys):
    lab.edit(
        "[system EncDec+WFE]\ntraining = EncDec+WFE",
        """
[training EncDec]
baseline = yes
[training Added]
add wfe to = EncDec
options = --estimator copying
[system Added]
training = Added""",
    )
    assert lab.run("--jobs", "1") == 0
    trained = [call for call in lab.calls() if call.startswith("train ")]
    assert len(trained) == 4 and all("--add-wfe" not in call for call in trained[:2])
    for seed, call in zip((1, 2), trained[2:]):
        assert f"--add-wfe {lab.out}/models/EncDec-seed{seed} --seed {seed}" in call
        assert call.endswith("--estimator copying")


def test_trainings_that_build_on_each_other_come_in_turn(lab, capsys):
    lab.edit(
        "[system EncDec+WFE]\ntraining = EncDec+WFE",
        """
[training EncDec]
baseline = yes
[training MRT]
preset = mrt
start from = EncDec
[training Added]
add wfe to = MRT
[system Added]
training = Added""",
    )
    assert lab.run("--jobs", "2") == 0
    trained = [call for call in lab.calls() if call.startswith("train ")]
    kinds = ["--baseline", "--baseline", "--preset mrt --from", "--preset mrt --from", "--add-wfe", "--add-wfe"]
    assert len(trained) == 6
    for kind, call in zip(kinds, trained):
        assert kind in call and sum(word in call for word in ("--baseline", "--from", "--add-wfe")) == 1
    for seed in (1, 2):
        assert any(f"--from {lab.out}/models/EncDec-seed{seed} --seed {seed}" in call for call in trained[2:4])
        assert any(f"--add-wfe {lab.out}/models/MRT-seed{seed} --seed {seed}" in call for call in trained[4:])


def test_a_failure_names_the_log_and_the_next_run_continues(lab, capsys, monkeypatch):
    monkeypatch.setenv("FAIL", "WFE-seed1")
    assert lab.run("--jobs", "1") == 1
    error = capsys.readouterr().err
    assert "training of EncDec+WFE, seed 1 failed with status 1" in error and "no luck today" in error
    assert "EncDec+WFE-seed1.log" in error and "Traceback" not in error
    lab.calls()
    monkeypatch.delenv("FAIL")
    assert lab.run("--jobs", "1") == 0
    trained = lab.calls("train")
    assert len(trained) == 3 and not any("EncDec-seed1" in call for call in trained)


def test_lost_or_half_written_records_are_done_again(lab):
    assert lab.run() == 0
    lab.calls()
    (lab.out / "decodings/test/EncDec-seed1-beam5/record.json").write_text('{"descr')
    (lab.out / "decodings/test/EncDec-seed2-beam1/evaluation.json").unlink()
    assert lab.run() == 0
    (call,) = lab.calls()
    assert call.startswith("generate") and "--beam 5" in call


def test_lost_and_damaged_summaries_are_decoded_again(lab, capsys):
    """Also where the evaluation is there still."""
    assert lab.run() == 0
    lab.calls()
    folder = lab.out / "decodings/test"
    gone, cut = (folder / name / "summaries.txt" for name in ("EncDec-seed1-beam1", "EncDec-seed2-beam5"))
    whole = cut.read_text()
    gone.unlink()
    cut.write_text(whole[:-4])
    capsys.readouterr()
    assert lab.run() == 0
    output = capsys.readouterr().out
    assert f"{gone} is gone; decoded again" in output and f"{cut} has changed; decoded again" in output
    assert len(lab.calls()) == 2 and cut.read_text() == gone.read_text() == whole
    assert lab.run() == 0 and lab.calls() == []


def test_decodings_of_earlier_versions_stay(lab, capsys):
    """Their records tell nothing of the summaries."""
    assert lab.run() == 0
    lab.calls()
    folder = lab.out / "decodings/test/EncDec-seed1-beam1"
    record = json.loads((folder / "record.json").read_text())
    del record["summaries"], record["checksum"]
    (folder / "record.json").write_text(json.dumps(record))
    assert lab.run() == 0 and lab.calls() == []
    (folder / "summaries.txt").write_text("one\n")
    (folder / "evaluation.json").unlink()
    assert lab.run() == 1
    assert f"1 summaries of 3 sentences; remove {folder}, and the same command decodes again" in capsys.readouterr().err
    (folder / "summaries.txt").unlink()
    assert lab.run() == 0 and len(lab.calls()) == 1


@pytest.mark.parametrize(
    "record, fact",
    [
        ("decodings/test/EncDec-seed1-beam5/evaluation.json", "implementation"),
        ("frequencies/test/EncDec+WFE-seed1.json", "result"),
        ("speed/cats/round1.json", "milliseconds"),
    ],
)
def test_records_that_were_edited_are_made_again(lab, record, fact):
    lab.edit("speed rounds = 0", "speed rounds = 1")
    assert lab.run() == 0
    path = lab.out / record
    whole = json.loads(path.read_text())
    without = {key: value for key, value in whole.items() if key != fact}
    older = {key: value for key, value in without.items() if key != "checksum"}
    for damaged in (without, older, {**whole, fact: None}):
        path.write_text(json.dumps(damaged))
        assert lab.run() == 0
        assert json.loads(path.read_text())[fact] == whole[fact]


def test_a_model_without_its_record(lab, tmp_path):
    runner = Runner(read_experiment(lab.config), scripts=lab.scripts)
    for content in ("", "{}", '{"finished": {"progress": {}}}'):
        (tmp_path / "training.json").write_text(content)
        with pytest.raises(StepError, match="training.json: is damaged; remove .* to train anew"):
            runner.model_facts(tmp_path)


def test_new_beams_and_decoding_options_decode_only(lab):
    assert lab.run() == 0
    lab.calls()
    lab.edit("beams = 1 5", "beams = 1 5 10")
    lab.edit("training = EncDec\n", "training = EncDec\noptions = -- --lenpen 2\n")
    assert lab.run() == 0
    calls = lab.calls()
    assert all(call.startswith("generate") for call in calls)
    # Both systems at beam 10, EncDec at the other two as well, for two seeds.
    assert len(calls) == 2 * (2 + 2)
    assert sum("--lenpen 2" in call for call in calls) == 6


def test_changed_training_options_are_noticed(lab, capsys):
    assert lab.run() == 0
    lab.calls()
    lab.edit("beams = 1 5", "beams = 1 5\ntraining options = --epochs 9")
    # train.sh decides: more epochs it would train, anything else it would refuse.
    assert lab.run() == 0
    assert "options: none there, --epochs 9 wanted" in capsys.readouterr().out
    assert len(lab.calls("train")) == 4
    assert lab.run() == 0 and lab.calls() == []


def test_refused_changes_stay_until_overwritten(lab, capsys, monkeypatch):
    assert lab.run() == 0
    lab.calls()
    monkeypatch.setenv("DATA_VERSION", "2")
    monkeypatch.setenv("FAIL", "EncDec-seed1")
    for _ in range(2):
        assert lab.run("--jobs", "1") == 1
        assert "replace what is there with --overwrite" in capsys.readouterr().err
    monkeypatch.delenv("FAIL")
    model = lab.out / "models" / "EncDec-seed1"
    (model / "old checkpoint").touch()
    lab.calls()
    assert lab.run("--jobs", "1", "--overwrite") == 0
    assert not (model / "old checkpoint").exists()
    assert len(lab.calls("generate")) == 8


def test_missing_scripts_and_splits(lab, capsys):
    lab.edit("[system EncDec]", "[test DUC]\nsplit = test1\n[system EncDec]")
    assert lab.run() == 1
    assert "[test DUC] split: the data have no 'test1'" in capsys.readouterr().err
    (lab.scripts / "train.sh").unlink()
    assert lab.run() == 1
    assert "train.sh: not found" in capsys.readouterr().err


@pytest.mark.parametrize(
    "old, new, message",
    [
        (
            "beams",
            "decoding options = --nbest 5\nbeams",
            "[system EncDec]: --nbest 5 needs a --beam of at least as many",
        ),
        ("beams", "decoding options = --bem 5\nbeams", "[system EncDec]: unrecognized arguments: --bem 5"),
        (
            "beams",
            "training options = --epochs many\nbeams",
            "[training EncDec]: argument --epochs: invalid positive number",
        ),
        ("seeds = 1 2", "seeds = 1 99999999999", "[training EncDec]: argument --seed: invalid seed value"),
    ],
)
def test_what_the_scripts_would_refuse_is_refused_before_anything_is_done(lab, capsys, old, new, message):
    lab.edit(old, new)
    assert lab.run() == 1
    assert f"wfe-experiment: error: {lab.config}: {message}" in capsys.readouterr().err
    assert lab.calls() == [] and not lab.out.exists()


def test_lists_of_the_best_are_kept_where_the_beams_allow_it(lab):
    lab.edit("beams = 1 5", "beams = 2 5\ndecoding options = --nbest 2")
    assert lab.run() == 0
    assert all(call.endswith("--nbest 2") for call in lab.calls("generate"))


def test_one_run_at_a_time(lab, capsys):
    with alone_in(lab.out):
        assert lab.run() == 1
    assert f"{lab.out}: an experiment is running in this directory" in capsys.readouterr().err
    assert lab.calls() == [] and os.listdir(lab.out) == []
    assert lab.run() == 0


def test_commands_that_outlive_a_killed_run_keep_the_next_one_away(tmp_path):
    """They would write to its logs and its unfinished directories."""
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from wfe_plugin.experiment.commands import Command, start\n"
        "from wfe_plugin.experiment.lock import alone_in\n"
        "with alone_in(Path('out')):\n"
        "    print(start(Command('long', ['sleep', '61'], Path('long.log'))).pid, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    root = Path(cli.__file__).parents[2]
    killed = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(root)!r})\n{code}"],
        cwd=tmp_path, stdout=subprocess.PIPE, text=True, timeout=60,
    )  # fmt: skip
    left = int(killed.stdout)
    try:
        with pytest.raises(StepError, match="or a command that one has started; wait for its end"):
            with alone_in(tmp_path / "out"):
                pass
    finally:
        os.kill(left, signal.SIGKILL)
    for _ in range(100):  # until the system has put it away
        try:
            with alone_in(tmp_path / "out"):
                return
        except StepError:
            time.sleep(0.05)
    pytest.fail("the lock is left behind")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_full_disks_name_the_file(lab, tmp_path, capsys):
    with pytest.raises(OSError) as full:
        run_all([Command("x", ["/bin/true"], Path("/dev/full"))])
    assert told(full.value) == "/dev/full: No space left on device"
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "cats.md.tmp").symlink_to("/dev/full")
    assert lab.run() == 1
    report = lab.out / "cats.md"
    assert capsys.readouterr().err == f"wfe-experiment: error: {report}: No space left on device\n"
    assert not report.exists()


def test_interruption_ends_what_was_started(tmp_path):
    """The stub would run for a minute; its own child, too."""
    script = write(tmp_path / "long.sh", "#!/bin/sh\nsleep 61 &\necho $! >child\nwait\n")
    script.chmod(0o755)
    code = (
        "import os, signal, sys, threading\n"
        "from pathlib import Path\n"
        "from wfe_plugin.experiment.commands import Command, run_all\n"
        "def watch(command):\n"
        "    if Path('child').exists() and Path('child').read_text():\n"
        "        raise KeyboardInterrupt\n"
        "run_all([Command('long', ['./long.sh'], Path('long.log'))], watch=watch)\n"
    )
    root = Path(cli.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(root)!r})\n{code}"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert "KeyboardInterrupt" in done.stderr
    child = int((tmp_path / "child").read_text())
    status = Path(f"/proc/{child}/stat")
    if Path("/proc/self/stat").exists():
        assert not status.exists() or status.read_text().split()[2] == "Z"


def test_commands_that_cannot_run(tmp_path):
    with pytest.raises(StepError, match="cannot be run"):
        run_all([Command("x", [str(tmp_path / "missing")], tmp_path / "log")])
    with pytest.raises(StepError, match="ended by signal 9"):
        run_all([Command("x", ["/bin/sh", "-c", "kill -9 $$"], tmp_path / "log")])


def test_step_changes(tmp_path):
    record = tmp_path / "r.json"
    step = Step("s", record, {"a": 1, "b": ["x"]})
    assert not step.is_finished() and step.changes() == []
    step.start()
    assert not step.is_finished()
    step.finish(result=5)
    assert step.is_finished() and step.stored()["result"] == 5
    other = Step("s", record, {"a": 2, "b": ["x"]})
    assert not other.is_finished() and other.changes() == ["a: 1 there, 2 wanted"]
