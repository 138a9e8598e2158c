"""The configuration of an experiment: what may be left out, and what is refused."""

import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.experiment_stubs import write
from wfe_plugin.cli import experiment as cli
from wfe_plugin.errors import UserError
from wfe_plugin.experiment.config import read_experiment
from wfe_plugin.experiment.plan import joined

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


DATA = "[data]\ntrain = text/train\nvalid = text/valid\ntest = text/test\n"


EXPERIMENT, TRAINING, SYSTEM = (f"{DATA}[{section}]\n" for section in ("experiment", "training A", "system A"))
SYSTEMS = DATA + "[system A]\ntraining = EncDec\n[system B]\ntraining = EncDec\n"


STANDARD = [
    "EncDec", "EncDec, cap 1", "Rule without training", "EncDec+WFE", "EncDec+copying", "EncDec+copying, rule", "WFE votes",
]  # fmt: skip


def test_the_shortest_configuration_has_the_standard_systems(tmp_path):
    experiment = read_experiment(write(tmp_path / "mine.ini", DATA))
    assert [system.name for system in experiment.systems] == STANDARD
    assert [system.decoding for system in experiment.systems] == [*["off"] * 3, "full", "off", "off", "auto"]
    roles = ["baseline", *["alternative"] * 2, "wfe", *["alternative"] * 2, "wfe"]
    assert [system.role for system in experiment.systems] == roles
    encdec, paper, copying, votes = experiment.trainings
    assert (encdec.estimator, paper.estimator, copying.estimator, votes.estimator) == ("", "paper", "", "votes")
    assert votes.base == copying and copying.options == ("--copying",) and paper.base is None
    assert experiment.judge == encdec
    rule = experiment.systems[2]
    assert rule.options == ("--word-cap", "1")
    assert [option for option, _ in rule.grid] == ["--out-of-source-penalty", "--word-reward"]
    assert (experiment.beams, experiment.seeds, experiment.preset) == ((1, 5, 10), (1,), "small")
    assert (experiment.baseline.name, experiment.proposed.name) == ("EncDec", "WFE votes")
    assert set(experiment.systems[-1].rivals) == set(STANDARD) - {"EncDec, cap 1", "WFE votes"}
    assert experiment.out == tmp_path / "results" and experiment.title == "mine"
    assert experiment.data.arguments[:2] == ("--train", str(tmp_path / "text/train"))
    assert [(test.split, test.protocol) for test in experiment.tests] == [("test", "gigaword")]


def test_other_models_have_the_standard_systems_that_do_not_copy(tmp_path):
    text = DATA + "[experiment]\npreset = transformer-small\n"
    experiment = read_experiment(write(tmp_path / "mine.ini", text))
    assert [system.name for system in experiment.systems] == [name for name in STANDARD if "copying" not in name]
    assert experiment.systems[-1].training.base.name == "EncDec"


def test_own_trainings_have_the_standard_systems_that_they_allow(tmp_path):
    own = DATA + "[training EncDec]\nbaseline = yes\n[training WFE votes]\nestimator = votes\n"
    experiment = read_experiment(write(tmp_path / "mine.ini", own))
    assert [system.name for system in experiment.systems] == [
        "EncDec", "EncDec, cap 1", "Rule without training", "WFE votes",
    ]  # fmt: skip
    assert experiment.systems[3].rivals == ("EncDec", "Rule without training")


def test_outputs_of_other_programs_join_the_standard_systems(tmp_path):
    text = DATA + "[system BART]\noutputs = bart/{set}-{seed}-{beam}.txt\n[test a b]\n[test c]\nsplit = test1\n"
    experiment = read_experiment(write(tmp_path / "mine.ini", text))
    bart = experiment.systems[-1]
    assert len(experiment.systems) == 8 and bart.training is None and bart.role == "alternative"
    assert bart.file(experiment.tests[0], 3, 10) == tmp_path / "bart/a b-3-10.txt"
    assert bart.rivals == ("EncDec",) and None not in experiment.trainings


def test_the_configuration_in_the_help_can_be_read(tmp_path):
    # What is not indented explains it.
    text = textwrap.dedent("".join(line for line in cli.EPILOG.splitlines(True) if line.startswith("  ")))
    text += "[training EncDec+WFE]\n[system EncDec+WFE]\ntraining = EncDec+WFE\n"
    experiment = read_experiment(write(tmp_path / "help.ini", text))
    (test,) = experiment.tests
    assert (test.name, test.split, test.protocol) == ("DUC-2004", "test1", "duc2004")
    assert experiment.title == "My headlines" and experiment.seeds == (1, 2)
    encdec, penalty, bart, wfe = experiment.systems
    assert penalty.grid == (("--repetition-penalty", ("1.1", "1.5", "2")), ("--lenpen", ("0.5", "1")))
    assert [system.role for system in experiment.systems] == ["baseline", "alternative", "alternative", "wfe"]
    assert bart.file(test, 1, 5) == tmp_path / "bart/DUC-2004.txt"
    assert (experiment.tuning_beam, experiment.speed_rounds) == (5, 3)
    assert encdec.options == ("--max-len-b", "30", "--no-repeat-ngram-size", "3")
    assert wfe.decoding == "auto" and wfe.training.options == ("--epochs", "20", "--", "--dropout", "0.4")


