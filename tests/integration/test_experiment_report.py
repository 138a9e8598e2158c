"""The report of wfe-experiment, as HTML and as Markdown."""

import re
import textwrap
from html.parser import HTMLParser

import pytest

from wfe_plugin.experiment.report import csv, html, markdown
from wfe_plugin.experiment.report import document as doc
from wfe_plugin.experiment.report import text as console
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
from wfe_plugin.experiment.report.quality import length_shares
from wfe_plugin.experiment.report.verdicts import verdict
from wfe_plugin.experiment.report.view import is_best
from wfe_plugin.experiment.training_log import read_curves

OUTSIDE = re.compile(r"""(?:src|href|srcset|data|action)\s*=\s*["']?(?!#)[^"'\s>]|url\(|@import|https?:|//\w""", re.I)


@pytest.fixture
def report(lab):
    assert lab.run() == 0
    return build(lab.results())


def test_html_needs_nothing_from_outside(report):
    page = html.render(report)
    # Commands and the configuration are text, which may contain paths; summaries are links to files beside the page.
    page = re.sub(
        r'<pre>.*?</pre>|href="decodings/test/[^"/]+/(summaries.txt|explanations.html#text-[12])"', "", page, flags=re.S
    )
    assert not OUTSIDE.search(page)
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
    assert (
        "80.0 %" in text
        and "wfe-experiment cats.ini" in text
        and "wfe-train --data" in text
        and "wfe-generate --model" in text
    )
    assert "<svg" not in text


def test_training_curves_of_every_loss(lab):
    """One picture for the NLL of all; the further losses have scales of their own, so each its own picture."""
    lab.edit(
        "[system EncDec]\n",
        "[training EncDec]\nbaseline = yes\n[training EncDec+WFE]\n[training WFE]\n"
        "[training UL]\nbaseline = yes\noptions = -- --criterion nll_unlikelihood\n"
        "[system UL]\ntraining = UL\n[system WFE]\ntraining = WFE\n[system EncDec]\n",
    )
    assert lab.run() == 0
    page, text = ((lab.out / f"cats.{suffix}").read_text() for suffix in ("html", "md"))
    training = page[page.index('id="training"') :]
    captions = re.findall(r"<figcaption>(.*?)</figcaption>\n<svg", training)
    assert captions == [
        "Negative log-likelihood; pale: further seeds",
        "WFE: loss of the estimate; pale: further seeds",
        "EncDec+WFE: loss of the estimate; pale: further seeds",
        "UL: unlikelihood loss; pale: further seeds",
    ]
    rows = text[text.index("**UL: unlikelihood loss") :].splitlines()[2:6]
    assert rows[0] == "| epoch | UL, validation, seed 1 | UL, validation, seed 2 |"
    assert rows[2:] == ["| 1 | 0.500 | 0.500 |", "| 2 | 0.250 | 0.250 |"]


def test_names_with_signs_that_mean_something_elsewhere(lab):
    """Every row of a Markdown table has as many cells as the head; HTML shows the name as it is."""
    lab.edit("beams = 1 5", "beams = 1 5\nproposed = A|<b>")
    lab.edit("[system EncDec]\n", "[training A|<b>]\n[training EncDec]\nbaseline = yes\n[system EncDec]\n")
    lab.edit("[system EncDec+WFE]\ntraining = EncDec+WFE", "[system A|<b>]\ntraining = A|<b>")
    assert lab.run() == 0
    page, text = ((lab.out / f"cats.{suffix}").read_text() for suffix in ("html", "md"))
    tables = re.findall(r"(?:^\|.*\n)+", text, re.M)
    assert any("A\\|&lt;b>" in table.splitlines()[0] for table in tables)
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1, table
    assert "<b>" not in page and "A|&lt;b&gt;" in page


