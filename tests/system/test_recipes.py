"""What the recipes have in common: they explain themselves, and refuse what they do not know."""

import subprocess

import pytest

from helpers import ROOT


@pytest.mark.parametrize(
    "recipe, wrong, status, said",
    [
        *((name, ["--nonsense"], 2, "--nonsense") for name in ("reuters21578", "debian", "gigaword", "opennmt")),
        *((name, ["--config", "nonsense"], 1, "nonsense.ini: no such file") for name in ("reuters21578", "debian")),
        ("opennmt", ["--epochs", "0"], 2, "--epochs"),
        ("opennmt", ["--epochs"], 2, "--epochs"),
        ("gigaword", ["--text", "t", "--out", "o", "--beams", ""], 2, "--beams is empty"),
        ("gigaword", ["--text", "t", "--out", "o", "--beams", "1 five"], 2, "--beams: 'five' is not a whole number"),
    ],
)
def test_options(tmp_path, recipe, wrong, status, said):
    def run(*arguments):
        command = [str(ROOT / "examples" / recipe / "run.sh"), *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    assert "usage: " in run("--help").stdout.lower()
    done = run(*wrong)
    assert done.returncode == status and said in done.stderr
    assert not list(tmp_path.iterdir())