def test_files_instead_of_prefixes(tmp_path):
    text = "[data]\ntrain = a.x a.y\nvalid = b.x b.y\ntest = c.x c.y\n  'd d.x' d.y\n"
    text += "options = --gigaword -- --dataset-impl mmap\n"
    arguments = read_experiment(write(tmp_path / "c.ini", text)).data.arguments
    assert arguments[-4:] == ("--gigaword", "--", "--dataset-impl", "mmap")
    assert arguments.count("--test-files") == 2 and str(tmp_path / "d d.x") in arguments


@pytest.mark.parametrize("folder", ["reuters21578", "debian"])
def test_configurations_of_the_examples(folder):
    experiment, compare, table3 = (
        read_experiment(EXAMPLES / folder / f"{name}.ini") for name in ("experiment", "compare", "table3")
    )
    for one in (experiment, compare):
        assert len(one.seeds) == 3 and one.beams == (1, 5, 10)
        assert set(STANDARD) <= {system.name for system in one.systems} and one.proposed.name == "WFE votes"
    # The other configuration has nothing to train or decode again that this one has made.
    assert (compare.out, compare.data, compare.preset) == (experiment.out, experiment.data, experiment.preset)
    assert {replace(system, rivals=()) for system in compare.systems} >= {
        replace(system, rivals=()) for system in experiment.systems
    }
    # Its trainings have other limits, so that none of their models may be taken for the others.
    assert table3.out != experiment.out and (table3.data, table3.preset) == (experiment.data, experiment.preset)
    assert {training.preset for training in table3.trainings} == {
        "small", "abs-small", "ras-lstm-small", "ras-elman-small", "lvt2k-small", "mrt", "transformer-small", "fconv-small"
    }  # fmt: skip
    # Nothing is trained that no system decodes with, and all trainings have the same time.
    assert {system.training for system in table3.systems} == set(table3.trainings)
    for training in table3.trainings:
        minutes = [value for option, value in zip(training.options, training.options[1:]) if option == "--minutes"]
        assert minutes[-1] == ("3" if training.base and not training.further else "5")


