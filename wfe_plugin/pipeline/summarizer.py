"""Raw text to summaries, in Python: `Summarizer("model").summarize(texts)`."""

import logging
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Optional, Union

import torch
from fairseq.dataclass.configs import GenerationConfig
from torch import Tensor

import wfe_plugin
from wfe_plugin.errors import UserError
from wfe_plugin.generation.options import DecodingConfig
from wfe_plugin.method.word_budgets import WordBudgets
from wfe_plugin.pipeline import checkpoints
from wfe_plugin.pipeline.decode import NOTHING, Decoder, Hypothesis
from wfe_plugin.pipeline.text import MAX_CHARACTERS, clean
from wfe_plugin.pipeline.trained_on import check_vocabularies, data_directory
from wfe_plugin.pipeline.treat import SETTINGS_FILE, Treatment

logger = logging.getLogger(__name__)

MODEL = "model.pt"  # of an exported directory

# Keywords of `Summarizer.summarize`: fairseq's options of generation and the task's of decoding.
OPTIONS = [
    option.name
    for option in [*fields(DecodingConfig), *fields(GenerationConfig)]
    if option.name
    not in (
        "_name",
        "beam",
        "nbest",
        "lm_path",
        "lm_weight",
        "score_reference",
        "replace_unk",
        "wfe_decoding",
        "budget",
    )
]
# Budgets of words, of all texts or one per text.
Budget = Union[None, str, Mapping, WordBudgets, Sequence]


@dataclass
class Reading:
    """Texts as the model reads them, and what it does not understand of them."""

    lines: list[str] = field(default_factory=list)  # in the model's words
    sentences: list[Tensor] = field(default_factory=list)  # (length + 1,), with the end
    cut: list[int] = field(default_factory=list)  # numbers of texts, from 0, that were too long
    unknown_characters: Counter = field(default_factory=Counter)

    def warnings(self) -> list[str]:
        found = []
        if self.cut:
            shown = ", ".join(str(number + 1) for number in self.cut[:5]) + (", ..." if len(self.cut) > 5 else "")
            found.append(f"{len(self.cut)} texts are too long; only their beginnings are read: number {shown}")
        if self.unknown_characters:
            shown = " ".join(character for character, _ in self.unknown_characters.most_common(10))
            total = sum(self.unknown_characters.values())
            found.append(f"{total} characters are unknown to the model: {shown}")
        return found


class Summarizer:
    """Summarizes raw text with a trained model, as `wfe-generate` does.

    Args:
        model: directory made by wfe-train or wfe-export, or a checkpoint, or several, an ensemble (a list, or
            separated by colons)
        data: directory made by wfe-preprocess; default: what the model was trained on
        device: "cpu", "cuda", "cuda:1", ...; default: a GPU if there is one
        half: half precision
        fairseq_options: options of fairseq-generate, as on its command line

    >>> Summarizer("model").summarize(["The Bank of Japan said on Monday that ..."], beam=5)  # doctest: +SKIP
    ['bank of japan ...']
    """

    def __init__(
        self,
        model: Union[str, Path, Sequence[Union[str, Path]]],
        data: Union[str, Path, None] = None,
        device: Optional[str] = None,
        half: bool = False,
        fairseq_options: Sequence[str] = (),
    ):
        wfe_plugin.register()
        self.paths = find_models(model)
        states = {path: checkpoints.load(path, for_fairseq=True) for path in self.paths}
        self.data = find_data(states, data)
        self.treatment = Treatment.load(self.data)
        self.decoder = Decoder(self.data, states, fairseq_options, device, half)
        self._characters = frozenset("".join(self.decoder.task.source_dictionary.symbols))

    def summarize(
        self,
        texts: Union[str, Iterable[str]],
        beam: int = 5,
        nbest: int = 1,
        batch_size: int = 32,
        decoding: str = "auto",
        budget: Budget = None,
        **options: Any,
    ) -> Union[str, list[str], list[list[Hypothesis]]]:
        """One summary for each text, in order; an empty one for an empty text.

        Args:
            texts: raw text; a single string gives a single result
            nbest: with more than one, a list of hypotheses for each text, each with `score` and `text`
            decoding: use of the word-frequency estimate (`--wfe-decoding`)
            budget: how often whole words may occur, such as "germany=0 pinochet=1 olympics=+" (never, at most once,
                must appear), or as a dictionary; or a list of these, one per text
            options: others of decoding, named as fairseq names them: `max_len_b=30`, `no_repeat_ngram_size=3`
        """
        single = isinstance(texts, str)
        check_options(options)
        if nbest > beam:
            raise UserError(f"nbest is {nbest}; it must be at most beam, {beam}")
        reading = self.read([texts] if single else texts)
        budgets = budgets_of(budget, len(reading.lines))
        for warning in reading.warnings():
            logger.warning(warning)
        generator = self.decoder.generator(
            beam=beam, nbest=nbest, wfe_decoding=decoding, sentence_budgets=budgets, **options
        )
        dataset = self.decoder.sentences(reading.sentences)
        found = [[NOTHING]] * len(dataset)
        for batch in self.decoder.search(
            dataset, range(len(dataset)), generator, nbest, batch_size, lines=reading.lines
        ):
            for number, hypotheses in zip(batch.numbers, batch.hypotheses):
                found[number] = self.undo(hypotheses)
        results = found if nbest > 1 else [hypotheses[0].text for hypotheses in found]
        return results[0] if single else results

    def explain(self, texts: Iterable[str], **options: Any) -> list:
        """Why it summarizes as it does: an `Explanation` for each text; keywords as those of `summarize`."""
        from wfe_plugin.pipeline.explain import explain

        return explain(self, texts, **options)

    def read(self, texts: Iterable[str]) -> Reading:
        """Treat texts as the training data were, and number their words."""
        reading, dictionary = Reading(), self.decoder.task.source_dictionary
        longest = self.decoder.longest - 1
        for number, text in enumerate(texts):
            text = clean(text)
            words = self.treatment.apply(text[:MAX_CHARACTERS], "source").split()
            if len(text) > MAX_CHARACTERS or len(words) > longest:
                reading.cut.append(number)
                words = words[:longest]
            numbers = [dictionary.index(word) for word in words]
            unknown = [word for word, index in zip(words, numbers) if index == dictionary.unk()]
            reading.unknown_characters.update(
                character for word in unknown for character in word if character not in self._characters
            )
            reading.lines.append(" ".join(words))
            reading.sentences.append(torch.tensor([*numbers, dictionary.eos()]))
        return reading

    def named(self, reading: Reading) -> list[str]:
        """The texts in words, from which a model that copies names unknown ones; none if it reads pieces of words."""
        return reading.lines if self.treatment.has_whole_words else []

    def undo(self, hypotheses: Iterable[Hypothesis]) -> list[Hypothesis]:
        """Hypotheses as readable text."""
        return [Hypothesis(score, self.treatment.undo(text)) for score, text in hypotheses]


