"""What the cases of bad_input.py work with: text, data and models, good and spoilt."""

import itertools
import os
import shutil
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

TESTS = Path(__file__).resolve().parents[1]
sys.path[0:0] = [str(TESTS), str(TESTS.parent)]

import torch

from helpers.bad_world import Hostile, binarize, checkpoint, state_of
from helpers.tiny_training import write_text


@dataclass
class World:
    folder: Path

    def __getattr__(self, name: str) -> Path:
        return self.folder / name


def make_world(folder: Path) -> World:
    """Text, data, and models that have learnt nothing."""
    make(folder / "open")  # for outputs
    write_text(folder, (("train", 200), ("valid", 12), ("test", 11)))
    with quiet(folder / "preparing.log"):
        binarize(folder / "data", "a b c d e f g h i j")
        binarize(folder / "other", "x y z u")
        for split, side in itertools.product(("train", "valid", "test"), ("source", "target")):
            (folder / "data" / "text").mkdir(exist_ok=True)
            shutil.copy(folder / "data-text" / f"all.{side}", folder / "data" / "text" / f"{split}.{side}")
        torch.save(checkpoint(folder / "data"), folder / "good.pt")
        torch.save(checkpoint(folder / "data", "--without-wfe"), folder / "no-head.pt")
        torch.save(transformer(folder / "data"), folder / "transformer.pt")
    shutil.copy(folder / "good.pt", make(folder / "model") / "checkpoint_best.pt")
    world = World(folder)
    spoil_checkpoints(world)
    spoil_data(world)
    spoil_text(world)
    return world


def transformer(data: Path) -> dict:
    """A stock model of fairseq's own task."""
    sizes = [f"--{side}-{name}={value}" for side in ("encoder", "decoder")
             for name, value in (("embed-dim", 8), ("ffn-embed-dim", 8), ("attention-heads", 1), ("layers", 1))]  # fmt: skip
    return state_of(
        [str(data), "--task", "translation", "--arch", "transformer", "-s", "source", "-t", "target", *sizes]
    )


def make(folder: Path) -> Path:
    folder.mkdir()
    return folder


@contextmanager
def quiet(log: Path):
    """For commands whose output is of no interest."""
    sys.stdout.flush()
    kept = os.dup(1), os.dup(2)
    with open(log, "a") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    try:
        yield
    finally:
        sys.stdout.flush()
        for number, descriptor in enumerate(kept, start=1):
            os.dup2(descriptor, number)
            os.close(descriptor)


def spoil_checkpoints(world: World) -> None:
    good = world.folder / "good.pt"
    content, state = good.read_bytes(), torch.load(good)
    (world.folder / "directory.pt").mkdir()
    (world.folder / "cut.pt").write_bytes(content[: len(content) // 2])
    (world.folder / "empty.pt").write_bytes(b"")
    (world.folder / "text.pt").write_text("hello\n" * 100)
    torch.save([1, 2], world.folder / "list.pt")
    torch.save(state["model"], world.folder / "bare.pt")
    torch.save({"model": state["model"]}, world.folder / "no-cfg.pt")
    nan = {name: weights * float("nan") for name, weights in state["model"].items()}
    torch.save({**state, "model": nan}, world.folder / "diverged.pt")
    victim = str(world.folder / "VICTIM")
    torch.save({**state, "model": Hostile("open", victim)}, world.folder / "hostile.pt")
    torch.save({**state, "extra_state": Hostile("system", victim)}, world.folder / "hostile-state.pt")
    # fairseq's fconv evaluates these options.
    convolutional = state_of([str(world.data), "--task", "translation", "--arch", "fconv", "-s", "source", "-t", "target",
                              "--encoder-layers", "[(8, 3)]", "--decoder-layers", "[(8, 3)]"])  # fmt: skip
    convolutional["cfg"]["model"].encoder_layers = f"[(8, 3)] if open({victim!r}, 'w') else []"
    torch.save(convolutional, world.folder / "hostile-options.pt")
    old = {"_use_new_zipfile_serialization": False}
    torch.save({**state, "cfg": Hostile("system", victim)}, world.folder / "hostile-old.pt", **old)


def spoil_data(world: World) -> None:
    def copy(name: str) -> Path:
        return Path(shutil.copytree(world.data, world.folder / name))

    for file in (
        "treatment.json",
        "dict.target.txt",
        "valid.source-target.target.idx",
        "test.source-target.target.idx",
    ):
        (copy(f"without-{file}") / file).unlink()
    for split in ("train", "valid", "test"):
        name = f"{split}.source-target.source.bin"
        directory = copy(f"cut-{name}")
        os.truncate(directory / name, 5)
    for name, content in {
        "empty": b"",
        "no-counts": b"a\nb\n",
        "latin-1": b"caf\xe9 3\n",
        "NUL": b"a\0 1 1\n",
    }.items():
        directory = copy(f"dictionary-{name}")
        for side in ("source", "target"):
            (directory / f"dict.{side}.txt").write_bytes(content)
    (copy("broken-treatment") / "treatment.json").write_text("{")
    (world.folder / "file").write_text("a file\n")
    make(world.folder / "empty-directory")


TEXT: dict[str, Optional[bytes]] = {
    "missing": None,
    "empty": b"",
    "latin-1": b"a\nb\xe9\nc\n",
    "utf-16": "a\nb\nc\n".encode("utf-16"),
    "NUL": b"a\nb\0\nc\n",
    "blank": b"\n \n\t\n",
    "long": b"a\n" + b"a " * 100_000 + b"\nb\n",
    "short": b"a\nb\n",
    "unreadable": b"a\nb\nc\n",
    "CRLF": b"a b\r\nb\r\nc\r\n",
    "BOM": b"\xef\xbb\xbfa b\nb\nc\n",
    "unseen": b"never seen\nnothing of it\nat all\n",
    "good": b"a b c\nb\nc\n",
}
ACCEPTED = {"CRLF", "BOM", "unseen", "good"}


def spoil_text(world: World) -> None:
    folder = make(world.folder / "bad")
    for name, content in TEXT.items():
        if content is not None:
            (folder / name).write_bytes(content)
    (folder / "unreadable").chmod(0)
    (folder / "directory").mkdir()


def clear(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place, ignore_errors=True)
    else:
        with suppress(OSError):
            place.unlink()
