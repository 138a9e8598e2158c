"""Speed and memory of WFE beside stock fairseq, on random data.

Contenders: fairseq's own lstm (its bidirectional encoder has states of size 2H, since it cannot
sum the directions; the other sizes are the same), EncDec (wfe_lstm --without-wfe), WFE literal
(the paper's equations written down one by one, kept in the benchmark only), and WFE as it is.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path

import torch
from wfe_plugin.experiment.versions import versions

from benchmarks import plots, profiling, tables
from benchmarks.contenders import decoding_contenders, has_shortlist
from benchmarks.decoding import Decoders
from benchmarks.goals import goals
from benchmarks.growth import measure_growth
from benchmarks.mask import count_mask_work, measure_mask
from benchmarks.memory import measure_memory
from benchmarks.sizes import FULL, PAPER, QUICK, SETTINGS, Plan
from benchmarks.training import measure_training

SHORTLIST = 1000
started = time.monotonic()


def say(message: str) -> None:
    print(f"[{time.monotonic() - started:5.0f} s] {message}", flush=True)


def measure(plan: Plan, shortlist: int) -> dict:
    """Everything; the keys of the result are those of the JSON file."""
    contenders = decoding_contenders(shortlist)
    if not has_shortlist():
        say("this version of the plugin has no --wfe-shortlist: left out")
    results: dict = {
        "names": {contender.key: contender.name for contender in contenders},
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
    say("mask")
    results["mask"] = measure_mask(plan.vocabularies, plan.mask_rounds)
    results["mask_work"] = count_mask_work(plan.vocabularies)
    results["growth"] = measure_growth(plan, contenders, say)
    return results


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
    print("\nGoals, paper sizes")
    for goal in reached:
        print(f"  {goal.line()}")
