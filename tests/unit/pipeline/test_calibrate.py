"""What a calibration maximises, and how it finds it: with outputs that depend on the weights in a known way."""

import json

import pytest

from wfe_plugin.errors import UserError
from wfe_plugin.pipeline.calibrate import BASE_RATE, GATE, REWARD, Tuning, worth
from wfe_plugin.pipeline.protocols import protocol_of
from wfe_plugin.pipeline.validation import Outcome, judge, spread

F1, RECALL = protocol_of("f1"), protocol_of("recall-20")


def test_protocols():
    assert (F1.headline, F1.byte_limit) == ("f1", None)
    assert (RECALL.headline, RECALL.byte_limit) == ("recall", 20)
    for wrong in ("F1", "recall", "recall-0", "recall-x", "gigaword", ""):
        with pytest.raises(UserError, match="choose f1, or recall-N"):
            protocol_of(wrong)


@pytest.mark.parametrize(
    "length, f1, recall",
    [(1.0, 40.0, 40.0), (1.1, 40.0, 40.0), (1.2, 37.5, 37.5), (0.9, 40.0, 40.0), (0.7, 35.0, 40.0)],
)
def test_lengths_that_differ_too_much_have_a_price(length, f1, recall):
    """A quarter of a point for each percent; recall itself takes care of short outputs."""
    assert worth(Outcome(40.0, length), F1) == pytest.approx(f1)
    assert worth(Outcome(40.0, length), RECALL) == pytest.approx(recall)


def test_judging_by_hand():
    """ "a b c" against "a b d e": ROUGE-1 recall 2/4, precision 2/3; ROUGE-2 1/3 and 1/2; ROUGE-L as ROUGE-1."""
    outcome = judge(["a b c", "x"], ["a b d e", "x"], F1)
    one, two = 2 * 0.5 * (2 / 3) / (0.5 + 2 / 3), 2 * (1 / 3) * 0.5 / (1 / 3 + 0.5)
    # The second pair has no bigram: ROUGE-2 is 0 there.
    assert outcome.score == pytest.approx(100 * (one + two + one + 1 + 0 + 1) / 6, abs=0.01)
    assert outcome.length == pytest.approx(4 / 5)
    # Only the first four bytes, "a b ", count; the outputs have 5 and 1 bytes.
    outcome = judge(["a b c", "x"], ["a b d e", "x"], protocol_of("recall-4"))
    assert outcome.score == pytest.approx(100 * 5 / 6, abs=0.01)
    assert outcome.length == pytest.approx(6 / 8)


def test_pairs_are_spread_over_the_set():
    assert spread(10, 4) == [0, 2, 5, 7]
    assert spread(3, 400) == [0, 1, 2]


class FakePairs:
    """Of eight words of a reference, a "model" says more the higher the reward, and more right ones near λ=.75, µ=.25."""

    identity = "fake"
    reference = "a b c d e f g h"

    def __init__(self):
        self.references = [self.reference] * 2
        self.decoded = 0

    def summarize(self, wfe_gate_weight, wfe_base_rate_weight, word_reward, **fixed):
        assert fixed == {"beam": 5}
        self.decoded += 1
        right = 6 - 8 * abs(wfe_gate_weight - 0.75) - 8 * abs(wfe_base_rate_weight - 0.25) + 2 * word_reward
        wrong = 4 * word_reward
        words = self.reference.split()[: max(1, int(right))] + ["z"] * max(0, int(wrong))
        return [" ".join(words)] * 2


def tuned(protocol, pairs=None, notes=None, seconds=None):
    told = []
    pairs = pairs or FakePairs()
    tuning = Tuning([pairs], [GATE, BASE_RATE, REWARD], protocol, {"beam": 5}, seconds, notes, told.append)
    return tuning.run((GATE.name, BASE_RATE.name), (REWARD.name,)), told


def test_recall_wants_longer_outputs_than_f1():
    (gate, base_rate, reward), told = tuned(F1)
    assert (gate, base_rate) == (0.75, 0.25) and 0 <= reward <= 0.5
    assert len(told) == 4 and "gate weight 0.75" in told[-1]
    (gate, base_rate, longer), _ = tuned(protocol_of("recall-75"))
    assert gate >= 0.75 and base_rate == 0.25 and longer >= 1


def test_an_interrupted_search_goes_on_from_its_notes(tmp_path):
    pairs = FakePairs()
    point, _ = tuned(F1, pairs, tmp_path / "notes.json")
    first = pairs.decoded
    assert tuned(F1, pairs, tmp_path / "notes.json")[0] == point and pairs.decoded == first
    stored = json.loads((tmp_path / "notes.json").read_text())
    stored["outcomes"] = stored["outcomes"][:7]
    (tmp_path / "notes.json").write_text(json.dumps(stored))
    assert tuned(F1, pairs, tmp_path / "notes.json")[0] == point and pairs.decoded == 2 * first - 7
    # Notes of another question count for nothing.
    tuned(RECALL, pairs, tmp_path / "notes.json")
    assert pairs.decoded > 2 * first - 7


def test_without_time_the_paper_s_mask_stays():
    point, told = tuned(F1, seconds=-1)
    assert point == (1.0, 0.0, 0.0) and "out of time" in told[-1]
