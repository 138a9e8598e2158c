"""A room of the package imports only from rooms before it, so that a reader can follow it in one direction."""

import ast
from pathlib import Path

import pytest

from helpers import ROOT

PACKAGE = ROOT / "wfe_plugin"
BASE = ("errors", "standard_streams", "versions", "whole_files")  # modules that need nothing but Python
ROOMS = (
    BASE, ("method",), ("evaluation",), ("fairseq_fixes",), ("models",), ("generation",), ("criterions", "optim"),
    ("tasks",), ("pipeline",), ("huggingface",), ("experiment",), ("cli",),
)  # fmt: skip
ORDER = {name: place for place, room in enumerate(ROOMS) for name in room}
TESTS = sorted((ROOT / "tests").rglob("*.py"))
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.stem in BASE)


def room_of(path: Path) -> str:
    inside = path.relative_to(PACKAGE)
    return inside.parts[0] if len(inside.parts) > 1 else inside.stem


def imported(path: Path):
    """Modules of the package, also those imported inside of functions, without its name in front."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name.partition(".")[2] for name in names if name.startswith("wfe_plugin."))


def test_every_room_is_known():
    assert {room_of(path) for path in FILES} == set(ORDER)


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(PACKAGE)) for path in FILES])
def test_imports_come_from_earlier_rooms(path):
    room = room_of(path)
    for name in imported(path):
        other = name.split(".")[0]
        assert ORDER[other] < ORDER[room] or other == room, f"{room} imports {name}"


def test_the_method_knows_neither_fairseq_nor_transformers():
    for path in sorted((PACKAGE / "method").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [getattr(node, "module", "")]
            assert not {str(name).split(".")[0] for name in names} & {"fairseq", "transformers"}, path


def test_no_test_imports_another():
    for path in TESTS:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [getattr(node, "module", None)]
            assert not [name for name in names if (name or "").split(".")[-1].startswith("test_")], path


def test_every_module_says_what_it_is():
    for path in FILES:
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path


@pytest.mark.parametrize("path", [*FILES, *TESTS], ids=lambda path: str(path.relative_to(ROOT)))
def test_sizes(path):
    """A file is read in one sitting, and a function on one screen."""
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno - node.lineno < 60, node.name
