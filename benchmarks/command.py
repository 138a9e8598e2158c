"""Speed and memory of WFE beside stock fairseq, on random data.

Contenders: fairseq's own lstm (its bidirectional encoder has states of size 2H, since it cannot
sum the directions; the other sizes are the same), EncDec (wfe_lstm --without-wfe), WFE literal
(the paper's equations written down one by one, kept in the benchmark only), WFE as it is, and
the estimator `votes`, decoded as `auto` does; of training, also `votes` alone on a finished model.
OpenNMT-py takes part at small sizes with --opennmt.

A section that fails is named in the end, and the others go on. bench.json is written after each
section; --only measures some sections and leaves the others in it as they are.
"""

from __future__ import annotations

import argparse
import json
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from benchmarks import commands, pipeline, plots, profiling, tables
from benchmarks.contenders import ENCDEC, SHIPPED, TRAINING, TRANSFORMERS, VOTES, build_model, decoding_contenders
from benchmarks.decoding import Decoders
from benchmarks.goals import goals
from benchmarks.growth import measure_growth
from benchmarks.mask import count_mask_work, measure_mask
from benchmarks.memory import measure_memory
from benchmarks.opennmt import KEY, NAME, opennmt
from benchmarks.sizes import FULL, QUICK, SETTINGS, Plan, Sizes
from benchmarks.training import measure_training
from wfe_plugin.pipeline.memory import keep_freed_memory
from wfe_plugin.versions import versions
from wfe_plugin.whole_files import write_json

SHORTLIST = 1000
started = time.monotonic()


def say(message: str) -> None:
    print(f"[{time.monotonic() - started:5.0f} s] {message}", flush=True)


class Benchmark:
    """What is measured, section by section; the keys of the results are those of the JSON file."""

    def __init__(self, plan: Plan, shortlist: int, environment: Path | None):
        self.plan, self.environment = plan, environment
        self.contenders = decoding_contenders(shortlist)
        self.sections: dict[str, Callable[[], Any]] = {
            "memory": self.memory,  # first, while this process itself is small
            "parameters": lambda: {size: count_parameters(sizes) for size, sizes in SETTINGS.items()},
            "training": self.training,
            "decoding": self.decoding,
            "help": commands.measure_help,
            "pipeline": lambda: pipeline.measure_pipeline(plan.texts, say),
            "preprocessing": lambda: commands.measure_preprocessing(plan.preprocessing),
            "mask": lambda: measure_mask(plan.vocabularies, plan.mask_rounds),
            "mask_work": lambda: count_mask_work(plan.vocabularies),
            "growth": lambda: measure_growth(plan, self.contenders, say, self.time_is_up),
        }

    def facts(self) -> dict:
        everyone = (*TRAINING, *self.contenders, *TRANSFORMERS)
        return {
            "names": {**{one.key: one.name for one in everyone}, KEY: NAME},
            "versions": versions(),
            "threads": torch.get_num_threads(),
            "sizes": {name: asdict(sizes) for name, sizes in SETTINGS.items()},
        }

    def time_is_up(self) -> bool:
        return time.monotonic() - started > 60 * self.plan.minutes

    def memory(self) -> dict[str, dict]:
        """Of training by the name of the sizes, and of decoding with `decoding` before it."""
        found: dict[str, dict] = {}
        for key, name, beam in self.plan.memory_of:
            kind = f"decoding {name}" if beam else name
            say(f"memory: {key}, {kind} sizes")
            try:
                found.setdefault(kind, {})[key] = measure_memory(key, SETTINGS[name], beam)
            except Exception as error:  # too little of it, for one
                say(f"memory: {key} is left out: {error}")
        return found

    def training(self) -> dict[str, list]:
        found = {}
        for name, rounds in self.plan.training_rounds.items():
            say(f"training: {name} sizes, {rounds} rounds")
            with opennmt(self.environment if name == "small" else None, SETTINGS[name]) as rival:
                others = {KEY: rival.training_step} if rival else {}
                found[name] = measure_training(SETTINGS[name], rounds, seconds=2 * self.plan.seconds, others=others)
        return found

    def decoding(self) -> dict[str, dict]:
        found: dict[str, dict] = {}
        for name, sizes in SETTINGS.items():
            decoders = Decoders(self.contenders, sizes)
            with opennmt(self.environment if name == "small" else None, sizes) as rival:
                for (size, beam), rounds in self.plan.decoding_rounds.items():
                    if size == name:
                        say(f"decoding: {name} sizes, beam {beam}, {rounds} rounds")
                        others = {KEY: lambda beam=beam: rival.search(beam)} if rival else {}
                        measured = decoders.measure(beam, rounds, self.plan.seconds, others)
                        found.setdefault(name, {})[beam] = measured
            del decoders
        say("decoding: Transformers of the preset, beam 5")
        rounds = self.plan.decoding_rounds["small", 5]
        found["transformer"] = {5: Decoders(TRANSFORMERS, SETTINGS["small"]).measure(5, rounds, self.plan.seconds)}
        return found

    def run(self, results: dict, names: list[str], save: Callable[[dict], None]) -> dict:
        results = {**results, **self.facts(), "failed": {}}
        for name in names:
            say(name)
            try:
                results[name] = self.sections[name]()
            except Exception as error:
                traceback.print_exc()
                results["failed"][name] = f"{type(error).__name__}: {error}"
            save(results)
        return results


