"""The directory that wfe-preprocess makes: what is skipped, replaced and left alone."""

import os
import shutil
from pathlib import Path

import pytest

from helpers.text_sets import options, write_sets
from wfe_plugin.cli import preprocess
from wfe_plugin.pipeline import data_directory, preparation
from wfe_plugin.pipeline import preprocess as preprocessing
from wfe_plugin.pipeline.treat import Treatment


def test_done_is_skipped_changes_are_told_overwrite_replaces(quick, tmp_path, capsys):
    data = write_sets(tmp_path / "data")
    out = tmp_path / "out"
    assert preprocess.main(options(data, out)) == 0
    assert preprocess.main(options(data, out)) == 0
    assert "already there" in capsys.readouterr().out

    assert preprocess.main(options(data, out, "--lowercase")) == 1
    assert "lowercase: False there, True wanted" in capsys.readouterr().err
    (data / "train.title").write_text((data / "train.title").read_text().replace("bank", "banks"))
    assert preprocess.main(options(data, out)) == 1
    assert "train.target: other text" in capsys.readouterr().err and not Treatment.load(out).settings.lowercase

    assert preprocess.main(options(data, out, "--lowercase", "--overwrite")) == 0
    assert Treatment.load(out).settings.lowercase
    assert sorted(os.listdir(tmp_path)) == ["data", "out", "stand-in"]


def test_a_failure_leaves_the_old_data_alone(quick, tmp_path, capsys):
    data = write_sets(tmp_path / "data")
    out = tmp_path / "out"
    assert preprocess.main(options(data, out)) == 0
    before = (out / "treatment.json").read_text()
    assert preprocess.main(options(data, out, "--overwrite", "--", "--fail")) == 1
    assert "told to fail" in capsys.readouterr().err
    assert (out / "treatment.json").read_text() == before


@pytest.mark.parametrize("name", ["model/checkpoint_best.pt", "notes.txt", "text/train.article", ".hidden"])
def test_overwrite_spares_what_others_wrote(quick, tmp_path, capsys, name):
    data, out = write_sets(tmp_path / "data"), tmp_path / "out"
    assert preprocess.main(options(data, out, "--bpe", "joint", "--merges", "30")) == 0
    kept = out / name
    kept.parent.mkdir(exist_ok=True)
    kept.write_text("precious")
    assert preprocess.main(options(data, out, "--overwrite")) == 1
    told = capsys.readouterr().err
    assert (
        f"{out / name.split('/checkpoint')[0]}: not written by wfe-preprocess, and --overwrite would delete it" in told
    )
    assert kept.read_text() == "precious" and Treatment.load(out).settings.bpe == "joint"
    kept.unlink()
    if "/check" in name:
        kept.parent.rmdir()
    assert preprocess.main(options(data, out, "--overwrite")) == 0
    assert Treatment.load(out).settings.bpe == "none"


@pytest.mark.parametrize("when", [1, 2])
def test_a_failure_of_the_replacement_keeps_the_old_data(quick, tmp_path, capsys, monkeypatch, when):
    data, out = write_sets(tmp_path / "data"), tmp_path / "out"
    assert preprocess.main(options(data, out)) == 0
    before = (out / "treatment.json").read_text()
    rename, calls = Path.rename, []

    def failing(path, target):
        calls.append(path)
        if len(calls) == when:
            raise OSError(28, "No space left on device", str(path))
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", failing)
    assert preprocess.main(options(data, out, "--lowercase", "--overwrite")) == 1
    assert "No space left on device" in capsys.readouterr().err
    assert (out / "treatment.json").read_text() == before
    assert sorted(os.listdir(tmp_path)) == ["data", "out", "stand-in"]


def test_a_replacement_that_was_killed(quick, tmp_path, capsys):
    """Between its two renames: the next run puts the old data back, or removes them if it was after."""
    data, out = write_sets(tmp_path / "data"), tmp_path / "out"
    assert preprocess.main(options(data, out)) == 0
    old = data_directory.moved_away(out)
    out.rename(old)
    assert preprocess.main(options(data, out, "--lowercase")) == 1
    assert "lowercase: False there, True wanted" in capsys.readouterr().err
    assert out.exists() and not old.exists()
    shutil.copytree(out, old)
    assert preprocess.main(options(data, out)) == 0
    assert out.exists() and not old.exists()


def test_another_run_that_is_faster_is_not_replaced(quick, tmp_path, capsys, monkeypatch):
    data, out = write_sets(tmp_path / "data"), tmp_path / "out"
    run = preparation.Preparation.run

    def overtaken(overtaken_one):
        monkeypatch.setattr(preparation.Preparation, "run", run)
        run(overtaken_one)
        assert preprocess.main(options(data, out, "--lowercase")) == 0

    monkeypatch.setattr(preparation.Preparation, "run", overtaken)
    assert preprocess.main(options(data, out)) == 1
    assert "lowercase: True there, False wanted" in capsys.readouterr().err
    assert Treatment.load(out).settings.lowercase
    assert sorted(os.listdir(tmp_path)) == ["data", "out", "stand-in"]


def test_the_output_may_be_a_link(quick, tmp_path, capsys, monkeypatch):
    """To an empty directory, or to one that is not there yet."""
    data = write_sets(tmp_path / "data")
    (tmp_path / "empty").mkdir()
    for target in ("empty", "new"):
        link = tmp_path / f"link to {target}"
        link.symlink_to(target)
        assert preprocess.main(options(data, link)) == 0
        assert link.is_symlink() and (tmp_path / target / "treatment.json").exists()
    (tmp_path / "circle").symlink_to("circle")
    monkeypatch.setattr(preprocessing, "Preparation", None)  # all that follows is refused before
    assert preprocess.main(options(data, tmp_path / "circle")) == 1
    assert "circle: Too many levels of symbolic links" in capsys.readouterr().err
    (tmp_path / "a,b").mkdir()
    monkeypatch.chdir(tmp_path / "a,b")
    assert preprocess.main(options(data, "out")) == 1
    assert "a,b/out: fairseq-preprocess reads the comma as a separator; choose" in capsys.readouterr().err


def test_a_directory_of_something_else_is_never_touched(quick, tmp_path, capsys):
    data = write_sets(tmp_path / "data")
    assert preprocess.main(options(data, data, "--overwrite")) == 1
    assert "was not made by wfe-preprocess" in capsys.readouterr().err
    assert (data / "train.article").exists()
