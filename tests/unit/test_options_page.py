"""docs/options.md says what the dataclasses say."""

import importlib.util

import pytest

from helpers import ROOT


@pytest.fixture(scope="module")
def options_page():
    spec = importlib.util.spec_from_file_location("options_page", ROOT / "scripts" / "options_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_current(options_page):
    current = options_page.PAGE.read_text(encoding="utf-8") == options_page.page()
    assert current, "run: python scripts/options_page.py"


def test_every_option_has_a_help_text(options_page):
    empty = [line for line in options_page.page().splitlines() if line.startswith("| `--") and line.endswith("|  |")]
    assert empty == []
