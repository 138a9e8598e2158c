"""Weights of decoding, chosen on a validation set: of the mask, or of the rule without training."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Callable, NamedTuple, Optional, Union

import torch

from wfe_plugin.errors import UserError
from wfe_plugin.evaluation.rouge_protocol import Protocol
from wfe_plugin.method.calibration import Calibration
from wfe_plugin.pipeline import checkpoints
from wfe_plugin.pipeline.binarized import check_set
from wfe_plugin.pipeline.coordinate_search import Axis, CoordinateSearch, OutOfTime, Point
from wfe_plugin.pipeline.presets import JOINT_ESTIMATORS
from wfe_plugin.pipeline.protocols import protocol_of
from wfe_plugin.pipeline.record import note_calibration
from wfe_plugin.pipeline.summarizer import find_data, find_model
from wfe_plugin.pipeline.validation import Outcome, ValidationPairs, judge
from wfe_plugin.whole_files import write_json, written_whole

PAIRS = 400  # of the validation set, unless told otherwise
TOLERANCE = 0.1  # how far the mean length may be from what is wanted at no cost
PRICE = 25.0  # points of ROUGE for each 100 % beyond that

REWARD = Axis("word_reward", (0.0, 1.0, 2.0), step=0.5, low=-2.0, high=4.0)
# The first point is Equation 4.
GATE = Axis("wfe_gate_weight", (1.0, 1.5, 0.5), step=0.25, low=0.0, high=3.0)
BASE_RATE = Axis("wfe_base_rate_weight", (0.0, 0.5, 1.0), step=0.25, low=0.0, high=3.0)
PENALTY = Axis("out_of_source_penalty", (0.0, 1.0, 2.0, 3.0, 4.0), step=1.0, low=0.0, high=10.0)
EVALUATIONS = 25  # decodings that the search for a calibration takes, about
# Points of ROUGE that some hundred pairs cannot tell apart. Of choices that are as good, the one that trusts the
# source most is taken: on other texts than those of the training, the decoder knows less, the source does not.
TIE = 0.3


class RuleChoice(NamedTuple):
    """The rule without training, tuned; always with a cap of one per word."""

    out_of_source_penalty: float
    word_reward: float
    score: float

    @property
    def options(self) -> str:
        """Of fairseq-generate."""
        return f"--word-cap 1 --out-of-source-penalty {self.out_of_source_penalty:g} --word-reward {self.word_reward:g}"


def calibrate(
    models: Union[Path, Sequence[Path]],
    data: Path,
    split: str = "valid",
    protocol: str = "f1",
    beam: int = 5,
    seconds: Optional[float] = None,
    max_pairs: int = PAIRS,
    arguments: Sequence[str] = (),
    notes: Optional[Path] = None,
    say: Callable[[str], None] = print,
) -> Calibration:
    """Choose λ, µ and the word reward of the mask; `worth` says by what. Nothing is stored.

    First λ and µ on a grid, without a reward; then the reward; then steps along each axis. Of choices that
    are as good (TIE), it takes the one with the largest λ. The paper's estimators keep λ = 1 and µ = 0, and models without base rates µ = 0.

    Args:
        models: checkpoint, or several: one choice for all of them, by their mean
        data: directory made by wfe-preprocess
        split: binarised set; at most `max_pairs` of it are decoded, spread evenly
        protocol: `f1`, or `recall-N` within N bytes
        seconds: no decoding begins after that; the best so far is chosen
        arguments: more options of fairseq-generate, such as --cpu
        notes: file to keep what was evaluated, for a calibration that may be interrupted
        say: shows a line per phase
    """
    pairs = load(models, data, split, max_pairs, arguments)
    heads = [model for one in pairs for model in one.decoder.models]
    for model in heads:
        if getattr(model, "wfe_head", None) is None:
            raise UserError("the model has no estimate to calibrate: add one with wfe-train --add-wfe, or give --rule")
    papers = any(model.wfe.wfe_estimator in JOINT_ESTIMATORS for model in heads)
    rates = all(model.log_base_rate() is not None for model in heads)
    axes = [fixed(GATE) if papers else GATE, BASE_RATE if rates and not papers else fixed(BASE_RATE), REWARD]
    tuning = Tuning(pairs, axes, protocol_of(protocol), {"beam": beam, "wfe_decoding": "full"}, seconds, notes, say)
    return Calibration(*tuning.run((GATE.name, BASE_RATE.name), (REWARD.name,)), protocol)


def tune_rule(
    model: Union[str, Path],
    data: Union[str, Path, None] = None,
    split: str = "valid",
    protocol: str = "f1",
    beam: int = 5,
    seconds: Optional[float] = None,
    max_pairs: int = PAIRS,
    arguments: Sequence[str] = (),
    say: Callable[[str], None] = print,
) -> RuleChoice:
    """Choose the out-of-source penalty and the word reward of the rule without training, with a cap of one.

    For any model; the arguments are those of `recalibrate`. Nothing is stored.
    """
    checkpoint, data = model_and_data(model, data, split)
    pairs = load(checkpoint, data, split, max_pairs, arguments)
    options = {"beam": beam, "wfe_decoding": "off", "word_cap": 1}
    tuning = Tuning(pairs, [PENALTY, REWARD], protocol_of(protocol), options, seconds, None, say)
    return RuleChoice(*tuning.run((PENALTY.name,), (REWARD.name,)), tuning.outcome.score)


def load(
    models: Union[Path, Sequence[Path]], data: Path, split: str, max_pairs: int, arguments: Sequence[str]
) -> list[ValidationPairs]:
    paths = [models] if isinstance(models, (str, Path)) else models
    return [ValidationPairs(Path(path), Path(data), split, max_pairs, arguments) for path in paths]


def fixed(axis: Axis) -> Axis:
    """An axis that stays at its first value."""
    return Axis(axis.name, axis.coarse[:1])


def recalibrate(
    model: Union[str, Path], data: Union[str, Path, None] = None, split: str = "valid", **settings: Any
) -> Calibration:
    """Calibrate a trained model and store the choice in it; `settings` are those of `calibrate`.

    Trainings that were built on the model stay valid: they know it by its weights.

    Args:
        model: directory made by wfe-train or wfe-export, or a checkpoint
        data: default: what the model was trained on
    """
    checkpoint, data = model_and_data(model, data, split)
    calibration = calibrate(checkpoint, data, split, **settings)
    store(checkpoint, calibration)
    return calibration


def model_and_data(model: Union[str, Path], data: Union[str, Path, None], split: str) -> tuple[Path, Path]:
    """The checkpoint that a user names, and the data to decode with it."""
    checkpoint = find_model(model)
    data = find_data({checkpoint: checkpoints.load(checkpoint)}, data)
    check_set(data, split)
    return checkpoint, data


def store(checkpoint: Path, calibration: Calibration) -> None:
    """Write a choice into a checkpoint and the record beside it. The weights stay as they are."""
    state = checkpoints.load(checkpoint)
    checkpoints.set_model_option(state, "wfe_calibration", str(calibration))
    with written_whole(checkpoint) as unfinished:
        torch.save(state, unfinished)
    note_calibration(checkpoint, str(calibration))


def worth(outcome: Outcome, protocol: Protocol) -> float:
    """What the search maximises: the score, less a price for outputs of another length than is wanted.

    For F1, the mean length in words may be 10 % below or above the references'; for recall within
    N bytes, the mean length in bytes may be up to 10 % above N. Each further percent costs 0.25
    points of ROUGE, so that a candidate within these bounds is preferred to one outside that is
    little better.
    """
    beyond = outcome.length - (1 + TOLERANCE)
    if not protocol.byte_limit:
        beyond = max(beyond, (1 - TOLERANCE) - outcome.length)
    return outcome.score - PRICE * max(0.0, beyond)


class Tuning:
    """A search for the best values of options of decoding: mean over one or several models.

    Args:
        models: each decodes by itself
        axes: what is chosen; their names are options of decoding
        protocol: what is scored
        fixed: options of decoding that stay
        seconds: the search ends with the best so far when they have passed
        notes: file to keep what has been evaluated, for a search that is interrupted
        say: shows a line
    """

    def __init__(
        self,
        models: Sequence[ValidationPairs],
        axes: Sequence[Axis],
        protocol: Protocol,
        fixed: dict[str, Any],
        seconds: Optional[float] = None,
        notes: Optional[Path] = None,
        say: Callable[[str], None] = lambda line: None,
    ):
        self.models, self.axes, self.protocol, self.fixed, self.say = models, axes, protocol, fixed, say
        question = {
            "models": [model.identity for model in models],
            "pairs": [len(model.references) for model in models],
            "protocol": protocol.name,
            "options": fixed,
        }
        self.notes = Notes(notes, question)
        self.deadline = None if seconds is None else time.monotonic() + seconds
        self.search = CoordinateSearch(axes, self.evaluate)

    def evaluate(self, point: Point) -> float:
        outcome = self.notes.known(point)
        if outcome is None:
            if self.search.values and self.deadline is not None and time.monotonic() > self.deadline:
                raise OutOfTime
            options = {axis.name: value for axis, value in zip(self.axes, point)}
            found = [
                judge(model.summarize(**options, **self.fixed), model.references, self.protocol)
                for model in self.models
            ]
            outcome = Outcome(*(sum(values) / len(found) for values in zip(*found)))
            self.notes.add(point, outcome)
        return worth(outcome, self.protocol)

    def run(self, *grids: Sequence[str]) -> Point:
        """Search the grids in turn, then refine."""
        try:
            self.search.start()
            self.tell("uncalibrated")
            for names in grids:
                # Lengths have no price yet: a later grid mends them.
                self.search.grid(*names, at=max(self.search.values, key=lambda point: self.notes.known(point).score))
                self.tell(", ".join(label(name) for name in names))
            self.search.refine()
            self.tell("refined")
        except OutOfTime:
            self.tell("out of time")
        return self.chosen

    @property
    def chosen(self) -> Point:
        return self.search.boldest(TIE)

    @property
    def outcome(self) -> Outcome:
        return self.notes.known(self.chosen)

    def tell(self, phase: str) -> None:
        chosen = ", ".join(f"{label(axis.name)} {value:g}" for axis, value in zip(self.axes, self.chosen))
        score, length = self.outcome
        wanted = "the limit" if self.protocol.byte_limit else "the references'"
        self.say(
            f"{phase}: {chosen}; mean ROUGE ({self.protocol.description}) {score:.2f}, length {100 * length:.0f} % of "
            f"{wanted}, {len(self.search.values)} decodings"
        )


def label(option: str) -> str:
    return option.replace("wfe_", "").replace("_", " ")


class Notes:
    """What has been evaluated, in a file; it counts only for the same question.

    Args:
        path: the file; None: in memory
        question: what the outcomes depend on
    """

    def __init__(self, path: Optional[Path], question: dict):
        self.path, self.question = path, question
        self.outcomes: dict[Point, Outcome] = {}
        if path and path.exists():
            stored = json.loads(path.read_text(encoding="utf-8"))
            if stored["question"] == question:
                self.outcomes = {tuple(point): Outcome(*outcome) for point, *outcome in stored["outcomes"]}

    def known(self, point: Point) -> Optional[Outcome]:
        return self.outcomes.get(point)

    def add(self, point: Point, outcome: Outcome) -> None:
        self.outcomes[point] = outcome
        if self.path:
            content = [[list(point), *outcome] for point, outcome in self.outcomes.items()]
            write_json(self.path, {"question": self.question, "outcomes": content})
