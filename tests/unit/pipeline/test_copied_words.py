"""Unknown words of a summary that were copied from its source."""

import pytest
import torch

from wfe_plugin.pipeline.copied_words import name_unknown_words

READ = "dell buys perot and emc </s>".split()
FOREIGN = [False, False, True, False, True, False]
TO_PEROT, TO_EMC = [0.5, 0.1, 0.3, 0.0, 0.1, 0.0], [0.1, 0.4, 0.1, 0.1, 0.3, 0.0]


@pytest.mark.parametrize(
    "said, attention, expected",
    [
        ("dell buys <unk>", [TO_EMC, TO_EMC, TO_PEROT], "dell buys perot"),
        ("<unk> buys <unk>", [TO_EMC, TO_EMC, TO_PEROT], "emc buys perot"),
        # A second unknown word is another one, while there is any.
        ("<unk> <unk> <unk>", [TO_EMC, TO_EMC, TO_EMC], "emc perot emc"),
        ("dell buys", [TO_EMC, TO_EMC], "dell buys"),
    ],
)
def test_it_is_the_foreign_word_that_was_attended_to(said, attention, expected):
    found = name_unknown_words(said.split(), "<unk>", READ, FOREIGN, torch.tensor(attention).t())
    assert found == expected.split()


def test_all_positions_of_a_word_count_together():
    attention = torch.tensor([[0.2], [0.3], [0.2]])
    assert name_unknown_words(["<unk>"], "<unk>", ["emc", "perot", "emc"], [True] * 3, attention) == ["emc"]


def test_a_source_without_foreign_words_names_none():
    assert name_unknown_words(["<unk>"], "<unk>", ["dell"], [False], torch.ones(1, 1)) == ["<unk>"]