def test_many_systems_at_one_beam(lab):
    """Rows by system; colours by what a system is; the oracle in the tables but not in the pictures of gains."""
    lab.edit("beams = 1 5", "beams = 5")
    more = "".join(f"[system A{i}]\ntraining = EncDec\n" for i in range(6))
    more += "[system Perfect]\ntraining = EncDec+WFE\nrole = oracle\n"
    lab.edit("[system EncDec+WFE]\n", more + "[system EncDec+WFE]\n")
    lab.edit("beams = 5", "beams = 5\nproposed = EncDec+WFE")
    assert lab.run() == 0
    page, text = ((lab.out / f"cats.{suffix}").read_text() for suffix in ("html", "md"))
    table = text[text.index("**Table 2 of the paper") : text.index("**Each run")]
    assert [line.split(" | ")[0] for line in table.splitlines() if line.startswith("| ")] == [
        "| ", "| ---", "| EncDec", *(f"| A{i}" for i in range(6)), "| Perfect", "| EncDec+WFE",
    ]  # fmt: skip
    assert "best beam" not in text
    pictures = re.findall(r"<figcaption>(ROUGE-. against EncDec.*?)</figcaption>\n(<svg.*?</svg>)", page, re.S)
    assert len(pictures) == 3
    for caption, picture in pictures:
        assert caption.endswith("without the oracle")
        shown = re.findall(r"<text[^>]*>(.*?)</text>", picture)
        assert "Perfect" not in shown and {"A0", "A5", "EncDec+WFE", "alternative", "proposed"} <= set(shown)
        colours = re.findall(r"<circle[^>]*fill: var\(--s(\d)\)", picture)
        assert len(set(colours[:6])) == 1 and colours[6] != colours[0]
    gains = text[text.index("**Gains over EncDec at beam 5") :].splitlines()[2:]
    assert [line.split(" | ")[0] for line in gains[2:9]][-1] == "| Perfect"
    # Against the baseline, and against the best of the others.
    assert "**EncDec+WFE against EncDec at beam 5**" in text
    assert "**EncDec+WFE against A0, the best alternative, at beam 5**" in text


@pytest.mark.parametrize(
    "signs, said",
    [
        ([1, 1, 1], "better than X"),
        ([-1, -1, -1], "worse than X"),
        ([0, 0, 0], "not significantly different from X"),
        ([1, 0, 1], "better than X in ROUGE-1 and ROUGE-L only"),
        ([0, -1, 0], "worse than X in ROUGE-2 only"),
        ([1, -1, 0], "better than X in ROUGE-1, worse in ROUGE-2"),
    ],
)
def test_verdicts(signs, said):
    assert verdict(signs, "X") == said


def test_what_the_numbers_say(lab):
    """By hand: without WFE, two of three summaries repeat a word, and three sentences are too few for significance."""
    lab.edit("[system EncDec]\n", "[training EncDec]\nbaseline = yes\n[training EncDec+WFE]\n"
               "[training Added]\nadd wfe to = EncDec\n[system Perfect]\ntraining = EncDec\nrole = oracle\n"
               "[system EncDec]\n")  # fmt: skip
    lab.edit("beams = 1 5", "beams = 5\nbaseline = EncDec+WFE")
    lab.config.write_text(
        lab.config.read_text()
        + textwrap.dedent("""\
        [system Added]
        training = Added
        [system Again]
        training = EncDec+WFE
        compare with = EncDec+WFE
          EncDec
        """)
    )
    assert lab.run() == 0
    text = (lab.out / "cats.md").read_text()
    said = text[text.index("## What the numbers say") : text.index("## ROUGE")].split("\n\n")
    assert "one model per system" not in said[1]  # there are two seeds
    sentences = {sentence.split(" is ")[0]: sentence for sentence in said[2:] if sentence}
    assert list(sentences) == ["Perfect", "EncDec", "Added", "Again"]
    # On top of EncDec: compared with it, and not with the baseline or the oracle.
    assert re.fullmatch(
        r"Added is .* EncDec \(\+[\d.]+, \+[\d.]+, \+[\d.]+\)\. 0.0 % of its summaries repeat a word \(EncDec: 66.7 %, "
        r"the references: 0.0 %\), and they have 2.0 words \(EncDec: 2.3, the references: 2.3\)\.",
        sentences["Added"],
    )
    assert sentences["Again"].startswith(
        "Again is not significantly different from EncDec+WFE (+0.00, +0.00, +0.00) and "
    )
    assert "EncDec+WFE (-" in sentences["EncDec"]
    assert "| EncDec+WFE | 1.23 | 2 (1), 2 (1) | 1.5 | 1.5 |" in text
    assert "| Added (on top of EncDec) | 1.23 | 2 (1), 2 (1) | 1.5 | 3.0 |" in text


def test_table_4_names_its_model(report):
    """The Markdown twin has no pictures, so its tables must tell all by themselves."""
    text = markdown.render(report)
    rows = text[text.index("**Table 4 of the paper, EncDec+WFE, seed 1:") :].splitlines()[2:5]
    assert rows[2] == "| true 1 | 1 (20 %) | 4 (80 %) | 0 (0 %) | 0 (0 %) | 0 (0 %) |"
    assert "| EncDec+WFE | seed 1 | 80.0 % | 90.0 % | 12 |" in text
    assert "**Length of the summaries, beam 5, first seed: share" in text