def count_parameters(sizes: Sizes) -> dict[str, int]:
    """Of EncDec, and of the estimators beside it."""
    count = {
        one.key: sum(p.numel() for p in build_model(one, sizes)[2].parameters()) for one in (ENCDEC, SHIPPED, VOTES)
    }
    return {key: number - (0 if key == ENCDEC.key else count[ENCDEC.key]) for key, number in count.items()}


def read_results(path: Path) -> dict:
    """With numbers as keys where they were numbers."""

    def keys(of: dict) -> dict:
        return {int(key) if key.isdigit() else key: value for key, value in of.items()}

    return json.loads(path.read_text(encoding="utf-8"), object_hook=keys)


def parse(sections: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds and shorter curves: about five minutes")
    parser.add_argument(
        "--only", nargs="+", choices=sections, default=sections, metavar="SECTION", help="; ".join(sections)
    )
    parser.add_argument(
        "--opennmt",
        type=Path,
        metavar="DIR",
        help="an environment with OpenNMT-py, as examples/opennmt/run.sh makes it",
    )
    parser.add_argument("--profile", action="store_true", help="show instead which operators take the time")
    parser.add_argument("--sizes", choices=list(SETTINGS), default="paper", help="of --profile (default: %(default)s)")
    parser.add_argument(
        "--shortlist", type=int, default=SHORTLIST, metavar="N", help="for --wfe-shortlist (default: %(default)s)"
    )
    parser.add_argument("--out", type=Path, default=Path("bench-out"), help="directory (default: %(default)s)")
    return parser.parse_args()


def main() -> None:
    arguments = parse(list(Benchmark(QUICK, SHORTLIST, None).sections))
    keep_freed_memory()
    print(f"{torch.get_num_threads()} threads; a noisy machine makes noisy ratios")
    if arguments.profile:
        profiling.print_profiles(decoding_contenders(arguments.shortlist), SETTINGS[arguments.sizes])
        return
    arguments.out.mkdir(parents=True, exist_ok=True)
    file = arguments.out / "bench.json"
    benchmark = Benchmark(QUICK if arguments.quick else FULL, arguments.shortlist, arguments.opennmt)
    if arguments.opennmt is None:
        say("OpenNMT-py is left out: --opennmt names its environment")
    before = read_results(file) if file.exists() and set(arguments.only) < set(benchmark.sections) else {}
    results = benchmark.run(before, arguments.only, lambda found: write_json(file, found))
    reached = goals(results)
    write_json(file, {**results, "goals": [{**asdict(goal), "met": goal.met} for goal in reached]})
    plots.write_plots(results.get("growth", {}), results["names"], arguments.out)
    say(f"written: {file} and plots")
    print()
    print(tables.report(results))
    print("\nGoals")
    for goal in reached:
        print(f"  {goal.line()}")
    for name, error in results["failed"].items():
        print(f"\nnot measured: {name}: {error}")