def test_the_shifted_configuration_is_the_plain_one_on_other_text():
    plain, shifted = (read_experiment(EXAMPLES / "reuters21578" / f"{name}.ini") for name in ("experiment", "shifted"))
    assert shifted.out != plain.out and shifted.data != plain.data
    assert shifted.systems == plain.systems and (shifted.seeds, shifted.beams) == (plain.seeds, plain.beams)


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
        (DATA + "prepared = d\n", "[data] train: has no effect with 'prepared'"),
        (DATA + "train = b\n", "[data] train: is duplicated (line 5)"),
        (DATA + "[data]\n", "[data] is duplicated"),
        (DATA + "[sytem A]\n", "[sytem]: unknown section"),
        (EXPERIMENT + "beams = ,\n", "[experiment] beams: is empty; write, for example: 1 5 10"),
        (EXPERIMENT + "beams = 1 five\n", "[experiment] beams: 'five' is not a whole number"),
        (EXPERIMENT + "beams = 0\n", "[experiment] beams: '0' is not a whole number of at least 1"),
        (EXPERIMENT + "seeds = 1 1\n", "[experiment] seeds: a number is duplicated"),
        (EXPERIMENT + "preset = big\n", "[experiment] preset: 'big' is not one of paper, "),
        (EXPERIMENT + "baseline = X\n", "[experiment] baseline: 'X' is not one of EncDec"),
        (EXPERIMENT + "training options = 'a\n", "[experiment] training options: No closing quotation"),
        (SYSTEM, "[system A] training: is missing"),
        (SYSTEM + "training = B\n", "[system A] training: 'B' is not one of EncDec, EncDec+copying, EncDec+WFE"),
        (SYSTEM + "training = EncDec\ndecoding = full\n", "estimates no frequencies: choose off or oracle"),
        (DATA + "[system A b]\ntraining = EncDec\n[system a-b]\ntraining = EncDec\n", "too similar to 'A b'"),
        (TRAINING + "add wfe to = B\n", "[training A] add wfe to: 'B' is not one of"),
        (TRAINING + "baseline = yes\nadd wfe to = A\n", "add wfe to: a baseline estimates no frequencies"),
        (TRAINING + "preset = abs\nadd wfe to = A\n", "add wfe to: a baseline estimates no frequencies"),
        (TRAINING + "preset = mrt\n", "[training A] start from: preset mrt needs it"),
        (TRAINING + "start from = A\n", "[training A] start from: preset small does not take it"),
        (TRAINING + "preset = mrt\nstart from = A\n", "[training A] start from: 'A' is not one of"),
        (
            DATA + "[training B]\n[training A]\npreset = mrt\nstart from = B\nbaseline = yes\n",
            "[training A] baseline: has no effect with 'start from'",
        ),
        (
            TRAINING + "preset = abs\n[training B]\nadd wfe to = A\n",
            "[training B] add wfe to: 'A' has another preset, abs",
        ),
        (SYSTEMS + "role = rival\n", "[system B] role: 'rival' is not one of alternative, wfe, oracle"),
        (SYSTEMS + "compare with = C\n", "[system B] compare with: 'C' is not one of A; one per line"),
        (
            SYSTEM + "training = EncDec\ncompare with = B\n",
            "[system A] compare with: there is no other system; leave it out",
        ),
        (SYSTEMS + "compare with =\n", "[system B] compare with: name one system per line, each once"),
        (SYSTEMS + "compare with = A\n  A\n", "[system B] compare with: name one system per line, each once"),
        (SYSTEMS.replace("[system B]", "role = wfe\n[system B]"), "[system A] role: this system is the baseline"),
        (SYSTEMS + "tune =\n", "[system B] tune: is empty; write, for example: --repetition-penalty 1.1"),
        (SYSTEMS + "tune = --lenpen 1\n", "[system B] tune: --lenpen needs at least two values"),
        (SYSTEMS + "tune = 1 2\n", "[system B] tune: a line must begin with an option, not with '1'"),
        (SYSTEMS + "tune = -- --lenpen 1 2\n", "[system B] tune: a line must begin with an option, not with '--'"),
        (SYSTEMS + "tune = --lenpen 1 2 --unkpen 3\n", "--lenpen: a second option belongs on a line of its own"),
        (SYSTEMS + "tune = --lenpen 1 2 1\n", "[system B] tune: --lenpen: a value is duplicated"),
        (SYSTEMS + "tune = --lenpen 1 2\n  --lenpen 3 4\n", "[system B] tune: --lenpen is duplicated"),
        (SYSTEMS + "tune = --lenpen 1 2\ntune = --unkpen 3 4\n", "[system B] tune: is duplicated"),
        (SYSTEMS + "tune = --lenpen 1 2\noptions = -- --lenpen=3\n", "--lenpen is also in 'options'"),
        (SYSTEMS + "tune = --lenpen 1 '2\n", "[system B] tune: No closing quotation"),
        (
            SYSTEMS + "tune = --beam 1 2\n",
            "[system B] tune: --beam: wfe-experiment sets this for wfe-generate; use 'beams' in [experiment]",
        ),
        (TRAINING + "estimator = hurdle\n", "[training A] estimator: 'hurdle' is not one of votes"),
        (TRAINING + "baseline = yes\nestimator = paper\n", "estimator: a baseline estimates no frequencies"),
        (SYSTEM + "outputs = a.txt\ntraining = EncDec\n", "training: has no effect with 'outputs'"),
        (SYSTEM + "outputs = {sed}.txt\n", "[system A] outputs: {sed} is not one of {set}, {seed}, {beam}"),
        (
            SYSTEM + "outputs = a.txt\n[test x]\n[test y]\n",
            "[system A] outputs: there are several test sets: put {set}",
        ),
        (EXPERIMENT + "tuning beam = 1 5\n", "[experiment] tuning beam: give one number only"),
        (EXPERIMENT + "speed rounds = no\n", "[experiment] speed rounds: 'no' is not a whole number"),
        (DATA + "[test D]\nprotocol = duc\n", "[test D] protocol: 'duc' is not one of gigaword, duc2004"),
    ],
)
def test_bad_configurations_name_file_and_key(tmp_path, text, message):
    path = write(tmp_path / "bad.ini", text)
    with pytest.raises(UserError) as refused:
        read_experiment(path)
    assert str(refused.value).startswith(str(path)) and message in str(refused.value)


# All that Runner says on a command line; the report tells of it.
SET = {
    "wfe-train": "--data --out --preset --seed --threads --baseline --estimator --add-wfe --from",
    "wfe-generate": "--model --data --split --out --beam --decoding --wfe-decoding --threads --references --protocol",
    "wfe-preprocess": "--out --overwrite --train --train-files --valid --valid-files --test --test-files",
}


@pytest.mark.parametrize("script, option", [(script, option) for script in SET for option in SET[script].split()])
def test_options_that_the_experiment_sets_itself_are_refused(tmp_path, script, option):
    section, key = {
        "wfe-train": ("experiment", "training options"),
        "wfe-generate": ("experiment", "decoding options"),
        "wfe-preprocess": ("data", "options"),
    }[script]
    for form in (f"{option} x", f"{option}=x"):
        text = DATA + f"{'' if section == 'data' else f'[{section}]'}\n{key} = {form}\n"
        with pytest.raises(UserError) as refused:
            read_experiment(write(tmp_path / "c.ini", text))
        assert f"[{section}] {key}: {option}: wfe-experiment sets this for {script}; " in str(refused.value)


def test_no_such_file(tmp_path):
    with pytest.raises(UserError, match="cannot be read"):
        read_experiment(tmp_path / "missing.ini")
