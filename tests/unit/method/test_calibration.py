"""Calibrations are written, read and averaged."""

import pytest

from wfe_plugin.errors import UserError
from wfe_plugin.method.calibration import PAPER, Calibration


@pytest.mark.parametrize(
    "calibration, text",
    [
        (Calibration(0.75, 0.5, 0.5, "f1"), "gate=0.75 base-rate=0.5 reward=0.5 protocol=f1"),
        (Calibration(1.25, 0.0, -0.1, "recall@75"), "gate=1.25 base-rate=0 reward=-0.1 protocol=recall@75"),
        (PAPER, "gate=1 base-rate=0 reward=0"),
    ],
)
def test_writing_and_reading(calibration, text):
    assert str(calibration) == text
    assert Calibration.parse(text) == calibration


def test_what_is_not_named_is_as_in_the_paper():
    assert Calibration.parse("base-rate=0.5") == Calibration(1.0, 0.5, 0.0, "")


@pytest.mark.parametrize("text", ["gate", "gate=", "gate=x", "lambda=1", "0.75 0.5"])
def test_what_is_not_a_calibration(text):
    with pytest.raises(UserError, match="calibration"):
        Calibration.parse(text)


def test_mean_of_an_ensemble():
    mean = Calibration.mean([Calibration(1.0, 0.5, 0.0, "f1"), Calibration(0.5, 0.0, 1.0, "f1")])
    assert mean == Calibration(0.75, 0.25, 0.5, "f1")
    assert Calibration.mean([PAPER]) == PAPER
