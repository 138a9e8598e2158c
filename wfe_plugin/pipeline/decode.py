"""Search for summaries in this process: of a binarised set, or of sentences as tensors."""

import logging
import math
import time
import warnings
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

import numpy as np
import torch
from fairseq import checkpoint_utils, options, tasks, utils
from fairseq.dataclass.utils import convert_namespace_to_omegaconf, overwrite_args_by_name
from torch import Tensor

from wfe_plugin.generation.options import DecodingConfig
from wfe_plugin.pipeline import checkpoints
from wfe_plugin.pipeline.copied_words import name_unknown_words
from wfe_plugin.pipeline.memory import keep_freed_memory
from wfe_plugin.pipeline.text import MAX_CHARACTERS
from wfe_plugin.pipeline.treat import SIDES

# No source is too long: without this, fairseq stops at the length of the training data. As many
# words as a line of text can have, since a lower-cased character may become two, and one for the
# end. Not more: some models make a table of all positions.
ANY_LENGTH = 2 * MAX_CHARACTERS + 1
BATCH = 32  # sentences, unless options say otherwise
WINDOW = 16  # batches at most whose sentences are sorted by length together


class Hypothesis(NamedTuple):
    """One output of the model."""

    score: float  # log2 of the probability; divided by the length unless fairseq is told otherwise
    text: str


NOTHING = Hypothesis(0.0, "")  # what can be said about nothing


class Batch(NamedTuple):
    """What the search found for one batch."""

    numbers: list[int]  # of the sentences
    hypotheses: list[list[Hypothesis]]
    words: int  # of the best hypotheses, with the ends of sentences
    seconds: float


