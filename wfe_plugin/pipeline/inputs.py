"""Text as people have it: plain, compressed, from standard input, or as JSON lines."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple, Optional

from wfe_plugin import standard_streams
from wfe_plugin.errors import UserError
from wfe_plugin.method.word_budgets import WordBudgets
from wfe_plugin.pipeline.text import clean, clean_lines, open_text

TEXT_FIELD = "text"


class Inputs(NamedTuple):
    """Texts in order, and the budgets of each if there are any."""

    texts: list[str]
    budgets: list[Optional[WordBudgets]] = []


def read_inputs(path: str, text_field: str = "", budget_field: str = "") -> Inputs:
    """One text per line.

    Args:
        path: of a file; compressed if it ends in .gz, "-" for standard input
        text_field: of JSON lines; default: none, but "text" if the file is called .jsonl or there is a budget field
        budget_field: of JSON lines; "" for none
    """
    name = "<stdin>" if path == "-" else path
    stream = standard_streams.opened("input").buffer if path == "-" else open_text(path)
    if not text_field and (budget_field or is_jsonl(path)):
        text_field = TEXT_FIELD
    lines = clean_lines(stream, name)
    if not text_field:
        return Inputs(list(lines))
    texts, budgets = [], []
    for number, record in enumerate(records(lines, name), start=1):
        texts.append(field_of(record, text_field, f"{name}:{number}"))
        if budget_field:
            try:
                budgets.append(WordBudgets.of(record.get(budget_field)))
            except (UserError, AttributeError) as error:
                raise UserError(f"{name}:{number}: {budget_field}: {error}") from None
    return Inputs(texts, budgets if any(budgets) else [])


def is_jsonl(path: str) -> bool:
    return path.removesuffix(".gz").endswith(".jsonl")


def records(lines: Iterator[str], name: str) -> Iterator[dict[str, Any]]:
    """The objects of JSON lines."""
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
        except ValueError as error:
            raise UserError(f"{name}:{number}: not JSON: {error}") from None
        if not isinstance(record, dict):
            raise UserError(f'{name}:{number}: not a JSON object, such as {{"{TEXT_FIELD}": ...}}')
        yield record


def field_of(record: dict[str, Any], field: str, place: str) -> str:
    """A text in a field of a JSON object."""
    if not isinstance(record.get(field), str):
        raise UserError(f"{place}: no text in the field {field!r}; the fields are: {', '.join(record)}")
    return clean(record[field])


def read_pairs(source: str, target: str, fields: Optional[tuple[str, str]] = None) -> Iterator[tuple[str, str]]:
    """Yield the line pairs of two files, which must have equally many lines, not all blank.

    Args:
        fields: of one file of JSON lines, which is source and target
    """
    if fields:
        with open_text(source) as stream:
            for number, record in enumerate(records(clean_lines(stream, source), source), start=1):
                place = f"{source}:{number}"
                yield field_of(record, fields[0], place), field_of(record, fields[1], place)
        return
    paths = (source, target)  # which may be the same file
    with open_text(source) as source_stream, open_text(target) as target_stream:
        sides = [clean_lines(source_stream, source), clean_lines(target_stream, target)]
        count, seen = 0, [False, False]
        while True:
            pair = [next(lines, None) for lines in sides]
            if None in pair:
                break
            count += 1
            seen = [before or bool(line) for before, line in zip(seen, pair)]
            yield pair[0], pair[1]
        if pair != [None, None]:
            longer = 1 if pair[0] is None else 0
            rest = 1 + sum(1 for _ in sides[longer])
            raise UserError(
                f"{paths[longer]}:{count + 1}: no partner line: {paths[longer]} has {count + rest} lines, "
                f"{paths[1 - longer]} has {count}"
            )
    for path, any_text in zip(paths, seen):
        if not any_text:
            raise UserError(f"{path}: all of its {count} lines are blank")
