"""Where the time goes, by torch's profiler."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch.profiler import ProfilerActivity, profile

from benchmarks.contenders import Contender, build_trainee
from benchmarks.data import middle_batch
from benchmarks.decoding import Decoders
from benchmarks.sizes import Sizes
from benchmarks.tables import table
from benchmarks.training import training_step

OPERATORS = 12
BEAM = 5


def top_operators(run: Callable[[], object]) -> str:
    """The operators that take most time of the second call, without those that they call."""
    run()
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        run()
    operators = sorted(profiler.key_averages(), key=lambda event: event.self_cpu_time_total, reverse=True)
    total = sum(event.self_cpu_time_total for event in operators)
    rows = [
        [event.key[:60], f"{100 * event.self_cpu_time_total / total:.1f} %", f"{event.self_cpu_time_total / 1000:,.0f}", str(event.count)]
        for event in operators[:OPERATORS]
    ]
    return table([f"of {total / 1000:,.0f} ms", "share", "ms", "calls"], rows)


def print_profiles(contenders: Sequence[Contender], sizes: Sizes) -> None:
    for contender in contenders:
        if contender.only_decodes:
            continue
        batch = middle_batch(sizes, sizes.batch)
        trainee = build_trainee(contender, sizes)
        print(f"\nTraining step, {contender.name}, {sizes.name} sizes", flush=True)
        print(top_operators(lambda: training_step(trainee, batch)), flush=True)
        del trainee
    batch = middle_batch(sizes, sizes.decoding_batch)
    for contender in contenders:
        search = Decoders([contender], sizes).searches(BEAM)[contender.key]
        print(f"\nDecoding a batch, {contender.name}, {sizes.name} sizes, beam {BEAM}", flush=True)
        print(top_operators(lambda: search(batch)), flush=True)
