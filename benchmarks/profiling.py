"""Where the time goes, by torch's profiler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

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
    times = {event.key: (event.self_cpu_time_total / 1000, event.count) for event in profiler.key_averages()}
    total = sum(milliseconds for milliseconds, _ in times.values())
    slowest = sorted(times.items(), key=lambda item: item[1], reverse=True)[:OPERATORS]
    rows = [
        [operator[:60], f"{100 * milliseconds / total:.1f} %", f"{milliseconds:,.0f}", str(count)]
        for operator, (milliseconds, count) in slowest
    ]
    return table([f"of {total:,.0f} ms", "share", "ms", "calls"], rows)


def print_profiles(contenders: Sequence[Contender], sizes: Sizes) -> None:
    for contender in contenders:
        if contender.only_decodes:
            continue
        batch = middle_batch(sizes, sizes.batch)
        trainee = build_trainee(contender, sizes)
        print(f"\nTraining step, {contender.name}, {sizes.name} sizes", flush=True)
        print(top_operators(partial(training_step, trainee, batch)), flush=True)
    batch = middle_batch(sizes, sizes.decoding_batch)
    for contender in contenders:
        search = Decoders([contender], sizes).searches(BEAM)[contender.key]
        print(f"\nDecoding a batch, {contender.name}, {sizes.name} sizes, beam {BEAM}", flush=True)
        print(top_operators(partial(search, batch)), flush=True)
