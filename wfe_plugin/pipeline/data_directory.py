"""The directory that wfe-preprocess makes: what may stand in its place, and how it gets there."""

import json
import re
import shutil
from pathlib import Path

from wfe_plugin.errors import UserError
from wfe_plugin.pipeline.treat import SETTINGS_FILE, SIDES

# What wfe-preprocess writes, or fairseq-preprocess for it, also with other options.
_SIDE = "|".join(SIDES)
_WRITTEN = re.compile(
    rf"{re.escape(SETTINGS_FILE)}|preprocess\.log|dict\.({_SIDE})\.txt|alignment\.{'-'.join(SIDES)}\.txt"
    rf"|bpe\.(({_SIDE})\.)?codes|bpe\.({_SIDE})\.pieces"
    rf"|(train|valid|test)\d*(\.align)?\.{'-'.join(SIDES)}(\.({_SIDE}))?(\.(bin|idx))?"
    rf"|text(/(valid|test)\d*\.({_SIDE}))?"
)


def already_done(out: Path, description: dict, overwrite: bool) -> bool:
    """Whether `out` holds just what is wanted. Raises if it holds something else."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return False
    try:
        stored = json.loads((out / SETTINGS_FILE).read_text(encoding="utf-8"))
        changes = [
            f"  {key}: " + ("other text" if part == "text" else f"{old.get(key)} there, {new.get(key)} wanted")
            for part, new in description.items()
            for old in [stored[part]]
            for key in {**old, **new}
            if old.get(key) != new.get(key)
        ]
    except (OSError, ValueError, KeyError, AttributeError):
        # Also with --overwrite: this may be the user's home directory.
        raise UserError(f"{out}: exists and was not made by wfe-preprocess; choose another --out") from None
    if changes and not overwrite:
        raise UserError(
            "\n".join(
                [f"{out}: was prepared from other text or with other settings:"]
                + changes
                + ["Choose another --out, or replace it with --overwrite (models trained on it depend on it)"]
            )
        )
    if overwrite:
        refuse_what_others_wrote(out)
    return not overwrite


def refuse_what_others_wrote(out: Path) -> None:
    """--overwrite would delete it: perhaps a model that was put there."""
    for path in sorted(out.rglob("*")):
        if not _WRITTEN.fullmatch(path.relative_to(out).as_posix()):
            raise UserError(
                f"{path}: not written by wfe-preprocess, and --overwrite would delete it: "
                "move it elsewhere, or choose another --out"
            )


def put_in_place(new: Path, out: Path, overwrite: bool) -> None:
    """Give the finished directory its name. Old data are gone only when the new are there."""
    if not overwrite or not out.exists():
        new.rename(out)  # fails if something is there, which another run may just have made
        return
    try:
        out.rename(moved_away(out))
        new.rename(out)
    finally:
        settle(out)


def settle(out: Path) -> None:
    """End a replacement, also one of a run that was killed: remove the old data, or put them back."""
    old = moved_away(out)
    if out.exists():
        shutil.rmtree(old, ignore_errors=True)
    elif old.exists():
        old.rename(out)


def moved_away(out: Path) -> Path:
    """Where old data are while new ones get their name."""
    return out.with_name(f".{out.name}.replaced")
