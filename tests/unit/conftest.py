"""Unit tests start no process."""

import subprocess

import pytest


@pytest.fixture(autouse=True)
def no_process(monkeypatch):
    def refuse(self, arguments, *others, **more):
        pytest.fail(f"a unit test starts a process: {arguments}; move it to tests/integration or tests/system")

    monkeypatch.setattr(subprocess.Popen, "__init__", refuse)
