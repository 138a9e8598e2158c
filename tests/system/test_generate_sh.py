"""generate.sh: summaries in order, one for each input line, and their scores."""

import json
import re
import shutil
import subprocess

import pytest

from helpers import ROOT
from helpers.tiny_training import TINY, script_environment
from wfe_plugin.cli import generate, train
from wfe_plugin.pipeline.decode import Decoder
from wfe_plugin.pipeline.treat import Settings, Treatment

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def models(data, tmp_path_factory):
    """Directory with prepared data ("my data"), a model after one epoch, and what it was before it had estimates."""
    directory = tmp_path_factory.mktemp("real run")
    data, out = shutil.copytree(data, directory / "my data"), directory / "with wfe"
    own = ["--data", str(data), "--out", str(out), "--preset", "small", "--epochs", "1", "--threads", "1"]
    assert train.main([*own, "--", "--cpu", *TINY]) == 0
    shutil.copy(out / "model" / "checkpoint_best.pt", directory / "baseline.pt")
    return directory


def test_a_binarised_set(models):
    """From another directory, with spaces in names; scored against its own summaries."""
    (models / "json.py").write_text("raise SystemExit('imported from the working directory')")
    arguments = ["--model", "with wfe", "--out", "new/out dir", "--nbest", "3", "--threads", "1"]
    arguments += ["--", "--max-len-b", "6"]
    done = subprocess.run(
        [str(ROOT / "generate.sh"), *arguments], cwd=models, env=script_environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "decoding: full" in done.stdout and "Translated 11 sentences" in done.stdout
    assert "ROUGE-1" in done.stdout and "new/out dir/summaries.txt" in done.stdout
    out = models / "new" / "out dir"
    assert sorted(path.name for path in out.iterdir()) == [
        "generation.json", "nbest.tsv", "scores.json", "summaries.txt",
    ]  # fmt: skip
    summaries = (out / "summaries.txt").read_text().splitlines()
    assert len(summaries) == 11
    rows = [line.split("\t") for line in (out / "nbest.tsv").read_text().splitlines()]
    assert [row[3] for row in rows if row[1] == "1"] == summaries
    assert [int(row[0]) for row in rows if row[1] == "1"] == list(range(1, 12))
    for number in range(1, 12):
        scores = [float(row[2]) for row in rows if row[0] == str(number)]
        assert 1 <= len(scores) <= 3 and scores == sorted(scores, reverse=True)
    content = json.loads((out / "scores.json").read_text())
    assert content["systems"][0]["file"] == "new/out dir/summaries.txt"
    assert content["sentences"] == 11
    assert content["references"]["files"] == [str(models / "my data" / "text" / "test.target")]


def test_raw_text_through_several_models(models, tmp_path, capsys):
    """Empty lines stay empty; a text longer than any in training is summarised as well."""
    text = tmp_path / "some text.txt"
    text.write_bytes("b a c\r\n\n{}\n  \nj j\n".format("c d " * 800).encode())
    references = [tmp_path / f"reference {number}" for number in range(2)]
    for path in references:
        path.write_text("a\nb\nc\nd\ne\n")
    out = tmp_path / "out"
    checkpoint = models / "with wfe" / "checkpoint1.pt"
    arguments = ["--model", f"{checkpoint}:{models / 'with wfe'}", "--input", str(text), "--out", str(out)]
    arguments += ["--decoding", "bound", "--beam", "2", "--protocol", "duc2004"]
    arguments += ["--references", *map(str, references), "--", "--max-len-b", "6", "--min-len", "2"]
    assert generate.main(arguments) == 0
    assert "2 model(s), beam 2, decoding: bound" in capsys.readouterr().out
    summaries = (out / "summaries.txt").read_text().split("\n")
    assert [bool(line) for line in summaries] == [True, False, True, False, True, False]
    assert json.loads((out / "scores.json").read_text())["protocol"] == "duc2004"


def test_a_model_without_estimates(models, tmp_path, capsys):
    """It is decoded without bounds; scores of what was there before do not stay."""
    (tmp_path / "input.txt").write_text("a b\n")
    (tmp_path / "scores.json").write_text("{}")
    arguments = ["--model", str(models / "baseline.pt"), "--input", str(tmp_path / "input.txt"), "--out", str(tmp_path)]
    assert generate.main([*arguments, "--", "--max-len-b", "6"]) == 0
    assert "decoding: off" in capsys.readouterr().out
    assert not (tmp_path / "scores.json").exists()

    assert generate.main([*arguments, "--overwrite", "--decoding", "full"]) == 1
    assert "needs a word-frequency estimate, but the model has none" in capsys.readouterr().err


AGAINST_REPETITION = [
    "--no-repeat-ngram-size", "2", "--ignore-when-blocking", "a b", "--word-cap", "1",
    "--repetition-penalty", "1.2", "--frequency-penalty", "0.1", "--presence-penalty", "0.1",
    "--coverage-penalty", "0.2", "--gnmt-length-penalty", "0.6",
]  # fmt: skip


def test_options_against_repetition_reach_the_search(models, tmp_path, capsys):
    arguments = ["--model", str(models / "baseline.pt"), "--out", str(tmp_path / "out"), "--threads", "1", "--"]
    assert generate.main([*arguments, "--min-len", "8", "--max-len-b", "9", *AGAINST_REPETITION]) == 0
    summaries = [line.split() for line in (tmp_path / "out" / "summaries.txt").read_text().splitlines()]
    assert len(summaries) == 11
    for words in summaries:
        assert len(words) >= 8 and len(set(words)) == len(words)
    capsys.readouterr()

    options = ["--no-repeat-ngram-size", "2", "--ignore-when-blocking", "a of"]
    assert generate.main(["--overwrite", *arguments, *options]) == 1
    assert "--ignore-when-blocking: not in the target dictionary: of;" in capsys.readouterr().err


def test_only_the_time_of_a_part(models, monkeypatch, capsys):
    """Batches of two, every other one of six: about five of eleven pairs. Nothing is written."""
    monkeypatch.chdir(models)
    before = sorted(models.iterdir())
    arguments = ["--model", "with wfe", "--time-only", "5"]
    assert generate.main([*arguments, "--", "--batch-size", "2", "--max-len-b", "6"]) == 0
    assert re.search(r"Translated [56] sentences .* in [\d.]+s", capsys.readouterr().out)
    assert sorted(models.iterdir()) == before
    for wrong in (["--input", "test.article"], ["--out", "x"]):
        with pytest.raises(SystemExit):
            generate.main([*arguments, *wrong])
        assert "--time-only" in capsys.readouterr().err


def test_output_is_undone(models, tmp_path, monkeypatch):
    monkeypatch.setattr(Decoder, "text", lambda *_: "ja@@ pan 's bonds .")
    monkeypatch.setattr(Treatment, "load", lambda _: Treatment(Settings(tokenize=True, bpe="joint")))
    (tmp_path / "input.txt").write_text("text\n")
    arguments = ["--model", str(models / "with wfe"), "--input", str(tmp_path / "input.txt"), "--out", str(tmp_path)]
    assert generate.main(arguments) == 0
    assert (tmp_path / "summaries.txt").read_text() == "japan's bonds.\n"


def test_a_set_that_is_not_there(models, tmp_path, capsys):
    arguments = ["--model", str(models / "with wfe"), "--split", "test7", "--out", str(tmp_path / "out")]
    assert generate.main(arguments) == 1
    assert "has no set 'test7'; choose one of: train, valid, test" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_wrong_references_are_noticed_before_decoding(models, tmp_path, capsys):
    (tmp_path / "short").write_text("a\n")
    arguments = ["--model", str(models / "with wfe"), "--references", str(tmp_path / "short")]
    assert generate.main([*arguments, "--out", str(tmp_path / "out")]) == 1
    assert "short has 1 lines, but 11 texts" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--beam", "2", "--nbest", "3"], "--nbest 3 needs a --beam of at least 3, not 2"),
        (["--split", "test", "--input", "f"], "not allowed with"),
        (["--", "--nbest", "2"], "--nbest after --"),
    ],
)
def test_wrong_options_are_explained(arguments, message, capsys):
    with pytest.raises(SystemExit):
        generate.main(["--model", "m", "--out", "o", *arguments])
    assert message in capsys.readouterr().err
