"""Checkpoints of fairseq are there as a whole or not at all."""

import errno
import os
import re
from pathlib import Path

import pytest
import torch
from fairseq import checkpoint_utils
from fairseq.file_io import PathManager

from wfe_plugin.fairseq_fixes import safe_saving
from wfe_plugin.whole_files import write_json, written_whole

STATE = {"model": {"weight": torch.arange(1000.0)}}


class FullDisk:
    """A file that has room for so many bytes, the first times that it is written."""

    def __init__(self, file, room, budget):
        self.file, self.room, self.budget = file, room, budget

    def write(self, data):
        if self.budget and self.file.tell() + len(bytes(data)) > self.room:
            self.file.write(bytes(data)[: self.room // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self.file.write(data)

    def __getattr__(self, name):
        return getattr(self.file, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()


@pytest.fixture
def full_disk(monkeypatch):
    """The next so many files find no room."""
    monkeypatch.setattr(safe_saving, "PAUSE", 0)

    def fill(times):
        left = [times]

        def opened(*arguments):
            left[0] -= 1
            return FullDisk(open(*arguments), 600, left[0] >= 0)

        monkeypatch.setattr(safe_saving, "open", opened, raising=False)

    return fill


def test_fairseq_saves_in_this_way(tmp_path):
    path = tmp_path / "a.pt"
    checkpoint_utils.torch_persistent_save(STATE, str(path))
    assert PathManager.copy(str(path), str(tmp_path / "b.pt"), overwrite=True)
    assert path.read_bytes() == (tmp_path / "b.pt").read_bytes()
    assert torch.equal(torch.load(path)["model"]["weight"], STATE["model"]["weight"])
    assert sorted(os.listdir(tmp_path)) == ["a.pt", "b.pt"]


def test_a_second_attempt_does_not_write_behind_the_first(tmp_path, full_disk):
    full_disk(2)
    safe_saving.save(STATE, str(tmp_path / "a.pt"))
    assert torch.equal(torch.load(tmp_path / "a.pt")["model"]["weight"], STATE["model"]["weight"])
    safe_saving.save(STATE, str(tmp_path / "b.pt"))
    assert (tmp_path / "a.pt").stat().st_size == (tmp_path / "b.pt").stat().st_size


def test_a_full_disk_is_told_and_leaves_what_was_there(tmp_path, full_disk):
    (tmp_path / "a.pt").write_text("the one before")
    full_disk(3)
    with pytest.raises(OSError, match="No space left") as raised:
        safe_saving.save(STATE, str(tmp_path / "a.pt"))
    assert raised.value.filename == str(tmp_path / "a.pt")
    assert os.listdir(tmp_path) == ["a.pt"]
    assert (tmp_path / "a.pt").read_text() == "the one before"


def test_a_copy_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    for name in ("a.pt", "b.pt"):
        (tmp_path / name).write_text(name)

    def half(source, target):
        Path(target).write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(safe_saving.shutil, "copyfile", half)
    with pytest.raises(OSError, match="No space left.*b.pt"):
        safe_saving.copy(str(tmp_path / "a.pt"), str(tmp_path / "b.pt"), overwrite=True)
    assert sorted(os.listdir(tmp_path)) == ["a.pt", "b.pt"]
    assert (tmp_path / "b.pt").read_text() == "b.pt"


def test_links_stay_links(tmp_path):
    """As to a larger disk."""
    (tmp_path / "large").mkdir()
    (tmp_path / "link.pt").symlink_to(tmp_path / "large" / "real.pt")
    safe_saving.save(STATE, str(tmp_path / "link.pt"))
    (tmp_path / "other.pt").write_text("other")
    assert (tmp_path / "link.pt").is_symlink() and torch.load(tmp_path / "large" / "real.pt")
    safe_saving.copy(str(tmp_path / "other.pt"), str(tmp_path / "link.pt"))
    assert (tmp_path / "link.pt").is_symlink()
    assert (tmp_path / "large" / "real.pt").read_text() == "other"


def test_the_reason_is_never_lost():
    assert str(safe_saving.cause(OSError("no number"), "a.pt")) == "no number"


def test_what_fails_in_the_midst_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt), written_whole(tmp_path / "file") as unfinished:
        unfinished.write_text("half")
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == []
    with pytest.raises(OSError):
        write_json(tmp_path / "nowhere" / "file", {})
    write_json(tmp_path / "file", {"ä": 1})
    assert re.sub(r"\s", "", (tmp_path / "file").read_text(encoding="utf-8")) == '{"ä":1}'
