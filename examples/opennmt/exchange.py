#!/usr/bin/env python3
"""Text between a directory of preprocess.sh and OpenNMT-py, in this project's environment.

exchange.py text --data DIR --raw TEXT --out DIR --epochs N    what OpenNMT-py trains on and translates
exchange.py best LOG                                           the checkpoint with the lowest perplexity on validation
exchange.py undo --data DIR < TRANSLATIONS > SUMMARIES         words again
"""

import argparse
import random
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from wfe_plugin.pipeline.treat import SIDES, Treatment

SUFFIXES = dict(zip(SIDES, ("article", "title")))
# fairseq fills its vocabularies up to a multiple of eight.
FILLER = re.compile(r"madeupword\d+")


def vocabulary(lines: Iterable[str]) -> Iterator[str]:
    """The words of a fairseq dictionary ("word count" in each line), most frequent first."""
    for line in lines:
        word, count = line.rsplit(" ", 1)
        if not (FILLER.fullmatch(word) and int(count) == 0):
            yield word


def epochs_of(pairs: list[tuple[str, str]], epochs: int, seed: int = 1) -> Iterator[tuple[str, str]]:
    """All pairs, *epochs* times, each time in another order.

    OpenNMT-py sorts a bucket of pairs by length and shuffles its batches. With a bucket of one epoch, these
    are other batches in each epoch, as fairseq's are; from the same file again they would be the same.
    """
    generator = random.Random(seed)
    for _ in range(epochs):
        yield from generator.sample(pairs, len(pairs))


def best_checkpoint(log: Iterable[str]) -> str:
    """The checkpoint with the lowest perplexity on validation, the earliest of equals; each is saved after validation."""
    perplexity, found = float("inf"), {}
    for line in log:
        if match := re.search(r"Validation perplexity: (\S+)", line):
            perplexity = float(match[1])
        elif match := re.search(r"Saving checkpoint (.+\.pt)$", line):
            found.setdefault(match[1], perplexity)
    if not found:
        raise SystemExit("exchange.py: the log names no checkpoint: has the training finished an epoch?")
    return min(found, key=found.__getitem__)


def write_text(data: Path, raw: Path, out: Path, epochs: int) -> None:
    treatment = Treatment.load(data)
    out.mkdir(parents=True, exist_ok=True)
    for side, suffix in SUFFIXES.items():
        words = vocabulary((data / f"dict.{side}.txt").read_text(encoding="utf-8").splitlines())
        write_lines(out / f"{side}.vocab", words)
        for name in ("train", "valid", "test"):
            lines = (raw / f"{name}.{suffix}").read_text(encoding="utf-8").splitlines()
            write_lines(out / f"{name}.{side}", (treatment.apply(line, side) for line in lines))
    sides = [(out / f"train.{side}").read_text(encoding="utf-8").splitlines() for side in SIDES]
    shuffled = list(epochs_of(list(zip(*sides)), epochs))
    for side, lines in zip(SIDES, zip(*shuffled)):
        write_lines(out / f"epochs.{side}", lines)
    print(len(sides[0]))


def write_lines(path: Path, lines: Iterable[str]) -> None:
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(line + "\n" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    text = commands.add_parser("text", help="prints the number of training pairs")
    text.add_argument("--raw", type=Path, required=True)
    text.add_argument("--out", type=Path, required=True)
    text.add_argument("--epochs", type=int, required=True)
    undo = commands.add_parser("undo")
    for command in (text, undo):
        command.add_argument("--data", type=Path, required=True)
    commands.add_parser("best").add_argument("log", type=Path)
    args = parser.parse_args()
    if args.command == "text":
        write_text(args.data, args.raw, args.out, args.epochs)
    elif args.command == "best":
        print(best_checkpoint(args.log.read_text(encoding="utf-8").splitlines()))
    else:
        treatment = Treatment.load(args.data)
        for line in sys.stdin:
            print(treatment.undo(line.strip()))


if __name__ == "__main__":
    main()
