"""Text as people have it."""

import gzip
import io
import json
from types import SimpleNamespace

import pytest

from wfe_plugin.errors import UserError
from wfe_plugin.method.word_budgets import WordBudgets
from wfe_plugin.pipeline.inputs import read_inputs, read_pairs

RECORDS = [
    {"body": "Ein \u00dcbel:\nzwei Zeilen", "budget": "bank=0", "head": "a"},
    {"body": "\u6771\u4eac", "budget": {"bank": "+"}, "head": "b"},
    {"body": "", "head": ""},
]


def jsonl(records=RECORDS):
    return "".join(json.dumps(record) + "\n" for record in records)


def test_compressed_text(tmp_path):
    with gzip.open(tmp_path / "in.gz", "wt", encoding="utf-8") as file:
        file.write("one\n\n  two  words\n")
    assert read_inputs(str(tmp_path / "in.gz")) == (["one", "", "two words"], [])
    (tmp_path / "not.gz").write_text("plain")
    with pytest.raises(UserError, match="not.gz: Not a gzipped file"):
        read_inputs(str(tmp_path / "not.gz"))


def test_json_lines(tmp_path):
    path = str(tmp_path / "in.txt")
    (tmp_path / "in.txt").write_text(jsonl())
    texts, budgets = read_inputs(path, "body", "budget")
    assert texts == ["Ein \u00dcbel: zwei Zeilen", "\u6771\u4eac", ""]
    assert budgets == [WordBudgets({"bank": 0}), WordBudgets({}, ("bank",)), None]
    assert list(read_pairs(path, path, ("body", "head"))) == list(zip(texts, ["a", "b", ""]))


@pytest.mark.parametrize(
    "content, message",
    [
        ("{}\n", "no text in the field 'body'"),
        ("[1]\n", "in.jsonl:1: not a JSON object"),
        ('{"body": "a"}\nnonsense\n', "in.jsonl:2: not JSON"),
        ('{"body": "a", "budget": "bank"}\n', "in.jsonl:1: budget: .*is not WORD=N"),
        ('{"body": "a", "budget": 7}\n', "in.jsonl:1: budget"),
    ],
)
def test_wrong_json_lines(tmp_path, content, message):
    (tmp_path / "in.jsonl").write_text(content)
    with pytest.raises(UserError, match=message):
        read_inputs(str(tmp_path / "in.jsonl"), "body", "budget")


def test_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO("\u00fcber\n".encode())))
    assert read_inputs("-").texts == ["\u00fcber"]
