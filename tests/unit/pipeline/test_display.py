"""What is shown of a training: one line at the start, one per epoch."""

import io

import pytest

from wfe_plugin.pipeline import display


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(display.time, "monotonic", lambda: now[0])
    return now


def test_a_training_of_three_epochs(clock, capsys):
    show = display.Display("300 pairs", "CPU; log: train.log", epochs=3)
    show.log = io.StringIO()
    show("INFO | fairseq_cli.train | num. shared model params: 1,200 (num. trained: 200)")
    show("INFO | something else")
    for epoch, seconds in ((1, 60), (2, 70)):
        show("INFO | fairseq.data.iterators | grouped total_num_itrs = 1200")
        show('x | INFO | train_inner | {"epoch": 1, "update": 0.5, "nll_loss": "7", "ups": "3"}')
        clock[0] += seconds
        show(f'x | INFO | valid | {{"epoch": {epoch}, "valid_loss": "9.0", "valid_nll_loss": "3.1"}}')
    show("x | WARNING | look here")
    assert capsys.readouterr().out.splitlines() == [
        "train: 300 pairs, 1,200 updates per epoch, 1,200 parameters, 200 of them trained, CPU; log: train.log",
        "train: epoch 1: validation nll 3.1, loss 9.0; 1:00, at most 2:00 left",
        "train: epoch 2: validation nll 3.1, loss 9.0; 1:10, at most 1:05 left",
        "train: look here",
    ]
    assert len(show.log.getvalue().splitlines()) == 9
