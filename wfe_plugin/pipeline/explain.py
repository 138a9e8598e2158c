"""Why a model said what it said: what it read in the source, and what each rule did to its words."""

import json
import logging
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, fields
from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor

from wfe_plugin.generation.batch import EncodedBatch
from wfe_plugin.generation.estimates import average_estimate
from wfe_plugin.generation.options import DecodingConfig
from wfe_plugin.generation.rules.rule import StepContext
from wfe_plugin.models.wfe_model import corresponding_words
from wfe_plugin.pipeline.decode import quiet_fairseq
from wfe_plugin.pipeline.summarizer import Budget, Summarizer, budgets_of, check_options

logger = logging.getLogger(__name__)

WORDS = 12  # with the highest estimates that are shown
WANTED = 4  # words that are shown for each step
# Without any rule.
STOCK = {
    **{option.name: option.default for option in fields(DecodingConfig) if option.default is not MISSING},
    "no_repeat_ngram_size": 0,
    "wfe_decoding": "off",
}


class SourceWord(NamedTuple):
    """A word, or piece of one, of the source as the model reads it."""

    word: str
    gate: Optional[float]  # probability that summaries of this text have it; None: no estimate, or not sayable


class Judged(NamedTuple):
    """What the estimate says of a word of the summary's vocabulary."""

    word: str
    budget: float  # r̂, how often it may occur
    gate: float  # ĝ
    base_rate: Optional[float]  # p̄, the share of training summaries that have it
    mask: float  # what the mask adds to its log-probability the first time


class Candidate(NamedTuple):
    """A word that could be next."""

    word: str
    log_prob: float  # of the model alone
    change: Optional[float]  # what the rules add to it; None: they forbid it
    forbidden_by: str = ""  # the rule


class Step(NamedTuple):
    """One word of the summary."""

    word: str
    log_prob: float
    changes: dict[str, Optional[float]]  # by rule, those that did something
    wanted: list[Candidate]  # the model's own favourites, best first

    @property
    def blocked(self) -> list[Candidate]:
        """What the model would rather have said, and might not."""
        return [one for one in self.wanted if one.change is None and one.log_prob > self.log_prob]


class Spent(NamedTuple):
    """How a word's budget is spent."""

    word: str
    left: list[float]  # before each step


class Explanation(NamedTuple):
    """All there is to say about the summary of one text."""

    text: str
    decoding: str  # a sentence on what decoded
    source: list[SourceWord]
    words: list[Judged]
    summary: str
    steps: list[Step]
    budgets: list[Spent]  # of the words that were said or blocked; empty without an estimate
    without: str  # the summary by the same model without any rule

    @property
    def blocked(self) -> Counter:
        """How often each word was wanted and forbidden."""
        return Counter(one.word for step in self.steps for one in step.blocked)

    def as_line(self) -> str:
        """One line of JSON."""
        content = self._asdict()
        for name in ("source", "words", "budgets"):
            content[name] = [one._asdict() for one in getattr(self, name)]
        content["steps"] = [{**step._asdict(), "wanted": [one._asdict() for one in step.wanted]} for step in self.steps]
        return json.dumps({**content, "blocked": self.blocked}, ensure_ascii=False)


def explain(
    summarizer: Summarizer,
    texts: Iterable[str],
    beam: int = 5,
    decoding: str = "auto",
    budget: Budget = None,
    **options: Any,
) -> list[Explanation]:
    """Explanations of the summaries that `Summarizer.summarize` gives with the same arguments."""
    check_options(options)
    texts = list(texts)
    reading = summarizer.read(texts)
    for warning in reading.warnings():
        logger.warning(warning)
    with quiet_fairseq():  # the explanation says what decoded
        generator = summarizer.decoder.generator(
            beam=beam, wfe_decoding=decoding, sentence_budgets=budgets_of(budget, len(texts)), **options
        )
    _, decoded = summarizer.decoder.resolved(wfe_decoding=decoding, **options)
    plain = {name: value for name, value in options.items() if name not in STOCK}
    explainer = Explainer(summarizer, generator, decoded, beam=beam, **plain)
    dataset = summarizer.decoder.sentences(reading.sentences)
    return [explainer.explain(dataset, number, reading.lines, texts) for number in range(len(texts))]


