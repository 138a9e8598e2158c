"""The sections of a configuration file, and how to complain about them."""

from __future__ import annotations

import configparser
import difflib
import shlex
from pathlib import Path

from wfe_plugin.errors import UserError


class Section:
    """One section of the file; knows how to complain about its keys."""

    def __init__(self, file: Path, name: str, content: dict, keys: str):
        self.file, self.name, self.content = file, name, content
        known = keys.split(", ")
        for key in content:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"known keys: {keys}"
                self.fail(key, f"unknown key; {hint}")

    def fail(self, key: str, message: str):
        raise UserError(f"{self.file}: [{self.name}] {key}: {message}")

    def text(self, key: str, default: str | None = None) -> str:
        value = self.content.get(key, "").strip() or default
        if value is None:
            self.fail(key, "is missing")
        return value

    def words(self, key: str) -> tuple[str, ...]:
        return self.split(key, self.text(key, ""))

    def split(self, key: str, value: str) -> tuple[str, ...]:
        try:
            return tuple(shlex.split(value))
        except ValueError as error:
            self.fail(key, f"{error}; quote as in a shell")

    def choice(self, key: str, choices, default: str | None = None) -> str:
        value = self.text(key, default)
        if value not in choices:
            self.fail(key, f"{value!r} is not one of {', '.join(choices)}")
        return value

    def yes_or_no(self, key: str) -> bool:
        return self.choice(key, ("yes", "no"), "no") == "yes"

    def numbers(self, key: str, default: str, least: int) -> tuple[int, ...]:
        values = self.text(key, default).replace(",", " ").split()
        for value in values:
            if not value.isdecimal() or int(value) < least:
                self.fail(key, f"{value!r} is not a whole number of at least {least}")
        if not values:
            self.fail(key, f"is empty; write, for example: {default}")
        numbers = tuple(map(int, values))
        if len(set(numbers)) < len(numbers):
            self.fail(key, "a number is duplicated")
        return numbers

    def number(self, key: str, default: str, least: int) -> int:
        numbers = self.numbers(key, default, least)
        if len(numbers) > 1:
            self.fail(key, "give one number only")
        return numbers[0]

    def path(self, value: str) -> Path:
        """Paths are relative to the configuration file."""
        return (self.file.parent / value).absolute()


def read_text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"{file}: is not UTF-8 text") from None
    except OSError as error:
        raise UserError(f"{file}: cannot be read ({error.strerror})") from None


def parse(file: Path, text: str) -> dict[tuple[str, str], dict[str, str]]:
    """The sections by kind and name: `[system EncDec]` is ("system", "EncDec")."""
    parser = configparser.ConfigParser(
        interpolation=None,  # % is nothing special
        delimiters=("=",),
        inline_comment_prefixes=("#",),
        default_section="",  # no section hands its keys down to the others
    )
    try:
        parser.read_string(text, str(file))
    except configparser.DuplicateOptionError as error:
        raise UserError(f"{file}: [{error.section}] {error.option}: is duplicated (line {error.lineno})") from None
    except configparser.DuplicateSectionError as error:
        raise UserError(f"{file}: [{error.section}] is duplicated (line {error.lineno})") from None
    except configparser.MissingSectionHeaderError as error:
        raise UserError(f"{file}, line {error.lineno}: a [section] must come first") from None
    except configparser.ParsingError as error:
        line, content = error.errors[0]
        raise UserError(f"{file}, line {line}: expected key = value, found {content}") from None
    sections = {}
    for name in parser.sections():
        kind, _, rest = name.strip().partition(" ")
        sections[kind, rest.strip()] = dict(parser[name])
    return sections