def test_marks_of_significance_take_no_room():
    cells = [doc.Cell("+1.20‡", "-0.50†", second="+0.10"), doc.Cell("1.20")]
    page = html.render(doc.Document("t", "", [doc.Table("", ["", "a", "b"], [doc.Row("x", cells)])]))
    assert re.findall(r"<td>.*?</td>", page) == [
        '<td>+1.20<span class="sign">‡</span><span class="detail">-0.50<span class="sign">†</span></span>'
        '<span class="detail">+0.10</span></td>',
        "<td>1.20</td>",
    ]
    assert re.search(r"\.sign \{[^}]*width: 0", page)


def test_the_longest_summaries_share_a_place():
    """By hand: 97 of 100 have two words or fewer; those of 3 and of 90 words count as three or more."""
    texts = {"a": ["one two"] * 97 + ["one two three"] * 2 + ["word " * 90], "b": ["", "one"]}
    assert length_shares(texts) == ({"a": [0.0, 0.0, 97.0, 3.0], "b": [50.0, 50.0, 0.0, 0.0]}, 3, True)
    assert length_shares({"b": ["", "one"]}) == ({"b": [50.0, 50.0]}, 1, False)


def test_labels_stand_above_the_mark():
    """What is drawn later lies above."""
    picture = bar_chart([("a", 0.4, 1), ("b", 9.0, 2)], "%", ("references", 0.5), [("baseline", 1), ("WFE", 2)])
    mark = picture.index('class="axis"')
    assert all(picture.index(f">{label}<") > mark for label in ("a", "b", "0.4", "9.0"))
    assert ">baseline<" in picture and ">WFE<" in picture
    assert ">baseline<" not in bar_chart([("a", 0.4, 1)], "%", key=[("baseline", 1)])


def test_markdown_escapes():
    assert markdown.plain("a*b_c|d <e> & [f](g) `h`") == "a\\*b\\_c\\|d &lt;e> &amp; \\[f\\](g) \\`h\\`"
    assert markdown.plain("# no heading") == "\\# no heading" and markdown.plain("+1.5") == "+1.5"
    code = markdown.render(doc.Document("t", "", [doc.Code("c", "a\n```\nb")]))
    assert "````\na\n```\nb\n````" in code


def test_marked_words():
    assert doc.repeated_words("The oil of the OIL") == [
        ("The", True), ("oil", True), ("of", False), ("the", True), ("OIL", True),
    ]  # fmt: skip
    assert repeats("oil of oil") and repeats("of of oil") and not repeats("of oil") and not repeats("")


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


def test_one_system_alone(lab):
    lab.edit("[system EncDec+WFE]\ntraining = EncDec+WFE\n", "")
    assert lab.run() == 0
    text = (lab.out / "cats.md").read_text()
    assert "EncDec | beam 1" in text and "Examples" not in text


def test_curves_keep_the_last_of_a_repeated_epoch(tmp_path):
    lines = [
        '2024 | INFO | train | {"epoch": 1, "train_nll_loss": "9.5", "train_wfe_loss": "4"}',
        '2024 | INFO | valid | {"epoch": 1, "valid_nll_loss": "9"}',
        '2024 | INFO | valid | {"epoch": 1, "valid_nll_loss": "8", "valid_unlikelihood_loss": "0.5"}',
        '2024 | INFO | valid | {"epoch": 2, "valid_nll_',
        "other",
    ]
    (tmp_path / "train.log").write_text("\n".join(lines))
    assert read_curves(tmp_path) == {
        "train_nll_loss": {1: 9.5}, "train_wfe_loss": {1: 4.0}, "valid_nll_loss": {1: 8.0},
        "valid_unlikelihood_loss": {1: 0.5},
    }  # fmt: skip
    assert read_curves(tmp_path / "missing") == {}


def test_nothing_is_best_where_all_are_equal():
    assert is_best(2, [1, 2]) and not is_best(1, [1, 2])
    assert not is_best(0.0, [0.0, 0.0, 0.0])


TABLE = doc.Table(
    "Caption, with: signs",
    ["", "a", "b"],
    [doc.Row("x, y", [doc.Cell("1.5", "+0.5"), doc.Cell("2")], "G"), doc.Row("z", [doc.Cell("10"), doc.Cell("")], "G")],
)


