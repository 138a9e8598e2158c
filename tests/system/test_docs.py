"""What the pages say to do, done: every command and every Python snippet, in the order of each page.

The commands run in a copy of the repository, beside a small data set; those of docs/, where the
README was followed. Trainings take one epoch (`SHORTER`). What installs or takes hours is left out
(`LEFT_OUT`), as is a block with a comment `<!-- not run: REASON -->` before it; one with `<!-- file:
NAME -->` is written to that file. Everything else on a page is run as it is.
"""

import re
import shutil
import subprocess
import sys

import pytest

from helpers import ROOT
from helpers.pages import blocks, commands, outside_of_blocks
from helpers.text_sets import write_sets
from helpers.tiny_training import script_environment

README = ROOT / "README.md"
PAGES = [*ROOT.glob("CONTRIBUTING.md"), *sorted((ROOT / "docs").rglob("*.md"))]
SHELL, PYTHON = ("bash", "sh"), ("python",)
OTHERS = ("text", "ini", "json", "yaml", "bibtex", "html", "markdown", "mermaid")  # not to be run
LEFT_OUT = re.compile(
    r"(git (clone|commit|push)|pip|make|pre-commit|(source|\.) \S*activate|cd|examples/\S+/run\.sh)\b"
)
SHORTER = {"wfe-train": ("--epochs", "--estimate-epochs"), "fairseq-train": ("--max-epoch",)}


def name_of(page):
    return str(page.relative_to(ROOT))


def shorter(command):
    """The same with one epoch of training."""
    program = command.split()[0]
    for option in SHORTER.get(program, ()):
        if f" {option} " in command:
            command = re.sub(rf" {option} \d+", f" {option} 1", command)
        else:
            command = command.replace(program, f"{program} {option} 1", 1)
    return command


def test_commands_are_made_shorter():
    assert shorter("wfe-train --data d --epochs 9 -- --lr 1") == (
        "wfe-train --estimate-epochs 1 --data d --epochs 1 -- --lr 1"
    )
    assert shorter("fairseq-train data") == "fairseq-train --max-epoch 1 data"
    assert shorter("wfe-evaluate --help") == "wfe-evaluate --help"


def follow(page, folder):
    """Do in `folder` what `page` says; returns what went wrong first, or None."""
    environment = {**script_environment(), "PYTHONPATH": str(folder)}  # not the installation that runs the tests
    for block in blocks(page):
        if block.file:
            (folder / block.file).write_text(block.text)
        elif block.language in (*SHELL, *PYTHON) and not block.reason:
            done = subprocess.run(script(block), cwd=folder, env=environment, capture_output=True, text=True)
            if done.returncode != 0:
                return f"{name_of(page)}:{block.line}\n{done.stdout[-1500:]}{done.stderr[-1500:]}"


def script(block):
    if block.language in PYTHON:
        return [sys.executable, "-c", block.text]
    lines = [shorter(line) for line in commands(block.text) if not LEFT_OUT.match(line)]
    return ["bash", "-euo", "pipefail", "-c", "\n".join(["trap 'echo failed: \"$BASH_COMMAND\" >&2' ERR", *lines])]


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    """The repository as a reader has it, with text pairs, who has followed the README; and what went wrong."""
    folder = tmp_path_factory.mktemp("reader") / "wfe_plugin"
    kept_out = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", "*-out", "tests")
    shutil.copytree(ROOT, folder, ignore=kept_out)
    write_sets(folder, (("train", 120), ("valid", 12), ("test", 12)))
    shutil.copy(folder / "test.article", folder / "articles.txt")
    return folder, follow(README, folder)


@pytest.mark.slow
def test_the_readme_works(reader):
    _, mistake = reader
    assert not mistake, mistake


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=name_of)
def test_a_page_works_for_a_reader_of_the_readme(page, reader, tmp_path):
    folder = shutil.copytree(reader[0], tmp_path / "wfe_plugin")
    mistake = follow(page, folder)
    assert not mistake, mistake


@pytest.mark.parametrize("page", [README, *PAGES], ids=name_of)
def test_nothing_on_a_page_escapes(page):
    """Every block says its language, and commands are in blocks."""
    for block in blocks(page):
        assert block.language in (*SHELL, *PYTHON, *OTHERS), f"{name_of(page)}:{block.line}"
    text = outside_of_blocks(page)
    assert "\n```" not in text
    assert re.findall(r"^    (?:\$|\./|make|pip|python|wfe-|fairseq-)[^\n]*", text, re.MULTILINE) == []
