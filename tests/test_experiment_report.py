"""The report of wfe-experiment, as HTML and as Markdown."""

import re
from html.parser import HTMLParser

import pytest
from experiment_stubs import StubRunner, world  # noqa: F401  (a fixture)

from wfe_plugin.experiment.config import read_experiment
from wfe_plugin.experiment.report import document as doc
from wfe_plugin.experiment.report import html, markdown
from wfe_plugin.experiment.report.content import build
from wfe_plugin.experiment.report.examples import repeats
from wfe_plugin.experiment.report.pictures import (
    Series,
    bar_chart,
    heat_map,
    interval_chart,
    line_chart,
    ticks,
)
from wfe_plugin.experiment.results import collect
from wfe_plugin.experiment.training_log import read_curves

OUTSIDE = re.compile(r"""(?:src|href|srcset|data|action)\s*=\s*["']?(?!#)[^"'\s>]|url\(|@import|https?:|//\w""", re.I)


@pytest.fixture
def report(world):  # noqa: F811
    assert world.run() == 0
    experiment = read_experiment(world.config)
    return build(collect(StubRunner(experiment, scripts=world.scripts)))


def test_html_needs_nothing_from_outside(report):
    page = html.render(report)
    # Commands and the configuration are text, in which paths may stand.
    assert not OUTSIDE.search(re.sub(r"<pre>.*?</pre>", "", page, flags=re.S))
    assert "<script" not in page
    assert "prefers-color-scheme: dark" in page and 'name="viewport"' in page
    anchors = re.findall(r'href="#([^"]+)"', page)
    assert anchors and all(f'id="{anchor}"' in page for anchor in anchors)
    assert "ROUGE by system and beam" in page and "<svg" in page


def test_html_is_well_formed_and_escaped(report):
    page = html.render(report)
    assert "<title>Cats &amp; &lt;dogs&gt;</title>" in page
    assert "one &lt;b&gt;" in page and "<b>" not in page
    class Checker(HTMLParser):
        stack = []

        def handle_starttag(self, tag, attributes):
            if tag not in ("meta",):
                self.stack.append(tag)

        def handle_startendtag(self, tag, attributes):
            pass

        def handle_endtag(self, tag):
            assert self.stack.pop() == tag

    checker = Checker()
    checker.feed(page)
    assert checker.stack == []


def test_numbers_of_the_report(report):
    """By hand: EncDec+WFE is right in two of three sentences."""
    text = markdown.render(report)
    row = next(line for line in text.splitlines() if line.startswith("| EncDec+WFE | beam 1 |"))
    assert "(+" in row
    assert "| References |" in text.replace("|  | References", "| References")
    assert "**cats** **cats** &amp; **cats**" in text  # marked in Figure 4
    assert "Cats &amp; &lt;dogs>" in text.splitlines()[0]
    assert "80.0 %" in text and "wfe-experiment cats.ini" in text and "train.sh --data" in text
    assert "<svg" not in text


def test_markdown_escapes():
    assert markdown.plain("a*b_c|d <e> & [f](g) `h`") == "a\\*b\\_c\\|d &lt;e> &amp; \\[f\\](g) \\`h\\`"
    assert markdown.plain("# no heading") == "\\# no heading" and markdown.plain("+1.5") == "+1.5"
    code = markdown.render(doc.Document("t", "", [doc.Code("c", "a\n```\nb")]))
    assert "````\na\n```\nb\n````" in code


def test_marked_words():
    assert doc.repeated_words("The oil of the OIL") == [
        ("The", True), ("oil", True), ("of", False), ("the", True), ("OIL", True),
    ]  # fmt: skip
    assert repeats("oil of oil") and not repeats("of of oil") and not repeats("")


def test_ticks_by_hand():
    assert ticks(0, 10) == [0, 2, 4, 6, 8, 10]
    assert ticks(0.1, 0.9) == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert ticks(-3, 4) == [-4, -2, 0, 2, 4]
    assert len(ticks(5, 5)) >= 2 and len(ticks(0, 0)) >= 2


def test_pictures_survive_odd_data():
    """Nothing, one point, zeros, negative numbers, and names with markup."""
    assert line_chart([], "x", "y") == ""
    for picture in (
        line_chart([Series("<a> & b", [(1, 2.0)], 1)], "x", "y"),
        bar_chart([("<a> & b", 0.0, 1)], "%", ("<a>", 0.0)),
        interval_chart([("<a> & b", -1.0, -2.0, 0.0, 1), ("c", 0.0, 0.0, 0.0, 2)], "points"),
        heat_map([[0, 0], [3, 1]], ["<a> & b", "2"], ["0", "1"]),
    ):
        assert picture.startswith("<svg") and "&lt;a&gt;" in picture and "<a>" not in picture
        assert "nan" not in picture and "inf" not in picture
        numbers = re.findall(r' (?:x|y|x1|x2|y1|y2|cx|cy|width|height)="([^"]+)"', picture)
        assert all(-50 < float(number) < 500 for number in numbers)


def test_one_system_alone(world):  # noqa: F811
    world.edit("[system EncDec+WFE]\ntraining = EncDec+WFE\n", "")
    assert world.run() == 0
    text = (world.out / "cats.md").read_text()
    assert "EncDec | beam 1" in text and "Examples" not in text


def test_curves_keep_the_last_of_a_repeated_epoch(tmp_path):
    lines = [
        '2024 | INFO | train | {"epoch": 1, "train_nll_loss": "9.5", "train_wfe_loss": "4"}',
        '2024 | INFO | valid | {"epoch": 1, "valid_nll_loss": "9"}',
        '2024 | INFO | valid | {"epoch": 1, "valid_nll_loss": "8"}',
        '2024 | INFO | valid | {"epoch": 2, "valid_nll_',
        "other",
    ]
    (tmp_path / "train.log").write_text("\n".join(lines))
    assert read_curves(tmp_path) == {
        "train_nll_loss": {1: 9.5}, "train_wfe_loss": {1: 4.0}, "valid_nll_loss": {1: 8.0},
    }  # fmt: skip
    assert read_curves(tmp_path / "missing") == {}