def budgets_of(budget: Budget, count: int) -> list[Optional[WordBudgets]]:
    """One per text; empty if there are none."""
    if budget is None:
        return []
    if isinstance(budget, (str, Mapping, WordBudgets)):
        return [WordBudgets.of(budget)] * count
    budgets = [WordBudgets.of(one) for one in budget]
    if len(budgets) != count:
        raise UserError(f"budget: {len(budgets)} for {count} texts; give one for all texts, or one per text")
    return budgets


def check_options(options: dict[str, Any]) -> None:
    """Raise if a keyword of `summarize` is none."""
    for name in options:
        if name not in OPTIONS:
            near = get_close_matches(name, [*OPTIONS, "beam", "nbest", "batch_size", "decoding", "budget"], n=1)
            raise UserError(f"{name}: not an option of decoding" + (f"; did you mean {near[0]}?" if near else ""))


def find_models(names: Union[str, Path, Sequence[Union[str, Path]]]) -> list[Path]:
    """The checkpoint files that a model or an ensemble stands for."""
    if isinstance(names, (str, Path)):
        names = str(names).split(os.pathsep)
    return [find_model(name) for name in names]


def find_model(name: Union[str, Path]) -> Path:
    path = Path(os.path.abspath(name))
    if not path.is_dir():
        return path
    for candidate in (path / checkpoints.BEST, path / MODEL):
        if candidate.exists():
            return candidate
    raise UserError(f"{name}: contains neither {checkpoints.BEST} nor {MODEL}: has the training finished?")


def find_data(states: Mapping[Path, dict], data: Union[str, Path, None]) -> Path:
    """The directory with dictionaries and treatment; default: that of the first model."""
    homes = {path: home_of(path, state) for path, state in states.items()}
    first = next(iter(homes))
    found = Path(os.path.abspath(data)) if data is not None else homes[first]
    if found is None:
        raise UserError(f"{first}: the data that it was trained on are not recorded; name the directory with --data")
    if os.pathsep in str(found):
        raise UserError(f"{found}: fairseq takes {os.pathsep!r} in the name as a separator; rename it")
    for path, home in homes.items():
        if home is not None:
            check_vocabularies(path, home, found)
    return found


def home_of(path: Path, state: dict) -> Optional[Path]:
    """Where the dictionaries of a model are: beside it if it was exported, else where it was trained."""
    return path.parent if (path.parent / SETTINGS_FILE).exists() else data_directory(state)
