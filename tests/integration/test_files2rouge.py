"""files2rouge, by a stand-in that prints what the real one prints, and the Porter stemmer that it has."""

import sys
from pathlib import Path

import pytest

from helpers import files2rouge_stand_in
from wfe_plugin.errors import UserError
from wfe_plugin.evaluation import rouge_files2rouge, rouge_perl
from wfe_plugin.evaluation.rouge import rouge
from wfe_plugin.evaluation.rouge_protocol import METRICS

needs_perl = pytest.mark.skipif(bool(rouge_perl.obstacle()), reason=rouge_perl.obstacle())

# Irregular forms, an empty line, sentences, an unknown word, an ampersand, other scripts, and more than ten lines.
HYPOTHESES = [
    "he has seen the children .", "", "prices fell . oil rose . gold was sold", "the <unk> cat sat", "at & t wins",
    "caf\u00e9 opens", "...", *(f"city {n} wins the cup final again" for n in range(8)),
]  # fmt: skip
REFERENCES = [
    "he sees a child", "something", "oil prices fall . gold sells", "a cat sits", "at & t won", "caf\u00e9 opened", "rain",
    *(f"the city {n % 3} won a cup" for n in range(8)),
]  # fmt: skip


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The command on the PATH, set up."""
    command = tmp_path / "bin" / "files2rouge"
    command.parent.mkdir()
    command.write_text(f"#!{sys.executable}\n{Path(files2rouge_stand_in.__file__).read_text()}")
    command.chmod(0o755)
    settings = tmp_path / "settings.json"
    settings.touch()
    monkeypatch.setenv("PATH", str(command.parent), prepend=":")
    monkeypatch.setenv("FILES2ROUGE_SETTINGS", str(settings))
    return settings


def scored(implementation, **options):
    return rouge(HYPOTHESES, [[text] for text in REFERENCES], implementation=implementation, **options)


@needs_perl
@pytest.mark.parametrize("protocol", ["gigaword", "duc2004"])
def test_every_sentence_has_the_score_of_porters_stemmer(installed, protocol):
    """Nothing is dropped, cut or split, and each score belongs to its sentence."""
    theirs = scored("files2rouge", protocol=protocol)
    ours = scored("python", protocol=protocol, stemmer="porter")
    perl = scored("perl", protocol=protocol, stemmer="porter")
    assert theirs.sentence_scores == ours.sentence_scores == perl.sentence_scores
    for metric in METRICS:
        # Only the order in which resamples are drawn is another one.
        assert theirs.headline(metric).value == pytest.approx(ours.headline(metric).value, abs=1.0)
        assert perl.headline(metric) == ours.headline(metric)
    assert theirs.implementation.startswith("files2rouge (") and "differs by at most 0.000" in theirs.note


@needs_perl
def test_porter_is_not_wordnet(installed):
    """By hand: "seen" and "sees" are one word with WordNet's irregular forms, and "children" and "child"."""
    porter, wordnet = (scored("python", stemmer=stemmer) for stemmer in ("porter", "wordnet"))
    recall = [result.sentence_scores["rouge-1"]["recall"][0] for result in (porter, wordnet)]
    assert recall == [25.0, 75.0]  # "he"; "he", "see" and "child", of four words


@needs_perl
def test_what_it_cannot_do_is_said(installed):
    with pytest.raises(UserError, match="only one reference"):
        rouge(["a"], [["a", "b"]], implementation="files2rouge")
    with pytest.raises(UserError, match="only by Porter's rules"):
        scored("files2rouge", stemmer="wordnet")
    with pytest.raises(UserError, match="which files2rouge would take for the end"):
        rouge([f"a {rouge_files2rouge.NEVER}"], [["a"]], implementation="files2rouge")


def test_one_that_is_not_set_up_is_an_error(installed):
    """It prints a message and ends with status 0."""
    installed.unlink()
    with pytest.raises(UserError, match="gave no scores; is it set up.*Can't load ROUGE settings"):
        scored("files2rouge")


def test_without_files2rouge(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UserError, match="files2rouge is not on the PATH"):
        scored("files2rouge")
