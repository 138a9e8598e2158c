"""Summaries by several processes, one per GPU or per core: each does a part, and the parts are joined."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Callable

import torch

from wfe_plugin.errors import UserError, option_of
from wfe_plugin.pipeline.child import ROOT
from wfe_plugin.pipeline.generate import NBEST, RECORD, SUMMARIES, Request, asked, check_places, deliver, references_of
from wfe_plugin.pipeline.parts import Part
from wfe_plugin.pipeline.work_directory import resolved, work_directory
from wfe_plugin.whole_files import write_json

CODE = "import sys; sys.path[0] = sys.argv.pop(1)\nfrom wfe_plugin.cli.generate import main; sys.exit(main())"


def generate(request: Request, count: int, say: Callable[[str], None]) -> None:
    """What :func:`wfe_plugin.pipeline.generate.generate` does, by so many processes."""
    check_places(request)
    out = resolved(request.out)
    out.mkdir(parents=True, exist_ok=True)
    with work_directory(out, ".parts-") as work:
        threads = request.threads or max(1, torch.get_num_threads() // count)
        parts = [
            replace(request, out=str(work), part=Part(number, count), threads=threads) for number in range(1, count + 1)
        ]
        run([command(part) for part in parts], work)
        deliver(request, lambda to: join(request, parts, to), references_of(request), say)


def command(request: Request) -> list[str]:
    """A command line of wfe-generate."""
    names = ("model", "out", "data", "split", "input", "beam", "nbest", "decoding", "threads")
    names += ("budget", "text_field", "budget_field")
    given = {name: getattr(request, name) for name in names if getattr(request, name) not in (None, "")}
    options = [text for name, value in given.items() for text in (option_of(name), str(value))]
    part = f"{request.part.number}/{request.part.count}"
    references = ["--references", *request.references] if request.references else []
    return [*options, "--part", part, *references, "--", *request.fairseq_options]


def run(commands: Sequence[Sequence[str]], work: Path) -> None:
    """All of them at once. The first that fails ends the others, and its error is ours."""
    errors = [work / f"errors.{number}" for number in range(len(commands))]
    children = []
    try:
        for number, (arguments, path) in enumerate(zip(commands, errors)):
            with open(path, "wb") as stream:
                child = [sys.executable, "-c", CODE, str(ROOT), *arguments]
                environment = {**os.environ, **own_gpu(number), "PYTHONUNBUFFERED": "1"}
                children.append(subprocess.Popen(child, stdin=subprocess.DEVNULL, stderr=stream, env=environment))
        while any(child.poll() is None for child in children) and not any(child.returncode for child in children):
            time.sleep(0.1)
    finally:
        for child in children:
            if child.poll() is None:
                child.terminate()
        for child in children:
            child.wait()
    for child, path in zip(children, errors):
        if child.returncode not in (0, 143):
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
