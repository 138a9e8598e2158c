"""How the cost grows with the vocabulary, the batch, the length and the beam."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from benchmarks.contenders import Contender
from benchmarks.decoding import Decoders
from benchmarks.rounds import Spread, of_parts
from benchmarks.sizes import GROWTH, SMALL, Plan, Sizes
from benchmarks.training import FORWARD_BACKWARD, gradient_step, measure_training

BEAM = 5
# Of the plots, beside what is on the x axis of each.
X_LABELS = {
    "vocabulary": "words in the target vocabulary",
    "batch": "sentences in a batch",
    "length": "words of the source",
    "beam": "beam",
}


def with_length(base: Sizes, source_length: int) -> Sizes:
    """Targets and outputs grow with the source."""
    return replace(
        base,
        source_length=source_length,
        target_length=base.target_length * source_length // base.source_length,
        output_length=base.output_length * source_length // base.source_length,
    )


def settings(plan: Plan, base: Sizes = GROWTH) -> Iterator[tuple[str, int, Sizes]]:
    """Name of the curve, place on the x axis, sizes; of the curves that training and decoding both have."""
    for words in plan.vocabularies:
        yield "vocabulary", words, replace(base, target_words=words)
    for batch in plan.batches:
        yield "batch", batch, replace(base, batch=batch, decoding_batch=batch)
    for length in plan.lengths:
        yield "length", length, with_length(base, length)


def measure_growth(
    plan: Plan, contenders: Sequence[Contender], say: Callable[[str], None], time_is_up: Callable[[], bool]
) -> dict:
    """{training or decoding: {curve: {x: {contender: median seconds a batch}}}}, as far as there is time."""

    # The curves meet in their base, which is measured once.
    @functools.cache
    def training(sizes: Sizes) -> dict[str, float]:
        rounds = measure_training(sizes, plan.growth_rounds, gradient_step)
        return medians(of_parts(rounds, *FORWARD_BACKWARD))

    @functools.cache
    def decoding(sizes: Sizes, beam: int) -> dict[str, float]:
        return medians(Decoders(contenders, sizes).measure(beam, plan.growth_rounds))

    curves: dict = {"training": {}, "decoding": {}}
    points = []
    for prefix, base in (("small-", SMALL), ("", GROWTH)):
        for curve, x, sizes in settings(plan, base):
            points.append(("training", prefix + curve, x, functools.partial(training, sizes)))
            points.append(("decoding", prefix + curve, x, functools.partial(decoding, sizes, BEAM)))
        for beam in plan.beams:
            points.append(("decoding", prefix + "beam", beam, functools.partial(decoding, base, beam)))
    for number, (kind, curve, x, measured) in enumerate(points):
        if time_is_up():
            say(f"growth: no time for {len(points) - number} of {len(points)} points")
            break
        say(f"growth: {kind}, {curve} {x:,}")
        curves[kind].setdefault(curve, {})[x] = measured()
    return curves


def medians(rounds: Sequence[dict[str, float]]) -> dict[str, float]:
    return {key: Spread.of([one[key] for one in rounds]).median for key in rounds[0]}
