"""Progress as lines, where there is no terminal."""

import pytest

from wfe_plugin.pipeline import progress


@pytest.mark.parametrize("seconds, shown", [(0.4, "0:00"), (65, "1:05"), (7265, "2:01:05")])
def test_durations(seconds, shown):
    assert progress.duration(seconds) == shown


def test_a_line_every_half_minute(monkeypatch):
    clock, said = [0.0], []
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    with progress.Progress(100, "pairs", said.append) as show:
        for seconds in (10, 19, 35, 36, 70):
            clock[0] = seconds
            show(10)
    assert said == ["30 of 100 pairs, about 1:22 left", "50 of 100 pairs, about 1:10 left"]
