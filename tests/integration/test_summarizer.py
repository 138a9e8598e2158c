"""Summarizer: raw text in Python gives the summaries of wfe-generate."""

import logging

import pytest

import wfe_plugin
from helpers.raw_text_model import TEXTS
from wfe_plugin.cli import generate
from wfe_plugin.errors import UserError
from wfe_plugin.pipeline.text import MAX_CHARACTERS


def test_as_the_command(model, summarizer, tmp_path):
    (tmp_path / "input.txt").write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    arguments = ["--model", str(model), "--input", str(tmp_path / "input.txt"), "--out", str(tmp_path / "out")]
    for option, decoding in (([], "auto"), (["--decoding", "off"], "off")):
        own = [*arguments[:-1], str(tmp_path / f"out-{decoding}"), "--nbest", "3", *option]
        assert generate.main([*own, "--", "--max-len-b", "12"]) == 0
        summaries = (tmp_path / f"out-{decoding}" / "summaries.txt").read_text(encoding="utf-8").splitlines()
        best = summarizer.summarize(TEXTS, max_len_b=12, decoding=decoding)
        assert best == summaries and best[1] == "" and all(best[number] for number in (0, 2, 3, 4, 5))
        ranked = summarizer.summarize(TEXTS, nbest=3, max_len_b=12, decoding=decoding)
        rows = (tmp_path / f"out-{decoding}" / "nbest.tsv").read_text(encoding="utf-8").splitlines()
        assert [
            f"{number}\t{rank}\t{one.score:.4f}\t{one.text}"
            for number, hypotheses in enumerate(ranked, start=1)
            for rank, one in enumerate(hypotheses, start=1)
        ] == rows


def test_a_single_text_and_batches(summarizer):
    every = summarizer.summarize(TEXTS, max_len_b=8)
    assert summarizer.summarize(TEXTS[0], max_len_b=8) == every[0]
    assert summarizer.summarize(iter(TEXTS), max_len_b=8, batch_size=2) == every
    assert summarizer.summarize([]) == []


def test_options_reach_the_search(summarizer):
    words = summarizer.summarize(TEXTS[0], decoding="off", min_len=9, max_len_b=9, word_cap=1)
    treated = summarizer.treatment.apply(words, "target").split()
    assert len(treated) == len(set(treated))


@pytest.mark.parametrize(
    "wrong, message",
    [
        (dict(max_len=5), "max_len: not an option of decoding; did you mean max_len_b?"),
        (dict(no_repeat_ngram=3), "did you mean no_repeat_ngram_size?"),
        (dict(qqqq=1), "qqqq: not an option of decoding$"),
        (dict(beam=2, nbest=3), "nbest is 3"),
    ],
)
def test_wrong_keywords(summarizer, wrong, message):
    with pytest.raises(UserError, match=message.replace("?", r"\?")):
        summarizer.summarize(TEXTS, **wrong)


def test_unknown_characters_and_long_texts_are_reported(summarizer, caplog):
    reading = summarizer.read(TEXTS)
    unknown = reading.unknown_characters
    assert [unknown[character] for character in "東&%bj"] == [1, 1, 1, 0, 0]
    with caplog.at_level(logging.WARNING):
        assert summarizer.summarize(["bank", "x" * (MAX_CHARACTERS + 1)], max_len_b=3)
    assert "1 texts are too long; only their beginnings are read: number 2" in caplog.text


def test_half_precision(model):
    assert len(wfe_plugin.Summarizer(model, half=True, device="cpu").summarize(TEXTS, max_len_b=5)) == len(TEXTS)
