"""train.sh, when files are gone or damaged, data change, or clocks go on: nothing is lost, and nothing silently wrong."""

import json
import os
from pathlib import Path

import pytest
import torch

from helpers.tiny_training import TINY, options, prepare
from wfe_plugin.cli import train
from wfe_plugin.errors import UserError
from wfe_plugin.pipeline import checkpoints, training
from wfe_plugin.pipeline.best_epoch import best_by_rouge
from wfe_plugin.pipeline.checkpoints import Epoch
from wfe_plugin.pipeline.record import Progress, read_record
from wfe_plugin.pipeline.train import planned


def training_of(data, out, *more, preset="small"):
    return planned(train.parse(options(data, out, *more, preset=preset)))


# Learning rates that depend on the scores of epochs


def test_a_schedule_that_goes_by_scores_goes_on_as_it_would_have(data, tmp_path):
    """Two bad epochs halve the rate; the training is interrupted in between."""
    schedule = "--optimizer adam --lr 0.5 --lr-scheduler reduce_lr_on_plateau --lr-patience 1 --lr-threshold 0.9"
    schedule = f"{schedule} --lr-shrink 0.5".split()
    for name, parts in (("whole", "4"), ("parts", "24")):
        for epochs in parts:
            own = ["--baseline", "--epochs", epochs, "--patience", "9", "--threads", "1"]
            arguments = options(data, tmp_path / name, *own, "--", "--cpu", *TINY, *schedule, preset="small")
            assert train.main(arguments) == 0
    for epoch in range(1, 5):
        whole, parts = (torch.load(tmp_path / name / f"checkpoint{epoch}.pt") for name in ("whole", "parts"))
        assert parts["extra_state"]["val_loss"] == whole["extra_state"]["val_loss"], epoch
        rates = [state["last_optimizer_state"]["param_groups"][0]["lr"] for state in (whole, parts)]
        assert rates[0] == rates[1], epoch
    assert rates[0] < 0.5  # or there was nothing to see


# Checkpoints


def save_epoch(path, number, score):
    state = {"val_loss": score, "train_iterator": {"epoch": number + 1}, "previous_training_time": 10.0 * number}
    torch.save({"model": {}, "cfg": {}, "extra_state": state}, path)


def test_the_best_epoch_may_be_left_under_that_name_alone(data, tmp_path):
    """As a user may delete large files: the training goes on, and the best stays the best."""
    save_epoch(tmp_path / "checkpoint6.pt", 6, 3.3)
    save_epoch(tmp_path / "checkpoint_best.pt", 5, 3.2)
    save_epoch(tmp_path / "checkpoint_last.pt", 7, 1.0)  # not ours
    epochs = checkpoints.finished_epochs(tmp_path)
    assert epochs == [
        Epoch(5, tmp_path / "checkpoint_best.pt", 3.2, 50.0),
        Epoch(6, tmp_path / "checkpoint6.pt", 3.3, 60.0),
    ]
    content = (tmp_path / "checkpoint_best.pt").read_bytes()
    training = training_of(data, tmp_path)
    training.keep(5, epochs)
    assert (tmp_path / "checkpoint_best.pt").read_bytes() == content
    assert json.loads((tmp_path / "training.json").read_text())["finished"]["progress"]["waited"] == 1
    # The same epoch under both names is one epoch; a damaged one is no loss then.
    save_epoch(tmp_path / "checkpoint5.pt", 5, 3.2)
    assert [epoch.path.name for epoch in checkpoints.finished_epochs(tmp_path)] == ["checkpoint5.pt", "checkpoint6.pt"]
    (tmp_path / "checkpoint_best.pt").write_bytes(content[:50])
    assert [epoch.number for epoch in checkpoints.finished_epochs(tmp_path)] == [5, 6]


def test_a_damaged_epoch_is_named_with_a_remedy(tmp_path):
    (tmp_path / "checkpoint3.pt").write_text("junk")
    with pytest.raises(UserError, match="checkpoint3.pt.*Remove this file, and the training continues"):
        checkpoints.finished_epochs(tmp_path)


def test_what_a_training_continues_from_must_be_there(data, tmp_path, capsys):
    training = training_of(data, tmp_path / "model")
    (tmp_path / "model").mkdir()
    epochs = [Epoch(number, tmp_path / "model" / f"checkpoint{number}.pt", 1.0, 0.0) for number in (1, 2)]
    for epoch in epochs:
        save_epoch(epoch.path, epoch.number, epoch.score)
    training.keep(1, epochs)
    epochs[1].path.unlink()
    assert train.main(options(data, tmp_path / "model", "--epochs", "3", preset="small")) == 1
    assert "checkpoint2.pt is missing; the training cannot continue" in capsys.readouterr().err


