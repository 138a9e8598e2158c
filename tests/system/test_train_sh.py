"""train.sh: presets, what happens after interruptions, and what it refuses."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest
import torch

from helpers import ROOT
from helpers.tiny_training import TINY, options, script_environment
from wfe_plugin.cli import train
from wfe_plugin.errors import UserError
from wfe_plugin.experiment.training_log import read_parameters
from wfe_plugin.pipeline import train as pipeline_train
from wfe_plugin.pipeline.base_model import BaseModel
from wfe_plugin.pipeline.child import run
from wfe_plugin.pipeline.presets import PRESETS

pytestmark = pytest.mark.usefixtures("one_thread")


# The paper's training: killed while it runs SGD, and continued.


@pytest.fixture(scope="module")
def killed(data, tmp_path_factory):
    """A training of the paper's preset, terminated in its second epoch of SGD or soon after."""
    folder = tmp_path_factory.mktemp("real run")
    out = folder / "the model"
    # A trap for scripts that import from the working directory.
    (folder / "json.py").write_text("raise SystemExit('imported from the working directory')")
    own = ["--epochs", "1000", "--patience", "1000", "--threads", "1", "--", "--cpu", *TINY]
    command = [str(ROOT / "train.sh"), *options(os.path.relpath(data, folder), "the model", *own)]
    with subprocess.Popen(
        command, cwd=folder, env=script_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        told = ""
        for line in process.stdout:
            told += line
            if line.startswith("train: epoch 7: "):
                process.send_signal(signal.SIGTERM)
                break
        process.stdout.read()
    assert process.returncode == 143, told
    return out, told


def epochs_of(out):
    return sorted(int(path.stem[10:]) for path in out.glob("checkpoint[0-9]*.pt"))


def log_since(out, start):
    return (out / "train.log").read_text()[start:]


def test_interrupted_in_the_second_phase_it_continues_there(killed, data, capsys):
    out, told = killed
    assert re.search(r"epoch 6: validation nll [0-9.]+, wfe [0-9.]+, loss [0-9.]+", told)
    reached = epochs_of(out)[-1]
    assert reached >= 6
    log = (out / "train.log").read_text()
    # Each phase was started once; the second one from the end of the first, without Adam's state.
    assert re.findall(r"'reset_optimizer': (\w+)", log) == ["False", "True"]
    assert "Loaded checkpoint " + str(out / "checkpoint5.pt") in log

    last = reached + 2
    assert train.main(options(data, out, "--epochs", str(last), "--patience", "1000", "--", "--cpu", *TINY)) == 0
    assert f"continues after epoch {reached}" in capsys.readouterr().out
    rest = log_since(out, len(log))
    assert re.findall(r"'reset_optimizer': (\w+)", rest) == ["False"]
    assert f"Loaded checkpoint {out / f'checkpoint{reached}.pt'}" in rest
    assert epochs_of(out)[-1] == last

    state = torch.load(out / f"checkpoint{last}.pt")
    names = [entry["optimizer_name"] for entry in state["optimizer_history"]]
    assert names == ["TorchAdam", "SGD", "SGD"]
    assert state["last_optimizer_state"]["param_groups"][0]["lr"] == 0.01
    assert state["cfg"]["optimization"]["clip_norm"] == 5
    assert state["cfg"]["task"]["max_source_positions"] == 1025


def test_a_finished_training_says_so(killed, data, capsys):
    out, _ = killed
    last = epochs_of(out)[-1]
    log = (out / "train.log").read_text()
    again = options(data, out, "--epochs", str(last), "--patience", "1000", "--", "--cpu", *TINY)
    assert train.main(again) == 0
    assert f"already trained; {last} epochs, the best by nll is" in capsys.readouterr().out
    assert (out / "train.log").read_text() == log
    record = json.loads((out / "training.json").read_text())["finished"]
    best = record["best_epoch"]
    assert (out / "checkpoint_best.pt").read_bytes() == (out / f"checkpoint{best}.pt").read_bytes()


def test_training_with_unlikelihood(data, tmp_path, capsys):
    """Another criterion after --; the best epoch is still chosen by the NLL."""
    out = tmp_path / "model"
    criterion = ["--criterion", "nll_unlikelihood", "--unlikelihood-weight", "0.5"]
    own = ["--baseline", "--epochs", "2", "--threads", "1"]
    assert train.main(options(data, out, *own, "--", "--cpu", *TINY, *criterion, preset="small")) == 0
    told = capsys.readouterr().out
    assert re.search(r"epoch 2: validation nll [0-9.]+, unlikelihood [0-9.]+, loss [0-9.]+", told)
    assert "the best by nll is 2" in told
    state = torch.load(out / "checkpoint_best.pt")
    assert state["cfg"]["criterion"]["_name"] == "nll_unlikelihood"
    assert state["cfg"]["criterion"]["unlikelihood_weight"] == 0.5
    losses = [float(loss) for loss in re.findall(r'"valid_loss": "([0-9.]+)"', (out / "train.log").read_text())]
    assert losses[1] < losses[0]


def test_wfe_is_added_to_a_trained_model(data, tmp_path, capsys):
    base, out = tmp_path / "encdec", tmp_path / "votes"
    own = ["--epochs", "1", "--", "--cpu", *TINY]
    assert train.main(options(data, base, "--baseline", *own, preset="small")) == 0
    more = ["--add-wfe", str(base), "--estimator", "votes"]
    assert train.main(options(data, out, *more, *own, preset="small")) == 0
    before, after = (torch.load(path / "checkpoint_best.pt")["model"] for path in (base, out))
    assert "wfe_head.votes.weight" in after
    for name, value in before.items():
        assert torch.equal(after[name], value), name
    # It continues as any training, and says what cannot be meant.
    own[1] = "2"
    assert train.main(options(data, out, *more, *own, preset="small")) == 0
    assert json.loads((out / "training.json").read_text())["finished"]["progress"]["last"] == 2
    capsys.readouterr()
    for model, message in (
        (out, "has an estimate already"),
        (tmp_path, "no such file"),
    ):
        new = options(data, tmp_path / "new", "--add-wfe", str(model), *own, preset="small")
        assert train.main(new) == 1
        assert message in capsys.readouterr().err
    assert train.main(options(data, tmp_path / "new", "--add-wfe", str(base), preset="paper")) == 1
    assert "was trained with another --preset" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
    # The base is trained again: what was added belongs to the model that it was.
    state = torch.load(base / "checkpoint_best.pt")
    torch.save({**state, "model": {name: 2 * value for name, value in before.items()}}, base / "checkpoint_best.pt")
    assert train.main(options(data, out, *more, *own, preset="small")) == 1
    assert "add_wfe: another model" in capsys.readouterr().err


def test_minimum_risk_training_starts_from_a_model_and_continues_exactly(data, tmp_path, capsys):
    base = tmp_path / "base"
    own = ["--threads", "1", "--", "--cpu"]
    sizes = [*TINY, "--dropout", "0.2"]
    assert train.main(options(data, base, "--epochs", "1", "--estimator", "votes", *own, *sizes, preset="small")) == 0
    capsys.readouterr()
    # Sizes and estimator come from there; "--log-interval" does not, since it is none of the model's options.
    mrt = [*own, "--mrt-size", "3", "--mrt-max-length", "6", "--mrt-bounded", "--mrt-cost", "rouge-1"]
    for name, parts in (("whole", ["2"]), ("parts", ["1", "2"])):
        for epochs in parts:
            new = ["--from", str(base), "--epochs", epochs, "--patience", "2", *mrt]
            assert train.main(options(data, tmp_path / name, *new, preset="mrt")) == 0
    told = capsys.readouterr().out
    assert re.search(r"epoch 2: validation nll [0-9.]+, wfe [0-9.]+, risk 0\.[0-9]+, loss", told)
    assert "the best by risk is" in told
    before = torch.load(base / "checkpoint_best.pt")
    whole, parts = (torch.load(tmp_path / name / "checkpoint2.pt") for name in ("whole", "parts"))
    assert whole["cfg"]["model"]["dropout"] == 0.2 and whole["cfg"]["criterion"]["_name"] == "mrt"
    assert whole["cfg"]["model"]["wfe_detached"]
    assert whole["cfg"]["common"]["log_interval"] != 1
    assert whole["model"].keys() == before["model"].keys() and "wfe_head.votes.weight" in whole["model"]
    for name, value in whole["model"].items():
        assert torch.equal(parts["model"][name], value), name
    assert not torch.equal(
        before["model"]["decoder.embed_tokens.weight"], whole["model"]["decoder.embed_tokens.weight"]
    )
    # A model that was trained so can be trained so again, or get another estimator of its preset.
    found = [BaseModel("--from", str(path)).model_settings() for path in (base, tmp_path / "whole")]
    assert found[0] == found[1] and found[0]["model_preset"] == "small"


def test_a_model_without_a_record_cannot_be_trained_further(data, tmp_path, capsys):
    (tmp_path / "model.pt").touch()
    assert train.main(options(data, tmp_path / "new", "--from", str(tmp_path / "model.pt"), preset="mrt")) == 1
    assert "training.json is missing: name a model that wfe-train made" in capsys.readouterr().err


def test_after_a_failed_start_the_right_options_may_follow(data, tmp_path, capsys):
    """A mistyped option must not block its directory."""
    out = tmp_path / "model"
    for attempt in ("--foo", "--bar"):
        assert train.main(options(data, out, "--", "--cpu", *TINY, attempt)) == 1
        assert f"unrecognized arguments: {attempt}" in capsys.readouterr().err


def test_other_settings_are_refused_in_the_same_directory(killed, data, capsys):
    out, _ = killed
    assert train.main(options(data, out, "--seed", "3", "--baseline", "--", "--cpu", *TINY)) == 1
    told = capsys.readouterr().err
    assert "holds a training with other settings" in told
    assert "seed: 1 there, 3 wanted" in told and "baseline: False there, True wanted" in told


def test_a_directory_is_for_one_training_at_a_time(killed, data, capsys, monkeypatch):
    out, _ = killed
    with pipeline_train.locked(out, ""):
        monkeypatch.setattr(pipeline_train, "LOCK_SECONDS", 0)
        assert train.main(options(data, out, "--", "--cpu", *TINY)) == 1
    assert "another training is running in this directory" in capsys.readouterr().err


# Early stopping and the choice of the best


def test_patience_is_not_counted_anew_after_a_restart(data, tmp_path, capsys):
    """With a learning rate of 0 nothing improves after the first epoch. Here, two processes go on."""
    out = tmp_path / "still"

    def train_for(epochs, *more):
        own = ["--baseline", "--patience", "2", "--epochs", epochs, *more]
        return train.main(options(data, out, *own, "--", "--cpu", *TINY, "--lr", "0", preset="small"))

    assert train_for("2") == 0
    first = (out / "train.log").read_text()
    assert train_for("9", "--gpus", "2") == 0
    assert "done: 3 epochs, the best by nll is 1" in capsys.readouterr().out
    assert epochs_of(out) == [1, 2, 3]
    assert not any(name.startswith("wfe_head") for name in torch.load(out / "checkpoint_best.pt")["model"])
    rest = log_since(out, len(first))
    assert "training on 2 devices" in rest
    assert f"max sentences per device = {PRESETS['small'].batch_size // 2}" in rest

    assert train_for("20") == 0
    assert "already trained" in capsys.readouterr().out


def test_a_training_ends_in_time_and_goes_on_with_more(data, tmp_path, capsys):
    arguments = options(data, tmp_path / "model", "--baseline", "--epochs", "3", "--threads", "1", preset="small")
    assert train.main([*arguments, "--minutes", "0.0001", "--", *TINY]) == 0
    assert "done: 1 epochs" in capsys.readouterr().out
    assert train.main([*arguments, "--minutes", "0.0001", "--", *TINY]) == 0
    assert "already trained" in capsys.readouterr().out
    assert train.main([*arguments, "--minutes", "5", "--", *TINY]) == 0
    assert epochs_of(tmp_path / "model")[-1] == 3
    base = torch.load(tmp_path / "model" / "checkpoint_best.pt")
    assert read_parameters(tmp_path / "model") == sum(tensor.numel() for tensor in base["model"].values())
    # What the model on top of which it is has taken is not counted, nor in its record.
    arguments = options(data, tmp_path / "added", "--epochs", "2", "--threads", "1", preset="small")
    arguments += ["--add-wfe", str(tmp_path / "model")]
    before = base["extra_state"]["previous_training_time"]
    assert before > 0 and train.main([*arguments, "--minutes", str(100 * before / 60), "--", *TINY]) == 0
    assert epochs_of(tmp_path / "added") == [1, 2]
    finished = json.loads((tmp_path / "added" / "training.json").read_text())["finished"]
    assert finished["seconds"] == pytest.approx(finished["progress"]["clock"] - before, abs=0.06)
    with pytest.raises(SystemExit):
        train.main([*arguments, "--minutes", "0", "--", *TINY])
    assert "--minutes: invalid positive number value: '0'" in capsys.readouterr().err


@pytest.mark.parametrize("more", [[], ["--minutes", "1"]])
def test_errors_of_fairseq_are_one_line(more, data, tmp_path, capsys):
    arguments = options(data, tmp_path / "model", *more, "--", "--cpu", *TINY, "--wfe-epsilon=-1", preset="small")
    assert train.main(arguments) == 1
    (told,) = capsys.readouterr().err.splitlines()
    assert told.startswith("wfe-train: error: fairseq-train") and told.endswith(
        "--wfe-epsilon is -1.0; it must be 0 or more"
    )


# What is refused


def test_missing_data(tmp_path, data, capsys):
    def message(directory):
        assert train.main(options(directory, tmp_path / "out")) == 1
        assert not (tmp_path / "out").exists()
        return capsys.readouterr().err

    assert "nowhere: no such directory" in message(tmp_path / "nowhere")
    broken = tmp_path / "broken"
    broken.mkdir()
    assert "not a data directory made by wfe-preprocess" in message(broken)
    (broken / "treatment.json").write_text((data / "treatment.json").read_text())
    assert "dict.source.txt is missing" in message(broken)
    for side in ("source", "target"):
        (broken / f"dict.{side}.txt").write_text("a 1\n")
    assert "holds no binarised train set" in message(broken)


def test_a_directory_of_something_else_is_never_touched(data, tmp_path, capsys):
    (tmp_path / "thesis.txt").write_text("mine")
    assert train.main(options(data, tmp_path)) == 1
    assert "was not made by wfe-train" in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["thesis.txt"]


def test_a_failing_command_shows_its_last_words():
    lines = []
    script = "import sys; print('one'); sys.stdout.flush(); sys.exit('no such option')"
    with pytest.raises(UserError, match=r"(?s)fairseq-train failed \(exit status 1\):.*no such option"):
        run([sys.executable, "-c", script], "fairseq-train", lines.append)
    assert lines == ["one", "no such option"]
