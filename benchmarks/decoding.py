"""The time of decoding a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter

from benchmarks.contenders import Contender, build_model, build_search
from benchmarks.data import middle_batch
from benchmarks.rounds import run_rounds
from benchmarks.sizes import Sizes
from benchmarks.training import EMPTY


class Decoders:
    """The contenders' models, for searches of several widths."""

    def __init__(self, contenders: Sequence[Contender], sizes: Sizes):
        self.contenders = contenders
        self.sizes = sizes
        models = {}  # contenders that differ in the search only share one
        for contender in contenders:
            if contender.model not in models:
                models[contender.model] = build_model(contender, sizes)[2].eval()
        self.models = models

    def searches(self, beam: int) -> dict:
        return {
            contender.key: build_search(contender, self.sizes, beam, self.models[contender.model])
            for contender in self.contenders
        }

    def measure(
        self, beam: int, rounds: int, seconds: float = float("inf"), others: Mapping[str, Callable] = EMPTY
    ) -> list[dict[str, float]]:
        """Rounds of {contender: seconds a batch}; the arguments are those of `measure_training`."""
        batch = middle_batch(self.sizes, self.sizes.decoding_batch)
        steps = self.sizes.steps
        searches = {
            key: lambda key=key, search=search: timed_search(key, search, batch, steps)
            for key, search in self.searches(beam).items()
        }
        return run_rounds({**searches, **others}, rounds, seconds)


def timed_search(name: str, search, batch: dict, steps: int) -> float:
    """Seconds; refuses a search that took other steps than the others."""
    started = perf_counter()
    hypotheses = search(batch)
    seconds = perf_counter() - started
    lengths = {len(one["tokens"]) for sentence in hypotheses for one in sentence}
    if lengths != {steps}:
        raise ValueError(f"{name}: outputs of {sorted(lengths)} words, not of {steps}: times cannot be compared")
    return seconds
