"""OpenNMT-py beside the others, from an environment of its own (examples/opennmt/run.sh makes one)."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

import torch

from benchmarks.data import middle_batch
from benchmarks.sizes import Sizes

KEY, NAME = "opennmt", "OpenNMT-py"
WORKER = Path(__file__).with_name("opennmt_worker.py")


class OpenNMT:
    """A process that has a model of given sizes, and measures when it is asked to."""

    def __init__(self, process: subprocess.Popen, sizes: Sizes):
        self.process, self.sizes = process, sizes
        self.peak = 0  # bytes

    def ask(self, question: str) -> dict:
        try:
            self.process.stdin.write(question + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise ChildProcessError("the process of OpenNMT-py has ended: see its error above")
        answer = json.loads(line)
        self.peak = answer.pop("peak")
        return answer

    def training_step(self) -> dict[str, float]:
        return self.ask("train")

    def search(self, beam: int) -> float:
        found = self.ask(f"decode {beam}")
        if found["lengths"] != [self.sizes.output_length]:
            raise ValueError(f"OpenNMT-py: outputs of {found['lengths']} words: times cannot be compared")
        return found["seconds"]


@contextmanager
def opennmt(environment: Path | None, sizes: Sizes) -> Iterator[OpenNMT | None]:
    """None without an environment (a directory that `python -m venv` made)."""
    if environment is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        tokens = {}
        for name, sentences in (("train", sizes.batch), ("decode", sizes.decoding_batch)):
            batch = middle_batch(sizes, sentences)
            tokens[name] = {"source": batch["net_input"]["src_tokens"], "target": batch["target"]}
        file = os.path.join(folder, "batch.pt")
        torch.save(tokens, file)
        given = {"sizes": asdict(sizes), "batch": file, "threads": torch.get_num_threads()}
        command = [str(environment / "bin" / "python"), str(WORKER), json.dumps(given)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            yield OpenNMT(process, sizes)
        finally:
            with suppress(BrokenPipeError):
                process.stdin.close()  # its loop ends
            process.wait()
