"""Many sentences through wfe-generate and fairseq-interactive, which must not grow with them.

    python tests/stress/load.py [--sentences 100000] [--lines 10000] [--beam 2]

A tiny model summarizes so many sentences with wfe-generate; then fairseq-interactive is given so
many lines, one after the other, and must answer each before it gets the next. Printed is how
much memory the processes have, as the work goes on. The decoder must stay as it is. wfe-generate
itself keeps the summaries until it writes them: a few hundred bytes for each.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[0:0] = [str(TESTS), str(TESTS.parent)]

from helpers import ROOT
from helpers.tiny_training import TINY, options, script_environment, write_text

WORDS = "abcdefghij"
# Of the memory at 30 % of the work, so that caches are filled: what may be added until the end.
TOLERANCE = 0.05
KILOBYTES_A_SENTENCE = 2  # that wfe-generate may keep


def megabytes(pid: int) -> float:
    """What a process has in memory; 0 if it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS")), 0.0)


def only_child(pid: int):
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return None
    return int(children[0]) if children else None


def random_lines(count: int):
    rng = random.Random(1)
    return [" ".join(rng.choices(WORDS, k=rng.randint(2, 12))) for _ in range(count)]


def run(command, log):
    with open(log, "a") as output:
        subprocess.run(
            [str(word) for word in command], check=True, stdout=output, stderr=subprocess.STDOUT,
            env=script_environment(),
        )  # fmt: skip


def make_model(folder: Path):
    sets = write_text(folder, (("train", 300), ("valid", 12), ("test", 10)), WORDS)
    data, model, log = folder / "data", folder / "model", folder / "log"
    run([ROOT / "preprocess.sh", *sets, "--out", data], log)
    run([ROOT / "train.sh", *options(data, model, "--epochs", 1, preset="small"), "--", "--cpu", *TINY], log)
    return data, model


def flat(name: str, measured) -> bool:
    """Print (share of the work done, megabytes), and tell whether the second stays as it is."""
    shown = [measured[len(measured) * i // 10] for i in range(10)] + [measured[-1]]
    print(f"{name}: " + ", ".join(f"{share:.0%} {size:.0f} MB" for share, size in shown), flush=True)
    warm = max(size for share, size in measured if share <= 0.3)
    return max(size for _, size in measured) <= warm * (1 + TOLERANCE)


def generate(folder: Path, model: Path, count: int, beam: int) -> bool:
    text, out = folder / "many.txt", folder / "out"
    text.write_text("".join(line + "\n" for line in random_lines(count)))
    command = [ROOT / "generate.sh", "--model", model, "--input", text, "--out", out, "--beam", beam, "--threads", 1]
    command += ["--", "--cpu", "--max-len-b", 12]
    begun = time.monotonic()
    with subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.PIPE, text=True, env=script_environment()
    ) as process:
        done, decoder, own = [0.0], [], []

        def watch():
            while process.poll() is None:
                child = only_child(process.pid)
                if child and done[0] > 0:  # the decoder is at work
                    decoder.append((done[0], megabytes(child)))
                    own.append((done[0], megabytes(process.pid)))
                time.sleep(0.2)

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        for line in process.stdout:
            if " summaries" in line and " of " in line:  # "generate: 10000 of 100000 summaries"
                done[0] = int(line.split()[1]) / count
    watcher.join()
    summaries = (out / "summaries.txt").read_text().count("\n")
    seconds = time.monotonic() - begun
    print(f"generate.sh: {summaries} of {count} summaries in {seconds:.0f} s; exit status {process.returncode}")
    flat_decoder = flat("decoder", [entry for entry in decoder if entry[1]])
    flat("generate.sh", [entry for entry in own if entry[1]])
    first, last = own[0], own[-1]
    kept = 1024 * (last[1] - first[1]) / max(1.0, (last[0] - first[0]) * count)
    print(f"generate.sh keeps {kept:.2f} kB a sentence")
    return process.returncode == 0 and summaries == count and flat_decoder and kept < KILOBYTES_A_SENTENCE


def interactive(data: Path, model: Path, count: int, beam: int) -> bool:
    command = [
        Path(sys.executable).with_name("fairseq-interactive"),
        data,
        "--user-dir",
        ROOT / "wfe_plugin",
        "--task",
        "summarization_wfe",
    ]
    command += ["--source-lang", "source", "--target-lang", "target", "--path", model / "checkpoint_best.pt"]
    command += ["--beam", beam, "--max-len-b", 12, "--cpu"]
    measured, answered, slowest = [], 0, 0.0
    begun = time.monotonic()
    with subprocess.Popen(
        [str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, bufsize=1, env={**script_environment(), "PYTHONUNBUFFERED": "1"},
    ) as process:  # fmt: skip
        for number, line in enumerate(random_lines(count)):
            asked = time.monotonic()
            process.stdin.write(line + "\n")
            for answer in process.stdout:
                if answer.startswith(f"P-{number}\t"):  # the last line of an answer
                    answered += 1
                    break
            if number:  # the first waits for the model
                slowest = max(slowest, time.monotonic() - asked)
            if number % max(1, count // 100) == 0:
                measured.append((number / count, megabytes(process.pid)))
        process.stdin.close()
        process.stdout.read()
    seconds = time.monotonic() - begun
    print(
        f"fairseq-interactive: {answered} of {count} lines answered in {seconds:.0f} s, the slowest in {slowest:.2f} s"
    )
    return flat("fairseq-interactive", measured) and answered == count and process.returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=100_000)
    parser.add_argument("--lines", type=int, default=10_000)
    parser.add_argument("--beam", type=int, default=2)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="load-") as name:
        folder = Path(name)
        data, model = make_model(folder)
        good = [interactive(data, model, args.lines, args.beam)] if args.lines else []
        good += [generate(folder, model, args.sentences, args.beam)] if args.sentences else []
    print("all is well" if all(good) else "FAILED")
    sys.exit(not all(good))


if __name__ == "__main__":
    main()
