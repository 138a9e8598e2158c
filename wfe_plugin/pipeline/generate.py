"""A trained model and text to summaries: what generate.sh runs."""

import argparse
import json
import os
import re
import signal
import sys
from dataclasses import replace
from pathlib import Path

from wfe_plugin import standard_streams
from wfe_plugin.evaluation import evaluate
from wfe_plugin.evaluation.errors import EvaluationError
from wfe_plugin.evaluation.rouge_protocol import PROTOCOLS
from wfe_plugin.evaluation.text_files import read_lines
from wfe_plugin.method.bound import DECODING_MODES
from wfe_plugin.pipeline import checkpoints, decode
from wfe_plugin.pipeline.binarized import check_set
from wfe_plugin.pipeline.decode import Hypothesis
from wfe_plugin.pipeline.errors import PipelineError, told
from wfe_plugin.pipeline.options import positive, refuse_managed, split_options
from wfe_plugin.pipeline.text import MAX_CHARACTERS, TextError, clean_lines, open_text, refuse_pipe
from wfe_plugin.pipeline.trained_on import check_vocabularies, data_directory
from wfe_plugin.pipeline.treat import SETTINGS_FILE, SIDES, Treatment
from wfe_plugin.pipeline.work_directory import resolved, work_directory
from wfe_plugin.whole_files import named, write_json

SUMMARIES, NBEST, SCORES = "summaries.txt", "nbest.tsv", "scores.json"

EPILOG = f"""\
examples:
  generate.sh --model models/wfe --data prepared --out summaries
  generate.sh --model models/wfe --input articles.txt --out summaries --beam 10 --nbest 10
  generate.sh --model a/{checkpoints.BEST}:b/{checkpoints.BEST} --data duc --split test1 \\
              --references ref0.txt ref1.txt ref2.txt ref3.txt --protocol duc2004 \\
              --out ensemble -- --unnormalized
  generate.sh --model models/encdec --data prepared --out blocked -- --no-repeat-ngram-size 3

What comes out: {SUMMARIES}, one summary a line in the order of the input, with BPE undone and
detokenised if the data were tokenised; {NBEST}, with line number (from 1), rank, score (log2 of
the probability, divided by the length unless -- --unnormalized) and text; with references,
{SCORES} as wfe-evaluate writes it. An empty line is summarised by an empty line.

A binarised set is scored against its own summaries (DIR/text/SPLIT.target) unless other
references are named. References count as they are; treated as the data were, they come from
  python -m wfe_plugin.pipeline.treat plain DIR < raw.txt

Other ways to avoid repetition, with any --decoding, after --:
  --no-repeat-ngram-size N           no sequence of N words twice
  --ignore-when-blocking 'WORD ...'  but sequences with these words may be repeated
  --word-cap N                       each word at most N times
  --repetition-penalty X             multiply the log-probability of words said before by X, from 1
  --frequency-penalty X              subtract X from it for each time that the word was said
  --presence-penalty X               subtract X from it once
  --coverage-penalty B               among the finished outputs, prefer those that covered the source
  --gnmt-length-penalty A            and score them by length as Wu et al. (2016) do
With BPE, words are pieces, written as in the dictionary (dict.target.txt).

Faster with a large vocabulary, for models that estimate word frequencies, after --:
  --wfe-shortlist N                  search among the N words of each sentence of a batch that are
                                     estimated to occur most; scores are then close to the model's
"""

MANAGED = (
    "--path --gen-subset --input --buffer-size --beam --nbest --wfe-decoding --quiet --results-path --user-dir "
    "--task --source-lang --target-lang --skip-invalid-size-inputs-valid-test --distributed-world-size "
    "--distributed-rank --num-shards --shard-id --score-reference"
).split()


