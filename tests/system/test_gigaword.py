"""examples/gigaword on a miniature of its layout, and the table that it prints."""

import json
import random
import subprocess

import pytest

from helpers import ROOT
from helpers.scripts import module_of, run_script
from helpers.tiny_training import TINY, script_environment

EXAMPLE = ROOT / "examples" / "gigaword"
table = module_of(EXAMPLE / "table.py")
WORDS = "china japan bank ## shares rise UNK fall after talks".split()


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in lines))


def miniature(directory):
    """The files of README.md, a few lines each; the DUC references keep case and digits."""
    rng = random.Random(0)

    def texts(count, length):
        return [" ".join(rng.choices(WORDS, k=length)) for _ in range(count)]

    for name, count in (("train.{}", 60), ("valid.{}.filter", 9)):
        write(directory / "train" / f"{name.format('article')}.txt", texts(count, 9))
        write(directory / "train" / f"{name.format('title')}.txt", texts(count, 4))
    write(directory / "Giga" / "input.txt", texts(7, 9))
    write(directory / "Giga" / "task1_ref0.txt", texts(7, 4))
    write(directory / "DUC2004" / "input.txt", texts(5, 9))
    for number in range(4):
        write(directory / "DUC2004" / f"task1_ref{number}.txt", [text.title() for text in texts(5, 6)])
    return directory


def run(directory, *arguments):
    command = [str(EXAMPLE / "run.sh"), "--text", "the text", "--out", "the out", *arguments]
    return subprocess.run(command, cwd=directory, env=script_environment(), capture_output=True, text=True)


def test_from_text_to_table(tmp_path):
    miniature(tmp_path / "the text")
    own = ["--workers", "1", "--epochs", "1", "--beams", "2", "--", "--cpu", *TINY]
    done = run(tmp_path, *own)
    assert done.returncode == 0, done.stdout + done.stderr
    out = tmp_path / "the out"
    for name, count, references in (("gigaword", 7, 1), ("duc2004", 5, 4)):
        for system in table.SYSTEMS:
            directory = out / name / f"{system}-2"
            assert len((directory / "summaries.txt").read_text().splitlines()) == count
            scores = json.loads((directory / "scores.json").read_text())
            assert scores["protocol"] == name and len(scores["references"]["files"]) == references
    assert "gate=" in done.stdout and "protocol=recall-75" in done.stdout
    assert (out / "rule-f1.txt").read_text().startswith("--word-cap 1 --out-of-source-penalty")
    results = (out / "results.txt").read_text()
    assert results in done.stdout
    rows = [line[:22].rstrip() for line in results.splitlines()[2:]]
    assert rows == [*table.SYSTEMS.values(), "gain, EncDec+WFE", "gain, WFE votes"]


def write_scores(directory):
    """The paper's, and one more each."""
    for system, beam in ((system, beam) for system in table.SYSTEMS for beam in (1, 5, 10)):
        values = table.PAPER.get((system, beam), (20.0,) * 6)
        for name, headline, part in (("duc2004", "recall", values[:3]), ("gigaword", "f1", values[3:])):
            rouge = {metric: {headline: {"value": value + 1}} for metric, value in zip(table.METRICS, part)}
            content = {"headline": headline, "systems": [{"rouge": rouge}]}
            write(directory / name / f"{system}-{beam}" / "scores.json", [json.dumps(content)])


def test_the_table_sets_ours_beside_the_papers(tmp_path):
    write_scores(tmp_path)
    rows = [line.split() for line in table.as_table(table.read_scores(tmp_path, [1, 5, 10])).splitlines()]
    assert ["EncDec", "5", "30.52", "10.45", "26.80", "35.27", "17.68", "33.14"] in rows
    assert ["paper", "29.52", "9.45", "25.80", "34.27", "16.68", "32.14"] in rows
    assert ["gain,", "EncDec+WFE", "10", "+2.10", "+0.72", "+1.51", "+1.90", "+0.72", "+1.76"] in rows
    assert rows[-1][:5] == ["gain,", "WFE", "votes", "10", "-9.60"]


def test_the_readme_has_the_papers_numbers():
    readme = (EXAMPLE / "README.md").read_text()
    for values in table.PAPER.values():
        assert " | ".join(f"{value:.2f}" for value in values) in readme


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda text: (text / "DUC2004" / "task1_ref2.txt").unlink(), "DUC2004/task1_ref2.txt: no such file"),
        (
            lambda text: (text / "train" / "train.title.txt").rename(text / "train" / "train.title.txt.gz"),
            "train.title.txt.gz: please unpack it",
        ),
    ],
)
def test_missing_text(tmp_path, change, message):
    change(miniature(tmp_path / "the text"))
    done = run(tmp_path)
    assert done.returncode == 1 and message in done.stderr
    assert not (tmp_path / "the out").exists()


def test_what_other_runs_have_left_is_not_in_the_table(tmp_path):
    write_scores(tmp_path)
    (tmp_path / "duc2004" / "wfe-5").rename(tmp_path / "duc2004" / "old-wfe-5")
    done = run_script(EXAMPLE / "table.py", tmp_path, 1, 10)
    assert done.returncode == 0, done.stderr
    gains = [line.split()[1:3] for line in done.stdout.splitlines() if line.startswith("gain, EncDec+WFE")]
    assert gains == [["EncDec+WFE", "1"], ["EncDec+WFE", "10"]]


def test_scores_that_are_missing_or_damaged(tmp_path):
    path = tmp_path / "duc2004" / "encdec-5" / "scores.json"
    done = run_script(EXAMPLE / "table.py", tmp_path, 5)
    assert (done.returncode, done.stderr) == (1, f"table.py: {path}: No such file or directory; run.sh makes it\n")
    write_scores(tmp_path)
    for content in ("{", "[]", '{"headline": "f1", "systems": []}'):
        path.write_text(content)
        done = run_script(EXAMPLE / "table.py", tmp_path, 5)
        assert done.returncode == 1
        assert done.stderr == f"table.py: {path}: no scores of wfe-generate; remove it, and run.sh makes it again\n"
    done = run_script(EXAMPLE / "table.py")
    assert done.returncode == 2 and "usage: table.py" in done.stderr and "Traceback" not in done.stderr
