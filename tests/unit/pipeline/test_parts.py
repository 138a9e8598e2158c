"""Parts of equal work."""

import pytest

from wfe_plugin.errors import UserError
from wfe_plugin.pipeline.decode import BATCH, windows
from wfe_plugin.pipeline.parts import EACH, Part


def test_they_are_written_as_they_sort():
    assert str(Part.parse("3/12")) == "03-of-12"
    for wrong in ("3", "0/2", "3/2", "a/b", "1/0"):
        with pytest.raises(UserError, match="from 1 to N"):
            Part.parse(wrong)


@pytest.mark.parametrize("count", [0, 1, BATCH, 5 * BATCH + 3, 40 * BATCH])
@pytest.mark.parametrize("parts", [1, 2, 3, 9])
def test_each_text_is_in_one_part_in_order_and_windows_stay_whole(count, parts):
    lengths = [1 + 7 * number % 50 for number in range(count)]
    ranges = [Part(number, parts).of(lengths) for number in range(1, parts + 1)]
    assert [number for part in ranges for number in part] == list(range(count))
    starts = {window.start for window in windows(count)}
    assert all(part.start in starts for part in ranges if part)


def test_parts_have_about_the_same_work():
    """The second half of the texts is four times as long."""
    lengths = [EACH] * 320 * BATCH + [7 * EACH] * 320 * BATCH
    work = [sum(lengths[number] + EACH for number in Part(number, 2).of(lengths)) for number in (1, 2)]
    assert work[0] == pytest.approx(work[1], rel=0.1)
