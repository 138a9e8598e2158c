"""Summaries by several processes, one per GPU or per core: each does a part, and the parts are joined.

Parts that are finished when another one fails are kept, and the same command goes on from there.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Callable

import torch

from wfe_plugin.errors import UserError, option_of
from wfe_plugin.pipeline import checkpoints
from wfe_plugin.pipeline.child import ROOT
from wfe_plugin.pipeline.generate import NBEST, RECORD, SUMMARIES, Request, asked, check_places, deliver, references_of
from wfe_plugin.pipeline.parts import Part
from wfe_plugin.pipeline.summarizer import find_data, find_models
from wfe_plugin.pipeline.treat import SETTINGS_FILE
from wfe_plugin.pipeline.work_directory import locked, resolved
from wfe_plugin.versions import versions
from wfe_plugin.whole_files import write_json

CODE = "import sys; sys.path[0] = sys.argv.pop(1)\nfrom wfe_plugin.cli.generate import main; sys.exit(main())"


def generate(request: Request, count: int, say: Callable[[str], None]) -> None:
    """What :func:`wfe_plugin.pipeline.generate.generate` does, by so many processes."""
    check_places(request)
    out = resolved(request.out)
    out.mkdir(parents=True, exist_ok=True)
    threads = request.threads or max(1, torch.get_num_threads() // count)
    with directory_of_parts(out, fingerprint(request, count, threads)) as work:
        parts = [
            replace(request, out=str(work), part=Part(number, count), threads=threads) for number in range(1, count + 1)
        ]
        missing = [part for part in parts if not part.file(RECORD).exists()]
        if len(missing) < count:
            say(f"{count - len(missing)} of {count} parts are finished; the others are done now")
        run([command(part) for part in missing], work, say)
        deliver(request, lambda to: join(request, parts, to), references_of(request), say)


def fingerprint(request: Request, count: int, threads: int) -> str:
    """Of all that finished parts depend on: they are not joined with parts that were made otherwise."""
    models = find_models(request.model)
    data = find_data({path: checkpoints.load(path, for_fairseq=True) for path in models}, request.data)
    files = [*models, data / SETTINGS_FILE, *filter(None, [request.input])]
    states = [(str(file), os.stat(file).st_size, os.stat(file).st_mtime_ns) for file in files]
    return hashlib.sha256(json.dumps([asked(request), count, threads, versions(), states]).encode()).hexdigest()[:16]


@contextmanager
def directory_of_parts(out: Path, name: str) -> Iterator[Path]:
    """A directory that outlives a failure if a part in it is finished; parts of other requests are removed."""
    work = out / f".parts-{name}"
    for left in set(out.glob(".parts-*")) - {work}:
        with suppress(OSError), locked(left):  # or in use
            shutil.rmtree(left, ignore_errors=True)
    work.mkdir(exist_ok=True)
    try:
        with locked(work):
            try:
                yield work
            except BaseException:
                if not any(work.glob("generation.*")):
                    shutil.rmtree(work, ignore_errors=True)
                raise
            shutil.rmtree(work, ignore_errors=True)
    except BlockingIOError:
        raise UserError(f"{out}: another wfe-generate is making the same summaries; wait until it ends") from None


def command(request: Request) -> list[str]:
    """A command line of wfe-generate."""
    names = ("model", "out", "data", "split", "input", "beam", "nbest", "decoding", "threads")
    names += ("budget", "text_field", "budget_field")
    given = {name: getattr(request, name) for name in names if getattr(request, name) not in (None, "")}
    options = [text for name, value in given.items() for text in (option_of(name), str(value))]
    part = f"{request.part.number}/{request.part.count}"
    references = ["--references", *request.references] if request.references else []
    return [*options, "--part", part, *references, "--", *request.fairseq_options]


def run(commands: Sequence[Sequence[str]], work: Path, say: Callable[[str], None]) -> None:
    """All of them at once. If one fails, the others go on: what they finish need not be done again."""
    errors = [work / f"errors.{number}" for number in range(len(commands))]
    children = []
    try:
        for number, (arguments, path) in enumerate(zip(commands, errors)):
            with open(path, "wb") as stream:
                child = [sys.executable, "-c", CODE, str(ROOT), *arguments]
                environment = {**os.environ, **own_gpu(number), "PYTHONUNBUFFERED": "1"}
                children.append(subprocess.Popen(child, stdin=subprocess.DEVNULL, stderr=stream, env=environment))
        told = False
        while any(child.poll() is None for child in children):
            if any(child.returncode for child in children) and not told:
                say("warning: one of the processes has failed; the others go on")
                told = True
            time.sleep(0.1)
    finally:
        for child in children:
            if child.poll() is None:
                child.terminate()
        for child in children:
            child.wait()
    for child, path in zip(children, errors):
        if child.returncode != 0:
            raise UserError(what_failed(child.returncode, path.read_text(encoding="utf-8", errors="replace")))


def what_failed(status: int, output: str) -> str:
    lines = output.strip().splitlines()
    if status < 0:
        return f"one of the processes was ended by signal {-status}: is there enough memory?"
    if lines and ": error: " in lines[-1]:
        return lines[-1].split(": error: ", 1)[1]
    return "\n".join(["one of the processes failed:", *lines[-15:]])


def own_gpu(number: int) -> dict[str, str]:
    """The environment in which a process sees one GPU, in turn."""
    if not torch.cuda.is_available():
        return {}
    visible = os.environ.get("CUDA_VISIBLE_DEVICES") or ",".join(map(str, range(torch.cuda.device_count())))
    gpus = visible.split(",")
    return {"CUDA_VISIBLE_DEVICES": gpus[number % len(gpus)]}


def join(request: Request, parts: Sequence[Request], directory: Path) -> None:
    """The files of all parts, one after the other."""
    for name in (SUMMARIES, NBEST):
        with open(directory / name, "wb") as joined:
            for part in parts:
                with open(part.file(name), "rb") as file:
                    shutil.copyfileobj(file, joined)
    record = json.loads(parts[0].file(RECORD).read_text(encoding="utf-8"))
    write_json(directory / RECORD, {**record, "request": asked(request), "processes": len(parts)})
