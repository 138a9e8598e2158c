"""wfe-generate records what made its summaries, and replaces nothing else unasked; standard input and output."""

import io
import json
from types import SimpleNamespace

import wfe_plugin
from helpers.raw_text_model import TEXTS
from wfe_plugin.cli import generate


def test_record_and_replacement(model, tmp_path, capsys):
    arguments = ["--model", str(model), "--out", str(tmp_path / "out"), "--beam"]
    more = ["--", "--max-len-b", "5"]
    assert generate.main([*arguments, "2", *more]) == 0
    record = json.loads((tmp_path / "out/generation.json").read_text())
    asked = record["request"]
    assert asked["model"] == str(model) and asked["beam"] == 2 and asked["fairseq_options"] == more[1:]
    assert record["summaries"] == 7 and record["decoding"].startswith("decoding: full")
    assert record["calibration"] == {str(model / "checkpoint_best.pt"): None}
    assert record["versions"]["wfe_plugin"].startswith(wfe_plugin.__version__)
    before = (tmp_path / "out/summaries.txt").read_bytes()
    assert generate.main([*arguments, "2", *more]) == 0  # the same again
    assert generate.main([*arguments, "3", *more]) == 1
    assert "made in another way (beam); choose another --out" in capsys.readouterr().err
    assert (tmp_path / "out/summaries.txt").read_bytes() == before
    assert generate.main([*arguments, "3", "--overwrite", *more]) == 0
    (tmp_path / "out/generation.json").unlink()
    assert generate.main([*arguments, "3", *more]) == 1
    assert "without a record of how they were made" in capsys.readouterr().err


def test_standard_input_and_output(model, monkeypatch, capfd):
    text = "\n".join(TEXTS).encode() + b"\n"
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text)))
    assert generate.main(["--model", str(model), "--input", "-", "--", "--max-len-b", "9"]) == 0
    shown = capfd.readouterr()
    assert shown.out.splitlines() == wfe_plugin.Summarizer(model).summarize(TEXTS, max_len_b=9)
    assert "characters are unknown to the model" in shown.err