def parse(argv: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Our options, and those for fairseq."""
    argv, extra = split_options(argv)
    parser = argparse.ArgumentParser(
        prog="generate.sh",
        usage="%(prog)s --model MODEL (--data DIR [--split NAME] | --input FILE) --out DIR [options] "
        "[-- fairseq options]",
        description="Summarize a binarised set or raw text, and score the summaries.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--model",
        required=True,
        help="directory made by train.sh, or a checkpoint, or several, an ensemble, separated by colons",
    )
    parser.add_argument(
        "--data", metavar="DIR", help="directory made by preprocess.sh (default: what the model was trained on)"
    )
    text = parser.add_mutually_exclusive_group()
    text.add_argument("--split", metavar="NAME", help="binarised set (default: test)")
    text.add_argument("--input", metavar="FILE", help="raw text instead, one a line")
    result = parser.add_mutually_exclusive_group(required=True)
    result.add_argument("--out", metavar="DIR", help="directory for the summaries")
    result.add_argument(
        "--time-only",
        type=positive,
        metavar="N",
        help="keep nothing, only tell how long the search takes: about N pairs of a binarised set, every n-th batch",
    )
    parser.add_argument("--beam", type=positive, default=5, metavar="N", help="default: %(default)s")
    parser.add_argument("--nbest", type=positive, default=1, metavar="N", help="default: %(default)s")
    parser.add_argument(
        "--decoding",
        choices=[*DECODING_MODES, "off"],
        help="use of the word-frequency estimate (default: full; off for models without)",
    )
    parser.add_argument("--references", nargs="+", metavar="FILE", help="one file for each reference of a text")
    parser.add_argument("--protocol", choices=list(PROTOCOLS), default="gigaword", help="default: %(default)s")
    parser.add_argument("--threads", type=positive, metavar="N", help="default: torch's")
    args = parser.parse_args(argv)
    if args.nbest > args.beam:
        parser.error(f"--nbest {args.nbest} needs a --beam of at least as many, not {args.beam}")
    if args.time_only and args.input:
        parser.error("--time-only is for a binarised set, not for --input")
    return args, extra


def find_models(names: str) -> list[Path]:
    """The checkpoint files that --model stands for."""
    paths = []
    for name in names.split(":"):
        path = Path(os.path.abspath(name))
        if path.is_dir():
            path = path / checkpoints.BEST
            if not path.exists():
                raise PipelineError(f"{name}: holds no {checkpoints.BEST}: has train.sh finished?")
        refuse_separator(path)
        paths.append(path)
    return paths


def refuse_separator(path: Path) -> None:
    if os.pathsep in str(path):
        raise PipelineError(f"{path}: fairseq takes {os.pathsep!r} in the name for a separator; please rename it")


def check_writable(out: Path) -> None:
    """Now, and not after an hour of decoding."""
    there = next(path for path in (out, *out.parents) if path.exists())
    if not there.is_dir():
        raise PipelineError(f"{there}: is no directory; choose another --out")
    if not os.access(there, os.W_OK):
        raise PipelineError(f"{there}: not writable; choose another --out")


def refuse_to_replace(inputs: list[str], out: Path) -> None:
    """Summaries of summaries would take the place of what they were made from."""
    for path in inputs:
        if os.path.realpath(path) in [str(out / name) for name in (SUMMARIES, NBEST, SCORES)]:
            raise PipelineError(f"{path}: would be replaced by what comes out; choose another --out")


class Generation:
    """One call of generate.sh, checked."""

    def __init__(self, args: argparse.Namespace, extra: list[str]):
        self.args = args
        models = find_models(args.model)
        states = [checkpoints.load(path) for path in models]
        trained_on = [data_directory(state) for state in states]
        self.data = Path(os.path.abspath(args.data)) if args.data else trained_on[0]
        if self.data is None:
            raise PipelineError(f"{models[0]}: does not tell which data it was trained on; name them with --data")
        refuse_separator(self.data)
        self.treatment = Treatment.load(self.data)
        for model, data in zip(models, trained_on):
            if data:
                check_vocabularies(model, data, self.data)
        self.references = args.references or []
        for path in self.references:
            refuse_pipe(path)
        if args.out:  # there is none with --time-only
            self.out = resolved(args.out)
            check_writable(self.out)
            refuse_to_replace([*self.references, *filter(None, [args.input])], self.out)
        without = [path for path, state in zip(models, states) if not checkpoints.has_wfe(state)]
        mode = args.decoding or ("off" if without else "full")
        if without and mode not in ("off", "oracle"):
            raise PipelineError(f"{without[0]}: estimates no word frequencies; use --decoding off")
        say(f"{len(models)} model(s), --decoding {mode}, beam {args.beam}")
        self.decoding = decode.Decoding(
            self.data,
            models,
            mode,
            args.beam,
            args.nbest,
            args.threads,
            not any(checkpoints.has_positions(state) for state in states),
            extra,
            on_sentence=self.show,
        )

    def run(self) -> None:
        if self.args.time_only:
            self.find_split()
            # fairseq tells the time, and decode passes it on.
            decode.split(self.decoding, self.split, parts=max(1, self.count // self.args.time_only))
            return
        if self.args.input:
            hypotheses = self.for_text()
        else:
            hypotheses = self.for_split()
        outputs = [
            [Hypothesis(score, self.treatment.undo(text)) for score, text in hypotheses[number]]
            for number in range(self.count)
        ]
        self.out.mkdir(parents=True, exist_ok=True)
        with work_directory(self.out, ".unfinished-") as work:
            with named(self.args.out):
                write(outputs, work)
            if self.references:
                self.score(work)
            for name in (NBEST, SCORES):  # of other summaries: never beside these, also if we are killed
                (self.out / name).unlink(missing_ok=True)
            for name in (SUMMARIES, SCORES, NBEST):
                if (work / name).exists():
                    (work / name).replace(self.out / name)
        say(f"done: {len(outputs)} summaries in {self.args.out}")

    def for_text(self) -> dict[int, list[Hypothesis]]:
        treated = {}
        with open_text(self.args.input) as stream:
            for number, line in enumerate(clean_lines(stream, self.args.input)):
                if len(line) > MAX_CHARACTERS:
                    raise TextError(
                        f"{self.args.input}:{number + 1}: {len(line)} characters; at most {MAX_CHARACTERS} are allowed"
                    )
                treated[number] = self.treatment.apply(line, "source")
        self.count = len(treated)
        self.check_references()
        # The decoder sees no empty lines: what it would say about them is invented.
        numbers = [number for number, line in treated.items() if line]
        found = {number: [Hypothesis(0.0, "")] for number in treated}
        if numbers:
            decoded = decode.lines(self.decoding, [treated[number] for number in numbers])
            self.check(decoded, len(numbers))
            found.update({numbers[position]: hypotheses for position, hypotheses in decoded.items()})
        return found

    def find_split(self) -> None:
        """Which set, and how many pairs it has."""
        name = self.split = self.args.split or "test"
        sets = json.loads((self.data / SETTINGS_FILE).read_text(encoding="utf-8"))["report"]
        if name not in sets:
            raise PipelineError(f"{self.data}: has no set {name!r}, but: {', '.join(sets)}")
        check_set(self.data, name)
        self.count = sets[name]["lines"]
        if name == "train":  # from which preprocess.sh has dropped these
            self.count -= sets[name]["empty"] + sets[name]["too_long"]

    def for_split(self) -> dict[int, list[Hypothesis]]:
        self.find_split()
        own = self.data / "text" / f"{self.split}.{SIDES[1]}"
        if not self.references and own.exists():
            self.references = [str(own)]
        self.check_references()
        decoded = decode.split(self.decoding, self.split)
        self.check(decoded, self.count)
        return decoded

    def check_references(self) -> None:
        """Now, and not after an hour of decoding."""
        for path in self.references:
            lines = len(read_lines(path))
            if lines != self.count:
                raise PipelineError(f"{path} has {lines} lines, but {self.count} texts are to be summarised")

    def check(self, decoded: dict[int, list[Hypothesis]], count: int) -> None:
        if list(decoded) != list(range(count)):
            raise PipelineError(f"fairseq has summarised {len(decoded)} of {count} texts")

    def score(self, directory: Path) -> None:
        """Print and write what wfe-evaluate finds."""
        found = evaluate.evaluate_files(self.references, [directory / SUMMARIES], self.args.protocol)
        # The name under which the user will find the file.
        systems = [replace(found.systems[0], file=os.path.join(self.args.out, SUMMARIES))]
        found = replace(found, systems=systems)
        standard_streams.say(evaluate.as_table(found))
        write_json(directory / SCORES, evaluate.as_dictionary(found))

    def show(self, done: int) -> None:
        if 10 * done // self.count > 10 * (done - 1) // self.count:
            say(f"{done} of {self.count} summaries")


def write(outputs: list[list[Hypothesis]], directory: Path) -> None:
    with open(directory / SUMMARIES, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(hypotheses[0].text + "\n" for hypotheses in outputs)
    with open(directory / NBEST, "w", encoding="utf-8", newline="\n") as file:
        for number, hypotheses in enumerate(outputs, start=1):
            for rank, (score, text) in enumerate(hypotheses, start=1):
                file.write(f"{number}\t{rank}\t{score:.4f}\t{text}\n")


def say(message: str) -> None:
    """Progress, for people."""
    standard_streams.say(f"generate: {message}")


def refuse_size_of_nothing(extra: list[str]) -> None:
    """fairseq's default cannot be told from the user's own 0, which must be a mistake."""
    if re.search(r"--no-repeat-ngram-size[ =]0+( |$)", " ".join(extra)):
        raise PipelineError("--no-repeat-ngram-size is 0, which blocks nothing: give 1 or more, or leave it out")


def main(argv=None) -> int:
    # A terminated run must end its children and clean up like an interrupted one.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        args, extra = parse(sys.argv[1:] if argv is None else argv)
        refuse_managed(extra, MANAGED, "generate.sh")
        refuse_size_of_nothing(extra)
        Generation(args, extra).run()
    except (PipelineError, TextError, EvaluationError, OSError) as error:
        print(f"generate: error: {told(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("generate: interrupted; nothing was written", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
