"""The demo's comparison: what it counts, and which examples it shows."""

from helpers import ROOT
from helpers.scripts import module_of

report = module_of(ROOT / "examples" / "demo" / "report.py")
ARTICLES = ["rome sentenced two men in court", "flood hits nagoya", "strike ends in oslo"]
REFERENCES = ["rome court jails two", "nagoya flood", "oslo strike ends"]
SYSTEMS = {
    "EncDec": ["rome jails rome", "nagoya nagoya flood", "oslo of of strike"],
    "default": ["rome court", "tokyo flood", "oslo strike"],
}


def test_examples_are_those_where_the_default_keeps_to_the_article():
    """The second names a city of its own; the third baseline repeats no content word."""
    assert report.choose(SYSTEMS, REFERENCES, ARTICLES) == [0]
    assert report.choose(dict(reversed(SYSTEMS.items())), REFERENCES, ARTICLES) == []


def test_table():
    lines = report.table(SYSTEMS, REFERENCES, ARTICLES).splitlines()
    rows = {line.split()[0]: line.replace(" %", "%").split()[1:] for line in lines[1:4]}
    assert rows["EncDec"][3:] == ["100.0%", "66.7%", "3.3"]
    assert rows["default"][3:] == ["0.0%", "66.7%", "2.0"]
    assert rows["references"] == ["0.0%", "66.7%", "3.0"]
