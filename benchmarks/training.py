"""The time of a training step, in its parts."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from time import perf_counter
from types import MappingProxyType

from benchmarks.contenders import TRAINING, Trainee, build_trainee
from benchmarks.data import middle_batch
from benchmarks.rounds import run_rounds
from benchmarks.sizes import Sizes

FORWARD_BACKWARD = ("forward", "backward")
EMPTY: Mapping[str, Callable] = MappingProxyType({})
PARTS = (*FORWARD_BACKWARD, "optimizer")


def training_step(trainee: Trainee, batch: dict) -> dict[str, float]:
    """Seconds of each part of a step as fairseq's trainer makes it."""
    started = perf_counter()
    loss, sample_size, _ = trainee.criterion(trainee.model, batch)
    forward = perf_counter()
    trainee.optimizer.backward(loss)
    del loss
    backward = perf_counter()
    trainee.optimizer.multiply_grads(1.0 / sample_size)
    trainee.optimizer.clip_grad_norm(trainee.clip_norm)
    trainee.optimizer.step()
    # fairseq does so before the next step. Here, gradients would wait for the other contenders.
    trainee.optimizer.zero_grad()
    done = perf_counter()
    return dict(zip(PARTS, (forward - started, backward - forward, done - backward)))


def gradient_step(trainee: Trainee, batch: dict) -> dict[str, float]:
    """Likewise, without the optimizer: it is left out of large models for their memory."""
    started = perf_counter()
    loss, _, _ = trainee.criterion(trainee.model, batch)
    forward = perf_counter()
    trainee.optimizer.backward(loss)
    done = perf_counter()
    trainee.optimizer.zero_grad()
    return dict(zip(FORWARD_BACKWARD, (forward - started, done - forward)))


def measure_training(
    sizes: Sizes, rounds: int, step=training_step, seconds: float = float("inf"), others: Mapping[str, Callable] = EMPTY
) -> list[dict]:
    """Rounds of {contender: {part: seconds}}.

    Args:
        seconds: see `run_rounds`
        others: who is measured besides: a function that makes a step, by contender
    """
    batch = middle_batch(sizes, sizes.batch)
    trainees = {contender.key: build_trainee(contender, sizes) for contender in TRAINING}
    steps = {key: lambda one=one: step(one, batch) for key, one in trainees.items()}
    result = run_rounds({**steps, **others}, rounds, seconds)
    del trainees, steps
    gc.collect()
    return result
