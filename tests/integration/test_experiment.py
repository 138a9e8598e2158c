"""wfe-experiment: running and resuming, with stand-ins for the hard work."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers.experiment_stubs import write
from wfe_plugin.cli import experiment as cli
from wfe_plugin.cli.common import in_words
from wfe_plugin.errors import UserError
from wfe_plugin.experiment import commands
from wfe_plugin.experiment.commands import Command, run_all
from wfe_plugin.experiment.lock import alone_in
from wfe_plugin.experiment.steps import Step

PARSERS = cli.parsers  # the lab has others


def test_everything_is_done_once(lab, capsys):
    assert lab.run("--jobs", "2") == 0
    output = capsys.readouterr().out
    assert "training of EncDec+WFE, seed 2: epoch 2: validation nll 7" in output
    calls = lab.calls()
    kinds = [call.split()[0] for call in calls]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "train": 4, "generate": 8, "explain": 1, "frequencies": 2, "perplexity": 2,
    }  # fmt: skip
    assert sum("--baseline" in call for call in calls) == 2
    for name in ("cats.html", "cats.md"):
        assert (lab.out / name).is_file()
    report = (lab.out / "cats.html").read_text()
    assert lab.run() == 0
    assert lab.calls() == []
    assert (lab.out / "cats.html").read_text() == report
    assert not list(lab.out.rglob("*unfinished*"))


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
estimator = votes
options = --epochs 3
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
        added = f"--estimator votes --add-wfe {lab.out}/models/MRT-seed{seed} --seed {seed}"
        assert any(added in call and call.endswith("--epochs 3") for call in trained[4:])


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
    decoded, judged = lab.calls()
    assert decoded.startswith("generate") and "--beam 5" in decoded and judged.startswith("perplexity")


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
    assert len(lab.calls("generate")) == 2 and cut.read_text() == gone.read_text() == whole
    assert lab.run() == 0 and lab.calls() == []


@pytest.mark.parametrize(
    "record, fact",
    [
        ("decodings/test/EncDec-seed1-beam5/evaluation.json", "implementation"),
        ("frequencies/test/EncDec+WFE-seed1.json", "result"),
        ("decodings/test/EncDec-seed1-beam5/perplexity.json", "perplexity"),
        ("speed/cats/round1.json", "milliseconds"),
    ],
)
def test_records_of_older_versions_are_made_again(lab, record, fact):
    lab.edit("speed rounds = 0", "speed rounds = 1")
    assert lab.run() == 0
    path = lab.out / record
    whole = json.loads(path.read_text())
    path.write_text(json.dumps({key: value for key, value in whole.items() if key != fact}))
    assert lab.run() == 0
    assert type(json.loads(path.read_text())[fact]) is type(whole[fact])


def test_new_beams_and_decoding_options_decode_only(lab):
    assert lab.run() == 0
    lab.calls()
    lab.edit("beams = 1 5", "beams = 1 5 10")
    lab.edit("training = EncDec\n", "training = EncDec\noptions = --lenpen 2\n")
    assert lab.run() == 0
    calls = lab.calls("generate")
    # Both systems at beam 10, EncDec at the other two as well, for two seeds.
    assert len(calls) == 2 * (2 + 2)
    assert sum("--lenpen 2" in call for call in calls) == 6


def test_changed_training_options_are_noticed(lab, capsys):
    assert lab.run() == 0
    lab.calls()
    lab.edit("beams = 1 5", "beams = 1 5\ntraining options = --epochs 9")
    # wfe-train decides: more epochs it would train, anything else it would refuse.
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


def test_missing_splits(lab, capsys):
    lab.edit("[system EncDec]", "[test DUC]\nsplit = test1\n[system EncDec]")
    assert lab.run() == 1
    assert "[test DUC] split: the data have no 'test1'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("beams", "decoding options = --bem 5\nbeams", "[system EncDec]: unrecognized arguments: --bem 5"),
        ("beams", "training options = --epochs many\nbeams", "[training EncDec]: argument --epochs: invalid"),
        ("seeds = 1 2", "seeds = 1 99999999999", "[training EncDec]: argument --seed: invalid seed value"),
    ],
)
def test_what_the_commands_would_refuse_is_refused_before_anything_is_done(lab, old, new, message):
    lab.edit(old, new)
    with pytest.raises(UserError) as refused:
        lab.runner().check(PARSERS())
    assert str(refused.value).startswith(f"{lab.config}: {message}")
    assert lab.calls() == [] and not lab.out.exists()


def test_outputs_of_another_program_take_part_in_everything(lab, capsys):
    lab.config.write_text(lab.config.read_text() + "[system BART]\noutputs = bart-{seed}.txt\n")
    assert lab.run() == 1
    assert f"[system BART] outputs: {lab.folder / 'bart-1.txt'}: no such file" in capsys.readouterr().err
    for seed in (1, 2):
        (lab.folder / f"bart-{seed}.txt").write_text("cats & dogs\n\n")
    assert lab.run() == 1
    assert "bart-1.txt: 2 summaries for 3 sentences" in capsys.readouterr().err
    for seed in (1, 2):
        (lab.folder / f"bart-{seed}.txt").write_text("cats & dogs\n\nthe third\n")
    assert lab.run() == 0
    assert not any("bart" in call for call in lab.calls("generate"))
    text = (lab.out / "cats.md").read_text()
    assert "| Alternatives | BART |" in text and "BART is " in text and "- BART: cats" in text
    results = lab.results().tests[0]
    run = results.runs["BART", 5][0]
    assert run.sentences["gigaword"]["rouge-1"][:2] == [100, 0] and run.perplexity > 0
    # Another file is noticed; the same one is not read again.
    assert lab.run() == 0 and lab.calls() == []
    (lab.folder / "bart-2.txt").write_text("a\nb\nc\n")
    assert lab.run() == 0
    assert lab.calls() == ["perplexity EncDec-seed2 2"] and "BART, beam 5, seed 2" not in capsys.readouterr().err


def test_one_run_at_a_time(lab, capsys):
    with alone_in(lab.out):
        assert lab.run() == 1
    assert f"{lab.out}: an experiment, or a command that it started, is running" in capsys.readouterr().err
    assert lab.calls() == [] and os.listdir(lab.out) == []
    assert lab.run() == 0


def test_commands_that_outlive_a_killed_run_keep_the_next_one_away(tmp_path):
    """They would write to its logs and its unfinished directories."""
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from wfe_plugin.experiment import commands\n"
        "from wfe_plugin.experiment.commands import Command, start\n"
        "commands.executable = lambda name: [name]\n"
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
        with pytest.raises(UserError, match="or a command that it started, is running in this directory; wait until"):
            with alone_in(tmp_path / "out"):
                pass
    finally:
        os.kill(left, signal.SIGKILL)
    for _ in range(100):  # until the system has put it away
        try:
            with alone_in(tmp_path / "out"):
                return
        except UserError:
            time.sleep(0.05)
    pytest.fail("the lock is left behind")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_full_disks_name_the_file(lab, tmp_path, capsys):
    with pytest.raises(OSError) as full:
        run_all([Command("x", ["wfe-train"], Path("/dev/full"))])
    assert in_words(full.value) == "/dev/full: No space left on device"
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
        "from wfe_plugin.experiment import commands\n"
        "from wfe_plugin.experiment.commands import Command, run_all\n"
        "commands.executable = lambda name: [name]\n"
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


def test_a_command_that_was_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(commands, "executable", lambda name: [name])
    with pytest.raises(UserError, match="ended by signal 9"):
        run_all([Command("x", ["/bin/sh", "-c", "kill -9 $$"], tmp_path / "log")])


def test_step_changes(tmp_path):
    record = tmp_path / "r.json"
    step = Step("s", record, {"a": 1, "b": ["x"]})
    assert not step.is_finished() and step.changes() == []
    step.note()
    assert not step.is_finished()
    step.finish(result=5)
    assert step.is_finished() and step.stored()["result"] == 5
    other = Step("s", record, {"a": 2, "b": ["x"]})
    assert not other.is_finished() and other.changes() == ["a: 1 there, 2 wanted"]


def test_examples_are_explained(lab):
    """EncDec+WFE gains on two of three sentences, and most on the first: EncDec has 40 % there, then 50 %."""
    assert lab.run() == 0
    assert lab.calls("explain") == ["explain EncDec+WFE-seed1 0 1"]
    page, text = ((lab.out / f"cats.{suffix}").read_text() for suffix in ("html", "md"))
    assert re.findall(r'title="([^"]*)">([^<]*)</span>', page) == [("0.25", "sto"), ("0.50", "&lt;b&gt;")] * 2
    file = "decodings/test/EncDec+WFE-seed1-beam5/explanations.html"
    assert re.findall(r'href="([^"]*#text-.)"', page) == [f"{file}#text-1", f"{file}#text-2"]
    assert text.count("[why these words?]") == 2 and (lab.out / file).exists()
    assert lab.run() == 0
    assert lab.calls("explain") == []
