"""Peak memory of a contender that trains or decodes, in a process of its own."""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from pathlib import Path

import torch

from benchmarks.quiet import silence_fairseq
from benchmarks.sizes import PAPER, SETTINGS, Sizes

BYTES = 4  # of a float32
# Of a parameter: itself, its gradient and two moments of Adam.
COPIES = 4


def peak_memory() -> int:
    """Bytes that this process has had at most.

    Not `ru_maxrss` where it can be avoided: on Linux that also knows of the process that started this one.
    """
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    except OSError:
        pass
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def make_moments(trainee) -> None:
    """Adam's moments are there from the second step on: as after a first one."""
    for parameter in trainee.model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    trainee.optimizer.step()
    trainee.optimizer.zero_grad()


def measure_memory(key: str, sizes: Sizes, beam: int = 0) -> dict[str, int]:
    """Start a process that trains, or decodes with a beam; return its peak and its number of parameters."""
    command = [sys.executable, "-m", "benchmarks.memory", key, sizes.name, "--beam", str(beam)]
    done = subprocess.run(
        command, cwd=Path(__file__).resolve().parent.parent, stdout=subprocess.PIPE, check=True, text=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def added_by_wfe(memory: dict[str, dict[str, int]]) -> int:
    """Bytes of WFE beyond EncDec that are no parameters, gradients or moments of Adam."""
    shipped, encdec = memory["shipped"], memory["encdec"]
    parameters = shipped["parameters"] - encdec["parameters"]
    return shipped["peak"] - encdec["peak"] - COPIES * BYTES * parameters


def allowed(sizes: Sizes = PAPER) -> int:
    """What the goal allows, in bytes."""
    return 2 * sizes.batch * sizes.target_words * BYTES


def main() -> None:
    silence_fairseq()
    from benchmarks.contenders import TRAINING, TRANSFORMERS, build_trainee
    from benchmarks.data import middle_batch
    from benchmarks.decoding import Decoders
    from benchmarks.training import training_step

    contenders = {contender.key: contender for contender in (*TRAINING, *TRANSFORMERS)}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("contender", choices=list(contenders))
    parser.add_argument("sizes", choices=list(SETTINGS))
    parser.add_argument("--beam", type=int, default=0)
    arguments = parser.parse_args()
    sizes, contender = SETTINGS[arguments.sizes], contenders[arguments.contender]
    if arguments.beam:
        decoders = Decoders([contender], sizes)
        (model,) = decoders.models.values()
        decoders.searches(arguments.beam)[contender.key](middle_batch(sizes, sizes.decoding_batch))
    else:
        trainee = build_trainee(contender, sizes)
        model = trainee.model
        make_moments(trainee)
        training_step(trainee, middle_batch(sizes, sizes.batch))
    parameters = sum(parameter.numel() for parameter in model.parameters())
    print(json.dumps({"peak": peak_memory(), "parameters": parameters}))


if __name__ == "__main__":
    main()
