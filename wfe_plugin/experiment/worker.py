"""What an experiment does with trained models: a process for each model does all of it, one item after another.

The work is a JSON file: `data`, `threads`, and `items`, each with its `kind` and a step that is finished when it is done.
"""

from __future__ import annotations

import functools
import json
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from wfe_plugin import standard_streams
from wfe_plugin.errors import UserError
from wfe_plugin.experiment.steps import Step, fingerprint
from wfe_plugin.whole_files import named

SUMMARIES = "summaries.txt"


def main(argv: Sequence[str] | None = None) -> int:
    (path,) = sys.argv[1:] if argv is None else argv
    work = json.loads(Path(path).read_text(encoding="utf-8"))
    try:
        start(work["threads"])
        for item in work["items"]:
            KINDS[item["kind"]](Path(work["data"]), item)
            standard_streams.say(f"{item['name']}: done")
    except (UserError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def start(threads: int) -> None:
    """fairseq is ready, with so many threads."""
    import torch

    import wfe_plugin

    torch.set_num_threads(threads)
    wfe_plugin.register()


def step_of(item: dict, record: Path | None = None) -> Step:
    return Step(item["name"], record or Path(item["record"]), item["description"])


def decode(data: Path, item: dict) -> None:
    """Summaries in a folder that is there as a whole, or not at all."""
    texts, seconds = search(data, item)
    final = Path(item["record"]).parent
    work = final.with_name(f".{final.name}.unfinished")
    shutil.rmtree(work, ignore_errors=True)
    write_summaries(work, texts)
    facts = {"command": item["command"], "versions": item["versions"], "sentences": len(texts), "seconds": seconds}
    step_of(item, work / "record.json").finish(**facts, summaries=fingerprint(work / SUMMARIES))
    shutil.rmtree(final, ignore_errors=True)
    work.rename(final)


def write_summaries(folder: Path, texts: Sequence[str]) -> None:
    folder.mkdir(parents=True)
    with named(folder / SUMMARIES), open(folder / SUMMARIES, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(text + "\n" for text in texts)


def search(data: Path, item: dict, every: int = 1) -> tuple[list[str], float]:
    """Summaries of a set, in order, or of every n-th batch of it; and the seconds of the search alone."""
    from wfe_plugin.pipeline.decode import Decoder
    from wfe_plugin.pipeline.treat import Treatment

    treatment = Treatment.load(data)
    decoder = Decoder(data, states(item["model"]), item["arguments"])
    dataset = decoder.binarised(item["split"])
    lines = treatment.sources(data, item["split"]) if decoder.copies else ()
    found: dict[int, str] = {} if every > 1 else dict.fromkeys(range(len(dataset)), "")
    seconds = 0.0
    for batch in decoder.search(dataset, range(len(dataset)), decoder.generator(), every=every, lines=lines):
        seconds += batch.seconds
        for number, (best, *_) in zip(batch.numbers, batch.hypotheses):
            found[number] = treatment.undo(best.text)
    return [text for _, text in sorted(found.items())], seconds


@functools.lru_cache(maxsize=1)
def states(model: str) -> dict[Path, dict]:
    """The checkpoint of a model, read once for all of its items."""
    from wfe_plugin.pipeline import checkpoints

    path = Path(model) / checkpoints.BEST
    return {path: checkpoints.load(path, for_fairseq=True)}


def explain(data: Path, item: dict) -> None:
    """A page on some summaries, and what their sources vote for."""
    from wfe_plugin.pipeline.explain import Explainer
    from wfe_plugin.pipeline.explanation_page import page
    from wfe_plugin.pipeline.summarizer import Summarizer
    from wfe_plugin.whole_files import write_text

    summarizer = Summarizer(item["model"], data, fairseq_options=item["arguments"])
    decoder = summarizer.decoder
    explainer = Explainer(summarizer, decoder.generator(), decoder.resolved()[1])
    dataset = decoder.binarised(item["split"])
    found = [explainer.explain(dataset, number) for number in item["description"]["numbers"]]
    step = step_of(item)
    write_text(step.record.with_suffix(".html"), page(found))
    step.finish(votes=[one.source for one in found])


def frequencies(data: Path, item: dict) -> None:
    """Table 4 of the paper."""
    from wfe_plugin.experiment.frequencies import measure_frequencies

    report = measure_frequencies(item["model"], str(data), item["split"])
    step_of(item).finish(result=report.as_dictionary())


def perplexity(data: Path, item: dict) -> None:
    """Of several files of summaries, each with a record of its own."""
    from wfe_plugin.evaluation.text_files import read_lines
    from wfe_plugin.experiment.perplexity import perplexities

    outputs = {one["record"]: read_lines(one["summaries"]) for one in item["files"]}
    found = perplexities(item["model"], data, item["split"], outputs)
    for one in item["files"]:
        step_of(one).finish(perplexity=found[one["record"]])


def speed(data: Path, item: dict) -> None:
    """One round: milliseconds per sentence of each system, in the order that is given."""
    times = {}
    for system in item["systems"]:
        texts, seconds = search(data, {**item, **system}, every=item["every"])
        times[system["system"]] = 1000 * seconds / max(1, len(texts))
    step_of(item).finish(milliseconds=times)


KINDS: dict[str, Callable[[Path, dict], None]] = {
    "decode": decode,
    "explain": explain,
    "frequencies": frequencies,
    "perplexity": perplexity,
    "speed": speed,
}

if __name__ == "__main__":
    sys.exit(main())