class Explainer:
    """Decodes one text at a time, and follows its summary word by word.

    Args:
        generator: that explains itself
        decoding: what it does, in words
        options: of the generator, beside rules
    """

    def __init__(self, summarizer: Summarizer, generator, decoding: str, **options: Any):
        self.summarizer, self.generator, self.decoding = summarizer, generator, decoding
        self.task, self.models = summarizer.decoder.task, summarizer.decoder.models
        with quiet_fairseq():
            self.stock = summarizer.decoder.generator(**{"beam": generator.beam_size, **options, **STOCK})
        self.words = self.task.target_dictionary
        self.sayable = corresponding_words(self.task.source_dictionary, self.words)
        self.ensemble = generator.model
        self.rules = getattr(self.ensemble, "rules", ())

    @torch.no_grad()
    def explain(self, dataset, number: int, lines: Sequence[str] = (), texts: Sequence[str] = ()) -> Explanation:
        """
        Args:
            dataset: of sentences
            lines, texts: the sentences as the model reads them, and raw; default: as the dictionary has them
        """
        tokens = dataset[number]["source"][:-1]
        read = lines[number].split() if lines else []
        if len(read) != len(tokens):
            read = [self.task.source_dictionary[token] for token in tokens]
        text = texts[number] if texts else self.summarizer.treatment.undo(" ".join(read))
        if not read:
            return Explanation(text, self.decoding, [], [], "", [], [], "")
        decoder = self.summarizer.decoder
        sample = decoder.sample(dataset, [number])
        found = {
            name: decoder.outputs(sample, generator)[0][0]
            for name, generator in (("summary", self.generator), ("without", self.stock))
        }
        batch = None
        if hasattr(self.generator, "encode"):
            constraints = self.generator.own_constraints(sample)
            batch = self.generator.encode(sample, decoder.prefix(sample), constraints)
        gates, judged = self.estimates(sample["net_input"], batch)
        source = [
            SourceWord(word, None if gates is None or index < 0 else gates[index].item())
            for word, index in zip(read, self.sayable[tokens].tolist())
        ]
        summary = found["summary"]["tokens"]
        steps = self.steps(sample["net_input"], batch, summary)
        budgets = self.budgets(batch, summary, steps)
        line = " ".join(read) if self.summarizer.treatment.has_whole_words else ""
        said = {
            name: decoder.text(one, sample["net_input"]["src_tokens"][0].cpu(), line) for name, one in found.items()
        }
        # Copied words that the vocabulary lacks have their names here, too.
        steps = [step._replace(word=word) for step, word in zip(steps, [*said["summary"].split(), ""])]
        outputs = {name: self.summarizer.treatment.undo(one) for name, one in said.items()}
        return Explanation(text, self.decoding, source, judged, steps=steps, budgets=budgets, **outputs)

    def estimates(self, net_input: dict, batch: Optional[EncodedBatch]) -> tuple[Optional[Tensor], list[Judged]]:
        """Gates of all words, (vocabulary,), and the words with the highest estimates; None without an estimate."""
        bound = batch and batch.sentences.bound
        if not bound or getattr(self.models[0], "wfe_head", None) is None:
            return None, []
        estimate = average_estimate(self.models, batch.encoder_outs, net_input["src_tokens"])
        rates = [model.log_base_rate() for model in self.models]
        rate = None if None in rates else torch.stack(rates).exp().mean(dim=0)
        a_hat, gates = estimate.a_hat[0].clone(), estimate.g_hat[0]
        a_hat[: self.words.nspecial] = 0.0
        return gates, [
            Judged(
                self.words[word],
                estimate.r_hat[0, word].item(),
                gates[word].item(),
                None if rate is None else rate[word].item(),
                bound.first_mask[0, word].item(),
            )
            for word in a_hat.topk(min(WORDS, len(a_hat))).indices.tolist()
        ]

    def steps(self, net_input: dict, batch: Optional[EncodedBatch], summary: Tensor) -> list[Step]:
        """The summary word by word, with what each rule did, as the search has seen it."""
        encoder_outs = batch.encoder_outs if batch else self.ensemble.forward_encoder(net_input)
        states: list[dict] = [{} for _ in self.models]
        prefix = torch.full((1, 1), self.words.eos(), device=summary.device)
        found = []
        for word in summary.tolist():
            plain = self.ensemble.forward_decoder(prefix, encoder_outs, states, 1.0)[0].float()
            wanted = plain[0].topk(WANTED).indices.tolist()
            looked_at = torch.tensor([word, *wanted], device=summary.device)
            scores, changes, culprits = plain.clone(), {}, dict.fromkeys(wanted, "")
            for rule in self.rules:
                before = scores[0, looked_at]
                rule(scores, StepContext(prefix[:, 1:], batch.sentences))
                after = scores[0, looked_at]
                if after[0] != before[0]:
                    changes[rule_name(rule)] = finite((after[0] - before[0]).item())
                for one, new, old in zip(wanted, after[1:], before[1:]):
                    culprits[one] = rule_name(rule) if new.isneginf() and not old.isneginf() else culprits[one]
            candidates = [
                Candidate(self.name(one), plain[0, one].item(), finite((scores - plain)[0, one].item()), culprits[one])
                for one in wanted
            ]
            found.append(Step(self.name(word), plain[0, word].item(), changes, candidates))
            prefix = torch.cat((prefix, torch.full((1, 1), word, device=summary.device)), dim=1)
        return found

    def name(self, word: int) -> str:
        """Empty for the end of the summary."""
        return "" if word == self.words.eos() else self.words[word]

    def budgets(self, batch: Optional[EncodedBatch], summary: Tensor, steps: Sequence[Step]) -> list[Spent]:
        """Of the words that were said or blocked, before each step; the estimate's budgets."""
        if batch is None or batch.sentences.bound is None:
            return []
        blocked = [one.word for step in steps for one in step.blocked]
        names = dict.fromkeys([*(step.word for step in steps), *blocked])
        budget, found = batch.sentences.bound.budget[0], []
        for word in filter(None, names):
            own = budget[self.words.index(word)].item()
            if math.isfinite(own):
                said = [step.word == word for step in steps]
                found.append(Spent(word, [max(0.0, own - sum(said[:place])) for place in range(len(said))]))
        return found


def finite(number: float) -> Optional[float]:
    return number if math.isfinite(number) else None


def rule_name(rule) -> str:
    """WithinFrequencies -> within frequencies"""
    name = type(rule).__name__
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()
