"""The user's own budgets, from Python and the commands, under BPE."""

import json
from collections import Counter

import pytest

import wfe_plugin
from helpers.raw_text_model import TEXTS
from wfe_plugin.cli import generate
from wfe_plugin.errors import UserError

LENGTHS = {"min_len": 8, "max_len_b": 40}


def words_of(summarizer, text):
    """As the model said them, without what the detokeniser glues."""
    return Counter(summarizer.treatment.normalize(text).split())


def sayable_word(summarizer, text):
    """A word of letters that the summary has."""
    return next(word for word in words_of(summarizer, text) if word.isalpha() and len(word) > 1)


@pytest.mark.parametrize("decoding", ["auto", "off"])
def test_never_and_at_most_once(summarizer, decoding):
    options = {**LENGTHS, "decoding": decoding, "beam": 3}
    free = summarizer.summarize(TEXTS[0], **options)
    word = sayable_word(summarizer, free)
    never = summarizer.summarize(TEXTS[0], budget=f"{word}=0", **options)
    assert words_of(summarizer, never)[word] == 0 and never
    once = summarizer.summarize([TEXTS[0]] * 2, budget=[{word: 1}, None], **options)
    assert words_of(summarizer, once[0])[word] <= 1 and once[1] == free


@pytest.mark.parametrize("decoding", ["auto", "off"])
def test_words_that_must_appear(summarizer, decoding):
    """ "small" has several pieces, "the" is one: beside others, and beside sentences without such words."""
    budgets = ["small=+ the=+", None, "firms=+ bank=0"]
    found = summarizer.summarize([TEXTS[0]] * 3, decoding=decoding, budget=budgets, **LENGTHS)
    first, _, third = (words_of(summarizer, text) for text in found)
    assert first["small"] and first["the"] and third["firms"] and not third["bank"]


def test_what_cannot_be_said_or_does_not_go_together(summarizer):
    with pytest.raises(UserError, match="cannot be said.*: Zürich"):
        summarizer.summarize(TEXTS[0], budget="Zürich=0")
    with pytest.raises(UserError, match="1 for 2 texts"):
        summarizer.summarize(TEXTS[:2], budget=["bank=0"])
    with pytest.raises(UserError, match="plain beam search"):
        summarizer.summarize(TEXTS[0], budget="bank=+", sampling=True)
    with pytest.raises(UserError, match="wfe-shortlist"):
        summarizer.summarize(TEXTS[0], budget="bank=+", wfe_shortlist=20)


def test_the_command_on_a_binarised_set_and_on_json_lines(model, tmp_path, capsys):
    more = ["--", "--min-len", "8", "--max-len-b", "40"]
    one = ["--model", str(model), "--out", str(tmp_path / "set"), "--budget", "firms=+ bank=0"]
    assert generate.main([*one, *more]) == 0
    lines = (tmp_path / "set/summaries.txt").read_text().splitlines()
    assert len(lines) == 7
    for line in lines:
        assert "firms" in line.split() and "bank" not in line.split()
    records = [{"body": TEXTS[0], "own": "firms=+"}, {"body": TEXTS[0]}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    source = ["--input", str(tmp_path / "in.jsonl"), "--text-field", "body", "--budget-field", "own"]
    capsys.readouterr()
    assert generate.main(["--model", str(model), *source, "--out", "-", *more]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert "firms" in first.split() and first != second


def test_fairseqs_own_option(model):
    summarizer = wfe_plugin.Summarizer(model, fairseq_options=["--budget", "firms=+"])
    assert "firms" in summarizer.summarize(TEXTS[0], **LENGTHS).split()