# The record


GOOD = {"best_epoch": 1, "progress": {"last": 1, "best": 1, "score": 1.0, "waited": 0, "clock": 5.0}, "seconds": 5}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda record: [],
        lambda record: {**record, "settings": []},
        lambda record: {**record, "settings": {**record["settings"], "preset": "none_such"}},
        lambda record: {"settings": {k: v for k, v in record["settings"].items() if k != "baseline"}},
        lambda record: {**record, "finished": 5},
        lambda record: {**record, "finished": {**GOOD, "progress": {"x": 1}}},
    ],
)
def test_a_damaged_record_is_told(spoil, data, tmp_path, capsys):
    record = training_of(data, tmp_path).record
    path = tmp_path / "training.json"
    path.write_text(json.dumps({**record, "finished": GOOD}))
    assert read_record(path)["finished"] == GOOD
    path.write_text(json.dumps(spoil(record)))
    torch.save({}, tmp_path / "checkpoint_best.pt")
    assert train.main(options(data, tmp_path, preset="small")) == 1
    assert f"wfe-train: error: {path}: damaged, or changed by hand" in capsys.readouterr().err
    arguments = options(data, tmp_path / "new", "--from", str(tmp_path), preset="mrt")
    assert train.main(arguments) == 1
    assert f"wfe-train: error: --from: {path}: damaged, or changed by hand" in capsys.readouterr().err


# What happens meanwhile


@pytest.fixture
def stubbed(monkeypatch):
    """fairseq-train, once a phase: does as it is told, and leaves these epochs."""

    def stub(epochs, meanwhile=lambda: None):
        started = []

        def run(command, *_, **__):
            started.append(command)
            meanwhile()

        found = iter(epochs)
        monkeypatch.setattr(training, "run", run)
        monkeypatch.setattr(checkpoints, "finished_epochs", lambda directory: next(found))
        return started

    return stub


def test_data_that_were_prepared_anew_are_not_trained_on(tmp_path, stubbed):
    """Between Adam and SGD, fairseq reads them again."""
    data = prepare(tmp_path)
    settings = data / "treatment.json"
    other = json.loads(settings.read_text())
    other["text"]["train.source"] = "changed"
    begun = training_of(data, tmp_path, preset="paper")
    started = stubbed(
        [[], [Epoch(5, Path("checkpoint5.pt"), 1.0, 0.0)]], lambda: settings.write_text(json.dumps(other))
    )
    with pytest.raises(UserError, match="my data: was prepared again"):
        begun.train(inherit=[])
    assert len(started) == 1
    with pytest.raises(UserError, match="was prepared again"):
        best_by_rouge(begun, [])


def test_a_training_that_ended_in_time_has_ended(data, tmp_path, stubbed):
    """fairseq's clock goes on while a checkpoint is written: the checkpoint tells of less time."""
    out = tmp_path / "model"
    out.mkdir()
    save_epoch(out / "checkpoint1.pt", 1, 2.0)
    epochs = [Epoch(1, out / "checkpoint1.pt", 2.0, clock=5.0)]
    begun = training_of(data, out, "--minutes", "0.2")
    stubbed([[], epochs])
    assert begun.train(inherit=[]) == epochs
    begun.keep(1, epochs)
    assert not Progress.of(epochs).complete(12, 3, begun.limit)  # as far as the checkpoint tells
    assert training_of(data, out, "--minutes", "0.2").already_done()
    assert training_of(data, out, "--minutes", "0.1").already_done()
    assert not training_of(data, out, "--minutes", "0.3").already_done()
    assert not training_of(data, out).already_done()


def test_a_closed_pipe_is_not_blamed_on_the_log(data, tmp_path, monkeypatch, capsys):
    def run(*_, **__):
        raise BrokenPipeError(32, os.strerror(32))

    monkeypatch.setattr(training, "run", run)
    assert train.main(options(data, tmp_path / "model", preset="small")) == 1
    assert capsys.readouterr().err == "wfe-train: error: Broken pipe\n"


def test_a_colon_in_the_name_of_a_model_is_refused(data, tmp_path, capsys):
    assert train.main(options(data, tmp_path / "a:b", preset="small")) == 1
    assert "a:b: wfe-generate would read ':' as a separator" in capsys.readouterr().err
    assert os.listdir(tmp_path) == []
