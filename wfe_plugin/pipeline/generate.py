"""A trained model and text to summaries, and their scores: what wfe-generate does."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Callable, Optional

import torch

from wfe_plugin import standard_streams
from wfe_plugin.errors import UserError
from wfe_plugin.evaluation import evaluate
from wfe_plugin.evaluation.text_files import read_lines
from wfe_plugin.method.word_budgets import WordBudgets
from wfe_plugin.pipeline import checkpoints
from wfe_plugin.pipeline.binarized import check_set
from wfe_plugin.pipeline.decode import NOTHING, Hypothesis
from wfe_plugin.pipeline.inputs import read_inputs
from wfe_plugin.pipeline.parts import Part, texts_of
from wfe_plugin.pipeline.progress import Progress
from wfe_plugin.pipeline.summarizer import Reading, Summarizer, find_data, find_models
from wfe_plugin.pipeline.text import refuse_pipe
from wfe_plugin.pipeline.treat import SETTINGS_FILE, SIDES, read_settings
from wfe_plugin.pipeline.work_directory import resolved, work_directory
from wfe_plugin.versions import versions
from wfe_plugin.whole_files import named, write_json, write_text

SUMMARIES, NBEST, RECORD, SCORES = "summaries.txt", "nbest.tsv", "generation.json", "scores.json"
PAGE, EXPLANATIONS = "explanations.html", "explanations.jsonl"
ALL = (SUMMARIES, NBEST, RECORD, SCORES, PAGE, EXPLANATIONS)


@dataclass(frozen=True)
class Request:
    """What is to be summarized, how, and where the summaries go.

    Args:
        model, data: see `Summarizer`
        split: a binarised set of the data; default: test
        input: file with raw text, one per line, instead; "-" is standard input
        text_field, budget_field: of JSON lines
        out: "-" prints summaries alone, to standard output
        decoding: `--wfe-decoding`
        budget: of words, for all texts
        explain: so many texts, from the first
        overwrite: replace other results
        references: one file for each reference of a text
        part: only one part of several, which `cat` joins
        fairseq_options: of fairseq-generate
    """

    model: str
    out: str
    data: Optional[str] = None
    split: Optional[str] = None
    input: Optional[str] = None
    text_field: str = ""
    budget_field: str = ""
    budget: str = ""
    explain: int = 0
    overwrite: bool = False
    beam: int = 5
    nbest: int = 1
    decoding: str = "auto"
    references: Sequence[str] = ()
    protocol: str = "gigaword"
    threads: Optional[int] = None
    part: Optional[Part] = None
    fairseq_options: Sequence[str] = ()

    def file(self, name: str) -> Path:
        """Where an output is, or will be; that of a part has the part in its name."""
        stem, suffix = name.split(".")
        return resolved(self.out) / (f"{stem}.{self.part}.{suffix}" if self.part else name)


@dataclass
class Source:
    """What is to be summarized: `count` texts, of which this process does `numbers`."""

    dataset: object
    count: int
    numbers: range
    references: Sequence[str]
    reading: Reading
    texts: Sequence[str] = ()  # raw
    budgets: Sequence[Optional[WordBudgets]] = ()  # of each text


class Generation:
    """A request, with the models loaded."""

    def __init__(self, request: Request, say: Callable[[str], None]):
        self.request, self.say = request, say
        if request.threads:
            torch.set_num_threads(request.threads)
        self.summarizer = Summarizer(request.model, request.data, fairseq_options=request.fairseq_options)
        self.data = self.summarizer.data
        WordBudgets.of(request.budget)

    def generator(self, budgets: Sequence[Optional[WordBudgets]] = ()):
        request, decoder = self.request, self.summarizer.decoder
        chosen = {"wfe_decoding": request.decoding, "budget": request.budget}
        generator = decoder.generator(beam=request.beam, nbest=request.nbest, sentence_budgets=budgets, **chosen)
        _, self.decoding = decoder.resolved(**chosen)
        self.say(f"{len(decoder.models)} model(s), beam {request.beam}, {self.decoding}")
        return generator

    def source(self) -> Source:
        """Read all that is to be summarized; references of another length are noticed now."""
        source = self.raw_text(self.request.input) if self.request.input else self.binarised(self.split)
        for path in source.references:
            lines = len(read_lines(path))
            if lines != source.count:
                raise UserError(f"{path} has {lines} lines, but {source.count} texts are to be summarized")
        return source

    def raw_text(self, path: str) -> Source:
        texts, budgets = read_inputs(path, self.request.text_field, self.request.budget_field)
        numbers = texts_of(self.request.part, [text.count(" ") for text in texts])
        reading = self.summarizer.read(text if number in numbers else "" for number, text in enumerate(texts))
        for warning in reading.warnings():
            self.say(f"warning: {warning}")
        dataset = self.summarizer.decoder.sentences(reading.sentences)
        return Source(dataset, len(texts), numbers, self.request.references, reading, texts, budgets)

    @property
    def split(self) -> str:
        return self.request.split or "test"

    def binarised(self, name: str) -> Source:
        sets = json.loads((self.data / SETTINGS_FILE).read_text(encoding="utf-8"))["report"]
        if not sets:
            raise UserError(f"{self.data}: holds no binarised sets: give raw text with --input, or another --data")
        if name not in sets:
            raise UserError(f"{self.data}: has no set {name!r}; choose one of: {', '.join(sets)}")
        check_set(self.data, name)
        dataset = self.summarizer.decoder.binarised(name)
        references = self.request.references or own_references(self.data, name)
        numbers = texts_of(self.request.part, dataset.src_sizes)
        summarizer = self.summarizer
        lines = summarizer.treatment.sources(self.data, name) if summarizer.decoder.copies else []
        return Source(dataset, len(dataset), numbers, references, Reading(lines=lines))

    def run(self) -> None:
        """Search, and write what is found."""
        source = self.source()
        generator = self.generator(source.budgets)
        outputs = {number: [NOTHING] for number in source.numbers}
        seconds = words = 0.0
        search = self.summarizer.decoder.search(
            source.dataset, source.numbers, generator, self.request.nbest, lines=self.summarizer.named(source.reading)
        )
        part = self.request.part
        what = f"summaries of part {part.number}" if part else "summaries"
        with Progress(len(outputs), what, self.say, bar=not part) as progress:
            for batch in search:
                outputs.update(zip(batch.numbers, map(self.summarizer.undo, batch.hypotheses)))
                seconds, words = seconds + batch.seconds, words + batch.words
                progress(len(batch.numbers))
        self.say(speed(len(outputs), words, seconds))
        if self.request.out == "-":
            with standard_streams.output() as stdout:
                stdout.buffer.writelines(best.text.encode("utf-8") + b"\n" for best, *_ in outputs.values())
            return

        def write_all(directory: Path) -> None:
            write(outputs, directory)
            write_json(directory / RECORD, self.record(len(outputs)))
            if self.request.explain:
                self.explain(directory, source, generator)

        deliver(self.request, write_all, source.references, self.say)

    def measure(self, sentences: int) -> None:
        """Only how long the search takes: about so many sentences of a set, every n-th batch."""
        dataset = self.binarised(self.split).dataset
        every = max(1, len(dataset) // sentences)
        search = self.summarizer.decoder.search(dataset, range(len(dataset)), self.generator(), every=every)
        counts, words, seconds = zip(*((len(batch.numbers), batch.words, batch.seconds) for batch in search))
        self.say(speed(sum(counts), sum(words), sum(seconds)))

    def record(self, count: int) -> dict:
        """What made the summaries."""
        models = zip(self.summarizer.paths, self.summarizer.decoder.models)
        calibrations = {path: getattr(model, "calibration", None) for path, model in models}
        return {
            "request": asked(self.request),
            "calibration": {str(path): found and str(found) for path, found in calibrations.items()},
            "data": str(self.data),
            "decoding": self.decoding,
            "summaries": count,
            "versions": versions(),
        }

    def explain(self, directory: Path, source: Source, generator) -> None:
        """Pages and JSON lines on the first texts."""
        from wfe_plugin.pipeline.explain import Explainer
        from wfe_plugin.pipeline.explanation_page import page

        explainer = Explainer(self.summarizer, generator, self.decoding)
        found = [
            explainer.explain(source.dataset, number, source.reading.lines, source.texts)
            for number in source.numbers[: self.request.explain]
        ]
        write_text(directory / PAGE, page(found))
        write_text(directory / EXPLANATIONS, "".join(one.as_line() + "\n" for one in found))


def speed(sentences: int, words: float, seconds: float) -> str:
    """Of the search alone."""
    per_second = 1 / max(seconds, 1e-9)
    return (
        f"Translated {sentences:,} sentences ({int(words):,} tokens) in {seconds:.1f}s "
        f"({sentences * per_second:.2f} sentences/s, {words * per_second:.2f} tokens/s)"
    )


def asked(request: Request) -> dict:
    """What determines the summaries, and what they are scored against."""
    values = asdict(request)
    for name in ("out", "overwrite", "explain", "threads", "part"):
        del values[name]
    for name in ("model", "data", "input"):
        if values[name] not in (None, "-"):
            values[name] = os.pathsep.join(map(os.path.abspath, values[name].split(os.pathsep)))
    values["references"] = [os.path.abspath(path) for path in request.references]
    return {**values, "fairseq_options": list(request.fairseq_options)}


def refuse_other_results(request: Request) -> None:
    """Summaries that were made otherwise are not replaced unasked."""
    if request.overwrite or not request.file(SUMMARIES).exists():
        return
    try:
        stored = json.loads(request.file(RECORD).read_text(encoding="utf-8"))["request"]
        changes = [name for name, value in asked(request).items() if stored[name] != value]
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(
            f"{request.out}: holds summaries without a record of how they were made; "
            "choose another --out, or replace them with --overwrite"
        ) from None
    if changes:
        raise UserError(
            f"{request.out}: holds summaries that were made in another way ({', '.join(changes)}); "
            "choose another --out, or replace them with --overwrite"
        )


def check_places(request: Request) -> None:
    """Now, and not after an hour of decoding."""
    if request.out == "-":
        return
    out = resolved(request.out)
    there = next(path for path in (out, *out.parents) if path.exists())
    if not there.is_dir():
        raise UserError(f"{there}: not a directory; choose another --out")
    if not os.access(there, os.W_OK):
        raise UserError(f"{there}: not writable; choose another --out")
    for path in [*request.references, *filter(None, [request.input])]:
        # Summaries of summaries would take the place of what they were made from.
        if os.path.realpath(path) in [str(request.file(name)) for name in ALL]:
            raise UserError(f"{path}: the summaries would replace this input; choose another --out")
    for path in request.references:
        refuse_pipe(path)
    refuse_other_results(request)


def own_references(data: Path, split: str) -> list[str]:
    """What a binarised set is scored against unless references are named."""
    path = data / "text" / f"{split}.{SIDES[1]}"
    return [str(path)] if path.exists() else []


def references_of(request: Request) -> Sequence[str]:
    if request.references or request.input:
        return request.references
    states = {path: checkpoints.load(path, for_fairseq=True) for path in find_models(request.model)}
    return own_references(find_data(states, request.data), request.split or "test")


def deliver(
    request: Request, write: Callable[[Path], None], references: Sequence[str], say: Callable[[str], None]
) -> None:
    """Put the files that `write` makes in their place, all at once, and score them unless they are a part."""
    out = resolved(request.out)
    out.mkdir(parents=True, exist_ok=True)
    with work_directory(out, ".unfinished-") as work:
        with named(request.out):
            write(work)
        if references and not request.part:
            score(request, work, references)
        for name in ALL[1:]:  # of other summaries: never beside these, also if we are killed
            request.file(name).unlink(missing_ok=True)
        for name in ALL:
            if (work / name).exists():
                (work / name).replace(request.file(name))
    part = request.part
    say(f"done: part {part.number} of {part.count}" if part else f"done: {os.path.join(request.out, SUMMARIES)}")


def score(request: Request, directory: Path, references: Sequence[str]) -> None:
    """Print and write what wfe-evaluate finds."""
    data = json.loads((directory / RECORD).read_text(encoding="utf-8"))["data"]
    found = evaluate.evaluate_files(
        references, [directory / SUMMARIES], request.protocol, lang=read_settings(data).lang
    )
    # The name under which the user will find the file.
    systems = [replace(found.systems[0], file=os.path.join(request.out, SUMMARIES))]
    found = replace(found, systems=systems)
    standard_streams.say(evaluate.as_table(found))
    write_json(directory / SCORES, evaluate.as_dictionary(found))


def write(outputs: dict[int, list[Hypothesis]], directory: Path) -> None:
    with open(directory / SUMMARIES, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(hypotheses[0].text + "\n" for _, hypotheses in sorted(outputs.items()))
    with open(directory / NBEST, "w", encoding="utf-8", newline="\n") as file:
        for number, hypotheses in sorted(outputs.items()):
            for rank, (score, text) in enumerate(hypotheses, start=1):
                file.write(f"{number + 1}\t{rank}\t{score:.4f}\t{text}\n")


def generate(request: Request, say: Callable[[str], None] = standard_streams.say) -> None:
    """Summarize, write the summaries and score them."""
    check_places(request)
    Generation(request, say).run()


def measure(request: Request, sentences: int, say: Callable[[str], None] = standard_streams.say) -> None:
    """Only tell how long the search takes, for about so many sentences."""
    Generation(request, say).measure(sentences)
