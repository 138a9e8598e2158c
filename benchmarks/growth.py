"""How the cost grows with the vocabulary, the batch, the length and the beam."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from benchmarks.contenders import Contender
from benchmarks.decoding import Decoders
from benchmarks.rounds import Spread, of_parts
from benchmarks.sizes import GROWTH, Plan, Sizes
from benchmarks.training import FORWARD_BACKWARD, gradient_step, measure_training

BEAM = 5
# Of the plots, beside what is on the x axis of each.
X_LABELS = {
    "vocabulary": "words in the target vocabulary",
    "batch": "sentences in a batch",
    "length": "words of the source",
    "beam": "beam",
}


def with_length(source_length: int) -> Sizes:
    """Targets and outputs grow with the source."""
    return replace(
        GROWTH,
        source_length=source_length,
        target_length=GROWTH.target_length * source_length // GROWTH.source_length,
        output_length=GROWTH.output_length * source_length // GROWTH.source_length,
    )


def settings(plan: Plan) -> Iterator[tuple[str, int, Sizes]]:
    """Name of the curve, place on the x axis, sizes; of the curves that training and decoding both have."""
    for words in plan.vocabularies:
        yield "vocabulary", words, replace(GROWTH, target_words=words)
    for batch in plan.batches:
        yield "batch", batch, replace(GROWTH, batch=batch, decoding_batch=batch)
    for length in plan.lengths:
        yield "length", length, with_length(length)


def measure_growth(plan: Plan, contenders: Sequence[Contender], say: Callable[[str], None]) -> dict:
    """{training or decoding: {curve: {x: {contender: median seconds a batch}}}}."""
    curves: dict = {"training": {}, "decoding": {}}

    def keep(kind: str, curve: str, x: int, rounds: list[dict[str, float]]) -> None:
        medians = {key: Spread.of([one[key] for one in rounds]).median for key in rounds[0]}
        curves[kind].setdefault(curve, {})[x] = medians

    for curve, x, sizes in settings(plan):
        say(f"growth: {curve} {x:,}")
        rounds = measure_training(sizes, plan.growth_rounds, gradient_step)
        keep("training", curve, x, of_parts(rounds, *FORWARD_BACKWARD))
        keep("decoding", curve, x, Decoders(contenders, sizes).measure(BEAM, plan.growth_rounds))
    decoders = Decoders(contenders, GROWTH)
    for beam in plan.beams:
        say(f"growth: beam {beam}")
        keep("decoding", "beam", beam, decoders.measure(beam, plan.growth_rounds))
    return curves
