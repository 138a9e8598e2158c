"""wfe-export: a directory that decodes like the model it was made from, wherever it is."""

import json
import shutil

import pytest
import torch
from fairseq import hub_utils, options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq_cli import interactive

import wfe_plugin
from helpers.bad_world import TASK
from helpers.raw_text_model import TEXTS, make_model
from wfe_plugin.cli import export, generate


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """An exported model that was moved; the data are gone. And the summaries of the original."""
    directory = make_model(tmp_path_factory.mktemp("model"))
    state = torch.load(directory / "checkpoint_best.pt")
    state["last_optimizer_state"] = {"momentum": torch.zeros(100_000)}
    state["cfg"]["model"]["wfe_calibration"] = "gate=0.5 base-rate=0 reward=0.25 protocol=f1"
    torch.save(state, directory / "checkpoint_best.pt")
    expected = wfe_plugin.Summarizer(directory).summarize(TEXTS, max_len_b=9)
    scores = directory / "scores.json"
    measures = {metric: {"F1": {"value": 12.345}} for metric in ("rouge-1", "rouge-2", "rouge-l")}
    content = {"systems": [{"rouge": measures}], "headline": "F1", "sentences": 7, "protocol": "gigaword"}
    scores.write_text(json.dumps(content))
    assert export.main([str(directory), "--out", str(directory / "new/model"), "--scores", str(scores)]) == 0
    moved = tmp_path_factory.mktemp("elsewhere") / "moved"
    shutil.move(directory / "new/model", moved)
    shutil.rmtree(directory / "data")
    return moved, expected


def test_all_that_is_needed_and_nothing_else(exported):
    directory, _ = exported
    assert sorted(path.name for path in directory.iterdir()) == [
        "README.md", "bpe.codes", "bpe.source.pieces", "bpe.target.pieces",
        "dict.source.txt", "dict.target.txt", "model.pt", "treatment.json",
    ]  # fmt: skip
    state = torch.load(directory / "model.pt")
    assert state["last_optimizer_state"] is None and (directory / "model.pt").stat().st_size < 300_000
    assert str(directory.parents[1]) not in str(state["cfg"])
    card = (directory / "README.md").read_text()
    for fact in ("train 60, valid 8, test 7", "gate=0.5", "| 12.35 | 12.35 | 12.35 |", wfe_plugin.__version__):
        assert fact in card


def test_it_decodes_as_before(exported, tmp_path, capsys):
    directory, expected = exported
    assert wfe_plugin.Summarizer(directory).summarize(TEXTS, max_len_b=9) == expected
    (tmp_path / "input").write_text("\n".join(TEXTS), encoding="utf-8")
    arguments = ["--model", str(directory), "--out", str(tmp_path / "out")]
    assert generate.main([*arguments, "--input", str(tmp_path / "input"), "--", "--max-len-b", "9"]) == 0
    assert (tmp_path / "out/summaries.txt").read_text(encoding="utf-8").splitlines() == expected
    assert "reward=0.25 (calibrated)" in capsys.readouterr().out
    assert generate.main([*arguments[:-1], str(tmp_path / "other")]) == 1
    assert "holds no binarised sets" in capsys.readouterr().err


def test_fairseq_takes_it_as_data_and_as_a_hub_model(exported, tmp_path, capsys):
    directory, expected = exported
    summarizer = wfe_plugin.Summarizer(directory)
    (tmp_path / "input").write_text("\n".join(line for line in summarizer.read(TEXTS).lines if line))
    arguments = [str(directory), *TASK, "--path", str(directory / "model.pt"), "--input", str(tmp_path / "input")]
    parser = options.get_interactive_generation_parser()
    args = options.parse_args_and_arch(parser, [*arguments, "--max-len-b", "9", "--buffer-size", "9"])
    interactive.main(convert_namespace_to_omegaconf(args))
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines() if line.startswith("H-")]
    found = [summarizer.treatment.undo(text) for _, _, text in lines]
    assert found == [text for text in expected if text]
    assert hub_utils.from_pretrained(str(directory))["models"]


def test_refusals(exported, capsys):
    directory, _ = exported
    for arguments, message in (
        ([str(directory), "--out", str(directory)], "already exists"),
        ([f"{directory}:{directory}", "--out", "new"], "export one model at a time"),
        ([str(directory), "--out", "new", "--scores", str(directory / "treatment.json")], "not a scores file"),
    ):
        assert export.main(arguments) == 1
        assert message in capsys.readouterr().err