def test_a_table_as_csv():
    assert csv.render(TABLE) == 'group,row,a,"a, detail",b\nG,"x, y",1.5,+0.5,2\nG,z,10,,\n'
    document = doc.Document("t", "", [doc.Heading("h"), TABLE, doc.Picture("<svg/>", "p", TABLE)])
    assert list(csv.file_names(document).values()) == ["02-caption-with-signs.csv"]  # the same table twice


def test_a_table_on_the_console():
    assert console.render(TABLE).splitlines() == ["Caption, with: signs", "        a  b", "x, y  1.5  2", "z      10"]


def test_tables_and_outputs_are_beside_the_page(lab, capsys):
    assert lab.run() == 0
    shown = capsys.readouterr().out
    assert re.search(r"^EncDec\+WFE +\S+", shown, re.M) and "report: " in shown.splitlines()[-1]
    page = (lab.out / "cats.html").read_text()
    links = re.findall(r'href="([^#"]+)"', page)
    assert all((lab.out / link).is_file() for link in links)
    assert sum(link.endswith(".csv") for link in links) == len(list((lab.out / "cats-tables").iterdir())) > 5
    assert sum(link.endswith("summaries.txt") for link in links) == 8  # two systems, beams and seeds
    side_by_side = next((lab.out / "cats-tables").glob("*-all-systems-at-beam-5*"))
    assert side_by_side.read_text().splitlines()[2].startswith("Baseline,EncDec,")


def test_repetition_in_short_counts_any_word(lab):
    """A baseline that says "to to" repeats itself."""
    lab.edit("title", "proposed = EncDec+WFE\ntitle")
    worker = lab.scripts / "worker"
    worker.write_text(worker.read_text().replace('"one one"', '"to to"').replace('"cats cats & cats"', '"cats"'))
    assert lab.run() == 0
    text = (lab.out / "cats.md").read_text()
    assert "| repeating, % | 33.3 | 0.0 | -33.3 | 0.0 |" in text
    assert "Summaries that repeat any word, beam" in (lab.out / "cats.html").read_text()


def test_examples_of_gains_and_losses_with_their_sources(lab):
    worker = lab.scripts / "worker"
    right = 'else ["cats & dogs", "one <b>", "third"]'
    worker.write_text(worker.read_text().replace(right, 'else ["cats & dogs", "one <b>", "wrong"]'))
    assert lab.run() == 0
    text = (lab.out / "cats.md").read_text()
    gains = text[text.index("### Where EncDec+WFE gains most") : text.index("### Where EncDec+WFE loses most")]
    losses = text[text.index("### Where EncDec+WFE loses most") : text.index("## Training")]
    assert "- Source: a long story" in gains and "- Source: another" in gains and "- EncDec: **one** **one**" in gains
    assert "- Source: third" in losses and "- EncDec+WFE: wrong" in losses


def test_is_it_still_a_summary(lab):
    assert lab.run() == 0
    text = (lab.out / "cats.md").read_text()
    rows = text[text.index("**Length, and where the words come from") :].splitlines()[2:7]
    assert rows[0] == "|  | words | copied, % | invented, % | perplexity |"
    # Of "cats dogs", "one b", "third", two are in their source, and none is invented; the references have "a" as well.
    assert rows[2] == "| References | 2.3 | 33.3 | 0.0 | 14.0 |"
    assert rows[4].startswith("| EncDec+WFE | 2.0 | 40.0 | 0.0 | ")


def test_models_that_have_learnt_nothing_are_named(lab):
    """Ten sentences, of which one system knows nothing."""
    for name in ("wfe-preprocess", "worker"):
        script = lab.scripts / name
        content = script.read_text()
        if name == "wfe-preprocess":
            content = content.replace(
                "names = dict",
                'lines = "".join(f"word{n}\\n" for n in range(10))\n'
                'for side in ("source", "target"):\n    open(out + f"/text/test.{side}", "w").write(lines)\nnames = dict',
            )
        else:
            content = content.replace(
                '    if kind == "tune":',
                '    lines = 10 * ["same"] if off else [f"word{n}" for n in range(10)]\n    if kind == "tune":',
            )
        script.write_text(content)
    assert lab.run() == 0
    text = (lab.out / "cats.md").read_text()
    warning = text[text.index("**Warning:**") :].splitlines()[0]
    assert warning.startswith("**Warning:** The summaries of EncDec match their own references hardly better")
    assert 'class="warning"' in (lab.out / "cats.html").read_text()
