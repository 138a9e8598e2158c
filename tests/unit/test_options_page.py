"""docs/options.md says what the dataclasses say."""

from helpers import ROOT
from helpers.scripts import module_of

options_page = module_of(ROOT / "scripts" / "options_page.py")


def test_the_page_is_current():
    current = options_page.PAGE.read_text(encoding="utf-8") == options_page.page()
    assert current, "run: python scripts/options_page.py"


def test_every_option_has_a_help_text():
    empty = [line for line in options_page.page().splitlines() if line.startswith("| `--") and line.endswith("|  |")]
    assert empty == []
