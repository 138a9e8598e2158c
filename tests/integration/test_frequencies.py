"""wfe-frequencies: Table 4 of a model."""

import json

import pytest
import torch

from helpers.bad_world import binarize_text, checkpoint
from wfe_plugin.cli import frequencies


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Targets of which half have one word once and half one word twice, and a model that has learnt nothing."""
    folder = tmp_path_factory.mktemp("frequencies")
    binarize_text(folder / "data", "a b c\nb c\n" * 8, "a a\nb\n" * 8)
    (folder / "model").mkdir()
    torch.save(checkpoint(folder / "data"), folder / "model" / "checkpoint_best.pt")
    return folder


def test_true_frequencies(folder, capsys):
    arguments = ["--model", str(folder / "model"), "--data", str(folder / "data")]
    assert frequencies.main([*arguments, "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    # The end of a sentence is no word.
    assert [sum(row) for row in found["matrix"]] == [8, 8, 0]
    assert found["sentences"] == 16 and 0 <= found["recall"] <= 100
    assert frequencies.main(arguments) == 0
    assert "true \\ estimated" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--split", "other"], "other.source-target.source: missing"),
        (["--model", "{}/x.pt"], "no such checkpoint"),
    ],
)
def test_mistakes(folder, capsys, arguments, message):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    right = ["--model", str(folder / "model"), "--data", str(folder / "data")]
    assert frequencies.main([*right, *(word.format(folder) for word in arguments)]) == 1
    assert message in capsys.readouterr().err
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
