"""What has been done already, by what is on disk.

A step is finished when its record is there. The record holds a description of all that
determines the result, so that a changed configuration, or a changed input, is noticed.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from pathlib import Path

from wfe_plugin.whole_files import write_json


def read_json(path: Path):
    """The content of a file; None if there is no such file or it cannot be read as JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def fingerprint(content) -> str:
    """A short name for a JSON value, or for the bytes of a file."""
    data = content.read_bytes() if isinstance(content, Path) else json.dumps(content, sort_keys=True).encode()
    return hashlib.sha256(data).hexdigest()[:16]


@dataclass(frozen=True)
class Step:
    """Something to do once; `record` is the file that tells it was done."""

    name: str  # for people
    record: Path
    description: dict  # JSON values: lists, no tuples
    facts: tuple[str, ...] = ()  # what others read from the record

    def stored(self) -> dict:
        content = read_json(self.record)
        return content if isinstance(content, dict) else {}

    def is_finished(self) -> bool:
        stored = self.stored()
        whole = all(name in stored for name in self.facts)  # an older version may have noted less
        return whole and bool(stored.get("finished")) and stored.get("description") == self.description

    def changes(self) -> list[str]:
        """How the step differs from what its record tells of; nothing where it is new."""
        stored = self.stored().get("description")
        if not isinstance(stored, dict):
            return []
        wanted = self.description
        return [
            f"{key}: {shown(stored.get(key))} there, {shown(wanted.get(key))} wanted"
            for key in {**stored, **wanted}
            if stored.get(key) != wanted.get(key)
        ]

    def finish(self, **facts) -> None:
        self.note(finished=time.strftime("%Y-%m-%d %H:%M:%S"), **facts)

    def note(self, **facts) -> None:
        self.record.parent.mkdir(parents=True, exist_ok=True)
        write_json(self.record, {"description": self.description, **facts})

    def identity(self) -> str:
        """Changes whenever the step is done anew; later steps describe their input with it."""
        return fingerprint(self.stored())


def shown(value) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
