"""How far a training is, and when it is to stop."""

import itertools
from pathlib import Path
from types import SimpleNamespace

import pytest

from wfe_plugin.pipeline import resuming
from wfe_plugin.pipeline.checkpoints import Epoch
from wfe_plugin.pipeline.record import Progress
from wfe_plugin.pipeline.time_limit import TimeLimit, stops_at


def test_progress():
    epochs = [Epoch(number, Path(), score, 0.0) for number, score in ((3, 5.0), (4, 4.0), (5, 4.0), (6, 4.5))]
    progress = Progress.of(epochs)
    assert progress == (6, 4, 4.0, 2, 0.0)
    endless = TimeLimit(None)
    assert progress.complete(15, 2, endless) and progress.complete(6, 9, endless)
    assert not progress.complete(15, 3, endless)
    assert not Progress.of([]).complete(1, 1, endless)


def test_time_limit():
    """Six epochs took 60 seconds, after 100 of another training: a seventh would end at 70."""
    progress = Progress.of([Epoch(6, Path(), 1.0, 160.0)])
    assert not progress.complete(15, 3, TimeLimit(70.0, before=100.0))
    assert progress.complete(15, 3, TimeLimit(69.0, before=100.0))
    # The first epoch is always trained.
    assert not Progress().complete(15, 3, TimeLimit(0.001))


def test_fairseq_stops_at_the_limit():
    """Each epoch takes 10 seconds, after 100 of another training; the fourth would end after 35."""
    clock = itertools.count(110.0, 10.0)
    trainer = SimpleNamespace(cumulative_training_time=lambda: next(clock))
    limited = stops_at(TimeLimit(35.0, before=100.0), lambda *arguments: ([1.0], False))
    stops = [limited(None, trainer, None, SimpleNamespace(epoch=n), [], True) for n in (1, 2, 3)]
    assert stops == [([1.0], False), ([1.0], False), ([1.0], True)]
    # In the midst of an epoch, and where fairseq itself stops, nothing is changed.
    assert not limited(None, trainer, None, SimpleNamespace(epoch=4), [], False)[1]
    assert stops_at(TimeLimit(1e9), lambda *_: ([1.0], True))(None, trainer, None, SimpleNamespace(epoch=1), [], True)[
        1
    ]


@pytest.mark.parametrize("new", ["finetune_from_model", "reset_optimizer", "reset_lr_scheduler"])
def test_a_new_schedule_sees_no_old_score(new):
    seen = []
    trainer = SimpleNamespace(lr_step=lambda epoch, score: seen.append((epoch, score)))
    settings = dict(finetune_from_model=None, reset_optimizer=False, reset_lr_scheduler=False)
    load = resuming.with_last_score(lambda cfg, trainer: ({"val_loss": 4.0}, SimpleNamespace(epoch=3)))
    load(SimpleNamespace(**settings), trainer)
    assert seen == [(2, 4.0)]
    load(SimpleNamespace(**{**settings, new: True}), trainer)
    assert seen == [(2, 4.0)]
