"""wfe-frequencies: Table 4 of a trained model."""

import json
import subprocess
import sys
from pathlib import Path

from wfe_plugin.cli import frequencies


def test_frequencies_of_a_checkpoint(tmp_path, capsys, monkeypatch):
    """A tiny training through fairseq's own commands, then Table 4 of its model."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.source").write_text("a b c\nb c\n" * 8)
        (tmp_path / f"{split}.target").write_text("a a\nb\n" * 8)
    plugin = str(Path(frequencies.__file__).parent.parent)

    def fairseq(command, *arguments):
        done = subprocess.run(
            [sys.executable, "-m", f"fairseq_cli.{command}", *arguments], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr[-2000:]

    fairseq(
        "preprocess", "-s", "source", "-t", "target", "--trainpref", "train", "--validpref", "valid",
        "--testpref", "test", "--destdir", "data",
    )  # fmt: skip
    fairseq(
        "train", "data", "--user-dir", plugin, "--task", "summarization_wfe", "--arch", "wfe_lstm_tiny",
        "--criterion", "nll_wfe", "--optimizer", "adam", "--lr", "0.002", "--batch-size", "8", "--max-epoch", "1",
        "--save-dir", "model", "--no-progress-bar",
    )  # fmt: skip
    arguments = ["--model", str(tmp_path / "model"), "--data", str(tmp_path / "data")]
    assert frequencies.main([*arguments, "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    # Eight targets with one word once, eight with one word twice; the end of a sentence is no word.
    assert [sum(row) for row in found["matrix"]] == [8, 8, 0]
    assert found["sentences"] == 16 and 0 <= found["recall"] <= 100
    assert frequencies.main(arguments) == 0
    assert "true \\ estimated" in capsys.readouterr().out
    assert frequencies.main([*arguments, "--split", "other"]) == 1
    assert "holds no binarised 'other' set" in capsys.readouterr().err
    for name in ("model/checkpoint_best.pt", "data/dict.target.txt", "data/test.source-target.target.bin"):
        before = (tmp_path / name).read_bytes()
        assert frequencies.main([*arguments, "--json", str(tmp_path / name)]) == 1
        assert "is one of the files to read; name another file" in capsys.readouterr().err
        assert (tmp_path / name).read_bytes() == before
    assert frequencies.main(["--model", str(tmp_path / "x.pt"), "--data", "d"]) == 1
    assert "no such checkpoint" in capsys.readouterr().err