class Decoder:
    """Models that are ready to search, and the task that they belong to.

    Args:
        data: directory with the dictionaries and, perhaps, binarised sets
        states: checkpoints of the ensemble, as `checkpoints.load_for_fairseq` gives them, by path
        arguments: more options of fairseq-generate
        device: "cpu", "cuda", ...; default: a GPU if there is one
        half: half precision
    """

    def __init__(
        self,
        data: Path,
        states: Mapping[Path, dict],
        arguments: Sequence[str] = (),
        device: Optional[str] = None,
        half: bool = False,
    ):
        keep_freed_memory()
        self.cfg = read_options(data, arguments)
        with quiet_fairseq():
            self.task = tasks.setup_task(self.cfg.task)
        without_limit = not any(checkpoints.has_positions(state) for state in states.values())
        if without_limit:
            for state in states.values():
                overwrite_args_by_name(state["cfg"], {f"max_{side}_positions": ANY_LENGTH for side in SIDES})
        use_gpu = torch.cuda.is_available() and not self.cfg.common.cpu
        self.device = torch.device(device or ("cuda" if use_gpu else "cpu"))
        self.models = [self._ready(path, self.task, state, half) for path, state in states.items()]
        # The longest source, with its end, that all models take.
        self.longest = min([ANY_LENGTH, *(model.max_positions()[0] for model in self.models)])
        lm = self.cfg.generation.lm_path
        self.language_model = self._ready(lm, None, None, half) if lm else None
        self._replacements = utils.load_align_dict(self.cfg.generation.replace_unk)

    def _ready(self, path, task, state: Optional[dict], half: bool):
        overrides = None if task else {"data": self.cfg.task.data}
        (model,), _ = checkpoint_utils.load_model_ensemble([str(path)], overrides, task, state=state)
        if half or self.cfg.common.fp16:
            model.half()
        model.to(self.device).prepare_for_inference_(self.cfg)
        return model

    def generator(self, **changes: Any):
        """Options of `GenerationConfig` and of the task's decoding, on top of those that are given already."""
        chosen = Namespace(**{**self.cfg.generation, **changes})
        language_model = {"lm_model": self.language_model, "lm_weight": chosen.lm_weight}
        with quiet_fairseq():  # the callers say how they decode
            return self.task.build_generator(self.models, chosen, extra_gen_cls_kwargs=language_model)

    def resolved(self, **changes: Any) -> tuple[DecodingConfig, str]:
        """What the options of decoding come to for these models, and a sentence that says so."""
        return DecodingConfig.of(Namespace(**changes), self.cfg.task).resolved(self.models)

    def sentences(self, tokens: Sequence[Tensor]):
        """A data set of sentences, each with its end."""
        return self.task.build_dataset_for_inference(tokens, [len(sentence) for sentence in tokens])

    def binarised(self, name: str):
        """A set of the data directory; sources that are too long for the models are cut."""
        if self.longest < ANY_LENGTH:
            self.task.cfg.truncate_source = True
            self.task.cfg.max_source_positions = self.longest
        with quiet_fairseq():
            self.task.load_dataset(name)
        return self.task.dataset(name)

    def search(
        self,
        dataset,
        numbers: range,
        generator,
        nbest: int = 1,
        batch_size: Optional[int] = None,
        every: int = 1,
        lines: Sequence[str] = (),
    ) -> Iterator[Batch]:
        """Hypotheses for sentences of a data set; for empty ones there are none.

        Args:
            numbers: of the sentences, a union of `windows`
            batch_size: default: what the options say
            every: only every n-th batch
            lines: the sentences in words, as the model reads them; see `text`
        """
        limits = self.cfg.dataset
        size = batch_size or limits.batch_size or (None if limits.max_tokens else BATCH)
        lengths = np.asarray(dataset.src_sizes)
        count = 0
        for window in windows(len(dataset), numbers):
            if self.cfg.generation.sampling and not self.cfg.generation.no_seed_provided:
                utils.set_torch_seed(self.cfg.common.seed + window.start)
            order = window.start + np.argsort(lengths[window.start : window.stop], kind="stable")
            for batch in dataset.batch_by_size(order[lengths[order] > 1], limits.max_tokens, size):
                count += 1
                if (count - 1) % every == 0:
                    yield self._search(self.sample(dataset, batch), generator, nbest, lines)

    def sample(self, dataset, numbers: Sequence[int]) -> dict:
        """A batch of some sentences, where the models are."""
        sample = dataset.collater([dataset[number] for number in numbers])
        return sample if self.device.type == "cpu" else utils.move_to_cuda(sample, self.device)

    def prefix(self, sample: dict) -> Optional[Tensor]:
        """The words that the outputs must begin with, (sentences, number); None: any."""
        size = self.cfg.generation.prefix_size
        return sample["target"][:, :size] if size else None

    def outputs(self, sample: dict, generator) -> list[list[dict]]:
        """fairseq's, for each sentence of a batch."""
        constraints = sample.get("constraints")
        return self.task.inference_step(
            generator, self.models, sample, prefix_tokens=self.prefix(sample), constraints=constraints
        )

    def _search(self, sample: dict, generator, nbest: int, lines: Sequence[str]) -> Batch:
        begin = time.perf_counter()
        found = self.outputs(sample, generator)
        seconds = time.perf_counter() - begin
        numbers = sample["id"].tolist()
        sources = sample["net_input"]["src_tokens"].cpu()
        hypotheses = [
            [
                Hypothesis(float(one["score"]) / math.log(2), self.text(one, source, lines[number] if lines else ""))
                for one in best[:nbest]
            ]
            for number, source, best in zip(numbers, sources, found)
        ]
        return Batch(numbers, hypotheses, sum(len(best[0]["tokens"]) for best in found), seconds)

    @property
    def copies(self) -> bool:
        """Whether all models copy words of the source."""
        return all(getattr(model.decoder, "copies", False) for model in self.models)

    def text(self, hypothesis: dict, source: Tensor, line: str = "") -> str:
        """The words of a hypothesis. What a model has copied without knowing it is the word of the source itself.

        Args:
            hypothesis: fairseq's
            source: (time,), as the model has read it, padded
            line: the same in words, if unknown ones are to be named
        """
        words, known = self.task.target_dictionary, self.task.source_dictionary
        source = utils.strip_pad(source, words.pad())
        if self._replacements is not None:
            original = known.string(source)
            text = words.string(hypothesis["tokens"].int().cpu())
            return utils.replace_unk(text, original, hypothesis["alignment"], self._replacements, words.unk_string())
        said = [words[word] for word in hypothesis["tokens"].tolist() if word != words.eos()]
        if line and self.copies and words.unk_string() in said:
            read = [*line.split(), words.eos_word]
            read = read if len(read) == len(source) else [known[word] for word in source]
            targets = self.models[0].decoder.target_of_source[source.to(self.device)]
            is_foreign = targets.eq(words.unk()).tolist()
            said = name_unknown_words(said, words.unk_string(), read, is_foreign, hypothesis["attention"])
        return " ".join(said)


def windows(count: int, numbers: Optional[range] = None) -> list[range]:
    """Sentences that are sorted and put in batches together, of `count` in all; those within `numbers` alone.

    They depend on nothing but the count, so that whoever decodes a part decodes the same batches,
    to the last bit, as whoever decodes all.
    """
    batches = min(WINDOW, math.ceil(count / 8 / BATCH))
    size = max(1, batches) * BATCH
    every = [range(start, min(start + size, count)) for start in range(0, count, size)]
    return [window for window in every if numbers is None or window.start in numbers]


def read_options(data: Path, arguments: Sequence[str]):
    """fairseq's configuration of generation."""
    own = [str(data), "--task", "summarization_wfe", "--path", "given", "--no-progress-bar"]
    for side in SIDES:
        own += [f"--{side}-lang", side, f"--max-{side}-positions", str(ANY_LENGTH)]
    parser = options.get_generation_parser(default_task="summarization_wfe")
    with quiet_fairseq(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of hydra, about fairseq
        return convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, [*own, *arguments]))


class quiet_fairseq:
    """How large dictionaries and sets are is no news."""

    def __enter__(self):
        self.before = logging.root.manager.disable
        logging.disable(max(logging.INFO, self.before))

    def __exit__(self, *_):
        logging.disable(self.before)
