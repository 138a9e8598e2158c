"""Speed and memory of WFE beside stock fairseq, on random data.

Contenders: fairseq's own lstm (its bidirectional encoder has states of size 2H, since it cannot
sum the directions; the other sizes are the same), EncDec (wfe_lstm --without-wfe), WFE literal
(the paper's equations written down one by one, kept in the benchmark only), WFE as it is, and
the estimator `votes`, decoded as `auto` does; of training, also `votes` alone on a finished model.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
from dataclasses import asdict
from pathlib import Path

import torch

from benchmarks import commands, plots, profiling, tables
from benchmarks.contenders import ENCDEC, SHIPPED, TRAINING, TRANSFORMERS, VOTES, build_model, decoding_contenders
from benchmarks.decoding import Decoders
from benchmarks.goals import goals
from benchmarks.growth import measure_growth
from benchmarks.mask import count_mask_work, measure_mask
from benchmarks.memory import measure_memory
from benchmarks.sizes import FULL, PAPER, QUICK, SETTINGS, Plan, Sizes
from benchmarks.training import measure_training
from wfe_plugin.pipeline.memory import keep_freed_memory
from wfe_plugin.versions import versions

SHORTLIST = 1000
started = time.monotonic()


def say(message: str) -> None:
    print(f"[{time.monotonic() - started:5.0f} s] {message}", flush=True)


def measure(plan: Plan, shortlist: int) -> dict:
    """Everything; the keys of the result are those of the JSON file."""
    contenders = decoding_contenders(shortlist)
    if importlib.util.find_spec("onmt") is None:
        say("OpenNMT-py is not installed: left out (examples/opennmt compares it on one task)")
    results: dict = {
        "names": {one.key: one.name for one in (*TRAINING, *contenders, *TRANSFORMERS)},
        "versions": versions(),
        "threads": torch.get_num_threads(),
        "sizes": {name: asdict(sizes) for name, sizes in SETTINGS.items()},
        "memory": {},
        "training": {},
        "decoding": {},
    }
    # First, while this process itself is small.
    for key in plan.memory_of:
        say(f"memory: {results['names'][key]}, paper sizes")
        results["memory"][key] = measure_memory(key, PAPER)
    for name, rounds in plan.training_rounds.items():
        say(f"training: {name} sizes, {rounds} rounds")
        results["training"][name] = measure_training(SETTINGS[name], rounds)
    for name, sizes in SETTINGS.items():
        decoders = Decoders(contenders, sizes)
        results["decoding"][name] = {}
        for (size, beam), rounds in plan.decoding_rounds.items():
            if size == name:
                say(f"decoding: {name} sizes, beam {beam}, {rounds} rounds")
                results["decoding"][name][beam] = decoders.measure(beam, rounds)
        del decoders
    say("decoding: Transformers of the preset, beam 5")
    transformers = Decoders(TRANSFORMERS, SETTINGS["small"]).measure(5, plan.decoding_rounds["small", 5])
    results["decoding"]["transformer"] = {5: transformers}
    say("commands")
    results["help"] = commands.measure_help()
    say("preprocessing")
    results["preprocessing"] = commands.measure_preprocessing(plan.preprocessing)
    results["parameters"] = {size: count_parameters(sizes) for size, sizes in SETTINGS.items()}
    say("mask")
    results["mask"] = measure_mask(plan.vocabularies, plan.mask_rounds)
    results["mask_work"] = count_mask_work(plan.vocabularies)
    results["growth"] = measure_growth(plan, contenders, say)
    return results


def count_parameters(sizes: Sizes) -> dict[str, int]:
    """Of EncDec, and of the estimators beside it."""
    count = {
        one.key: sum(p.numel() for p in build_model(one, sizes)[2].parameters()) for one in (ENCDEC, SHIPPED, VOTES)
    }
    return {key: number - (0 if key == ENCDEC.key else count[ENCDEC.key]) for key, number in count.items()}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds and shorter curves: about five minutes")
    parser.add_argument("--profile", action="store_true", help="show instead which operators take the time")
    parser.add_argument("--sizes", choices=list(SETTINGS), default="paper", help="of --profile (default: %(default)s)")
    parser.add_argument(
        "--shortlist", type=int, default=SHORTLIST, metavar="N", help="for --wfe-shortlist (default: %(default)s)"
    )
    parser.add_argument("--out", type=Path, default=Path("bench-out"), help="directory (default: %(default)s)")
    return parser.parse_args()


def main() -> None:
    arguments = parse()
    keep_freed_memory()
    print(f"{torch.get_num_threads()} threads; a noisy machine makes noisy ratios")
    if arguments.profile:
        profiling.print_profiles(decoding_contenders(arguments.shortlist), SETTINGS[arguments.sizes])
        return
    arguments.out.mkdir(parents=True, exist_ok=True)
    results = measure(QUICK if arguments.quick else FULL, arguments.shortlist)
    reached = goals(results)
    results["goals"] = [{**asdict(goal), "met": goal.met} for goal in reached]
    (arguments.out / "bench.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    plots.write_plots(results["growth"], results["names"], arguments.out)
    say(f"written: {arguments.out}/bench.json and plots")
    print()
    print(tables.report(results))
    print("\nGoals")
    for goal in reached:
        print(f"  {goal.line()}")
