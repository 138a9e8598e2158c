"""Where unfinished work is kept, also when a process is killed."""

import os
import signal
import subprocess
import sys

import pytest

from helpers import ROOT
from wfe_plugin.pipeline.work_directory import work_directory

OTHER_PROCESS = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from wfe_plugin.pipeline.work_directory import work_directory
with work_directory(Path(sys.argv[2]), ".x.unfinished-") as work:
    (work / "half").write_text("of it")
    print(work.name, flush=True)
    sys.stdin.read()
"""


def test_it_is_removed_however_the_work_ends(tmp_path):
    with pytest.raises(OSError, match="disk full"), work_directory(tmp_path, ".x.unfinished-") as work:
        (work / "half").write_text("of it")
        raise OSError("disk full")
    assert os.listdir(tmp_path) == []


def test_what_a_killed_process_left_is_removed_and_what_is_in_use_is_not(tmp_path):
    command = [sys.executable, "-c", OTHER_PROCESS, str(ROOT), str(tmp_path)]
    (tmp_path / ".y.unfinished-1").mkdir()  # of something else
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        in_use = other.stdout.readline().strip()
        with work_directory(tmp_path, ".x.unfinished-") as work:
            assert sorted(os.listdir(tmp_path)) == sorted([in_use, work.name, ".y.unfinished-1"])
        other.send_signal(signal.SIGKILL)
    assert (tmp_path / in_use / "half").exists()
    with work_directory(tmp_path, ".x.unfinished-") as work:
        assert sorted(os.listdir(tmp_path)) == sorted([work.name, ".y.unfinished-1"])
