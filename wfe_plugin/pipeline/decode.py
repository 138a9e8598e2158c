"""Decoding through fairseq's commands: hypotheses for a binarised set or for lines of text."""

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, NamedTuple, Optional

from wfe_plugin import standard_streams
from wfe_plugin.pipeline.child import fairseq_command, run, user_dir
from wfe_plugin.pipeline.errors import PipelineError
from wfe_plugin.pipeline.text import MAX_CHARACTERS
from wfe_plugin.pipeline.treat import SIDES
from wfe_plugin.whole_files import named

# No source is too long: without this, fairseq stops at the length of the training data. As many
# words as a line of text can have, since a lower-cased character may become two, and one for the
# end. Not more: some models make a table of all positions.
ANY_LENGTH = 2 * MAX_CHARACTERS + 1
BATCH = 32


class Hypothesis(NamedTuple):
    """One output of the model, in the model's words."""

    score: float  # log2 of the probability; divided by the length unless fairseq is told otherwise
    text: str


@dataclass(frozen=True)
class Decoding:
    """How to decode."""

    data: Path
    models: Sequence[Path]
    mode: str  # --wfe-decoding
    beam: int
    nbest: int = 1
    threads: Optional[int] = None
    any_length: bool = True  # whether the models take longer text than they were trained on
    extra: Sequence[str] = field(default_factory=list)  # for the fairseq command
    on_sentence: Callable[[int], None] = lambda count: None  # told how many are done

    def options(self) -> list[str]:
        options = [str(self.data), "--user-dir", user_dir(), "--task", "summarization_wfe"]
        options += ["--source-lang", SIDES[0], "--target-lang", SIDES[1]]
        options += ["--path", ":".join(map(str, self.models)), "--wfe-decoding", self.mode]
        options += ["--beam", str(self.beam), "--nbest", str(self.nbest), "--batch-size", str(BATCH)]
        positions = {f"max_{side}_positions": ANY_LENGTH for side in SIDES}
        for name, value in positions.items():
            options += ["--" + name.replace("_", "-"), str(value)]
        if self.any_length:
            options += ["--model-overrides", repr(positions)]
        return [*options, "--no-progress-bar", *self.extra]


def split(decoding: Decoding, name: str, parts: int = 1) -> dict[int, list[Hypothesis]]:
    """Hypotheses for the pairs of a binarised set, by number from 0.

    With several parts, only the first: every `parts`-th batch.
    """
    some = ["--distributed-world-size", str(parts), "--distributed-rank", "0"] if parts > 1 else []
    return _decode("generate", ["--gen-subset", name, *some], decoding)


def lines(decoding: Decoding, treated: Sequence[str]) -> dict[int, list[Hypothesis]]:
    """Hypotheses for lines that have been treated as the training data were, by number from 0."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as file:
        with named(file.name):
            file.writelines(line + "\n" for line in treated)
            file.flush()
        # Lines of similar length are decoded together, within a buffer.
        options = ["--input", file.name, "--buffer-size", str(100 * BATCH)]
        return _decode("interactive", options, decoding)


def _decode(command: str, options: list[str], decoding: Decoding) -> dict[int, list[Hypothesis]]:
    found: dict[int, list[Hypothesis]] = {}
    without_source = set()

    def take(line: str) -> None:
        match = re.match(r"([SH])-(\d+)\t(.*)", line)
        if not match:
            # How long the search took; wfe-experiment reads it, too.
            if re.search(r"Translated [\d,]+ sentences", line):
                standard_streams.say(line.rstrip("\n"))
            return
        number = int(match[2])
        if match[1] == "S":
            if not match[3]:
                without_source.add(number)
            return
        if number not in found:
            decoding.on_sentence(len(found) + 1)
        score, _, text = match[3].partition("\t")
        found.setdefault(number, []).append(Hypothesis(float(score), text))

    run(fairseq_command(command) + decoding.options() + options, f"fairseq-{command}", take, decoding.threads)
    if not found:
        raise PipelineError(f"fairseq-{command} ended without an error, but also without output")
    for number in without_source:  # nothing is what can be said about nothing
        found[number] = [Hypothesis(0.0, "")]
    return dict(sorted(found.items()))
