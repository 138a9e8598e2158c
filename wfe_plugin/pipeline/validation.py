"""Outputs for a few pairs of a validation set, again and again, and what they are worth."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from wfe_plugin.evaluation import rouge_python
from wfe_plugin.evaluation.rouge_protocol import METRICS, Protocol
from wfe_plugin.evaluation.text_files import read_lines
from wfe_plugin.pipeline import checkpoints
from wfe_plugin.pipeline.decode import Decoder, quiet_fairseq
from wfe_plugin.pipeline.treat import SIDES, Treatment


class Outcome(NamedTuple):
    """What a point gives on the validation pairs."""

    score: float  # mean of ROUGE-1, -2 and -L by the protocol, in percent
    length: float  # mean length of the outputs, as a share of what is wanted


def judge(outputs: Sequence[str], references: Sequence[str], protocol: Protocol) -> Outcome:
    """Score outputs as readable text against one reference each."""
    _, scores = rouge_python.score(outputs, [[text] for text in references], protocol.byte_limit)
    found = [score for metric in METRICS for score in scores[metric][protocol.headline]]
    if protocol.byte_limit:
        length = sum(len(text.encode("utf-8")) for text in outputs) / (protocol.byte_limit * len(outputs))
    else:
        length = sum(len(text.split()) for text in outputs) / max(1, sum(len(text.split()) for text in references))
    return Outcome(sum(found) / len(found), length)


def spread(count: int, wanted: int) -> list[int]:
    """At most so many numbers below `count`, evenly spread: the same for everyone."""
    wanted = min(count, wanted)
    return [number * count // wanted for number in range(wanted)]


def text_digest(lines: Sequence[str]) -> str:
    return " text:" + hashlib.sha256("\n".join(lines).encode("utf-8")).hexdigest()


class ValidationPairs:
    """A model, loaded once, and some pairs of a binarised set that it summarizes again and again.

    Args:
        checkpoint: of the model
        data: directory made by wfe-preprocess
        split: the set
        pairs: the largest number of pairs, spread over the set
        arguments: more options of fairseq-generate, such as --cpu
    """

    def __init__(self, checkpoint: Path, data: Path, split: str, pairs: int, arguments: Sequence[str] = ()):
        self.treatment = Treatment.load(data)
        state = checkpoints.load(checkpoint, for_fairseq=True)
        self.decoder = Decoder(data, {checkpoint: state}, arguments)
        references = read_lines(data / "text" / f"{split}.{SIDES[1]}")
        dataset = self.decoder.binarised(split)
        chosen = spread(len(dataset), pairs)
        self.references = [references[number] for number in chosen]
        lines = self.treatment.sources(data, split) if self.decoder.copies else []
        self.lines = [lines[number] for number in chosen] if lines else []
        self.sources = self.decoder.sentences([dataset.src[number] for number in chosen])
        # Changes with the weights and with the references.
        self.identity = checkpoints.weights_digest(state) + text_digest(self.references)

    def summarize(self, **options: Any) -> list[str]:
        """Readable summaries, in order; options are those of `Decoder.generator`."""
        with quiet_fairseq():
            generator = self.decoder.generator(**options)
        found = [""] * len(self.references)
        for batch in self.decoder.search(self.sources, range(len(self.sources)), generator, lines=self.lines):
            for number, hypotheses in zip(batch.numbers, batch.hypotheses):
                found[number] = self.treatment.undo(hypotheses[0].text)
        return found
