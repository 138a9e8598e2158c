"""Why a model said what it said: what it read in the source, and what each rule did to its words."""

import math
from collections.abc import Iterable
from dataclasses import fields
from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor

from wfe_plugin.generation.estimates import average_estimate
from wfe_plugin.generation.options import DecodingConfig
from wfe_plugin.generation.rules.rule import StepContext
from wfe_plugin.models.wfe_model import corresponding_words
from wfe_plugin.pipeline.decode import quiet_fairseq
from wfe_plugin.pipeline.summarizer import Summarizer, check_options

WORDS = 12  # with the highest estimates that are shown
WANTED = 4  # words that are shown for each step
# Options that a summary without any rule does without.
RULES = {"no_repeat_ngram_size", *(option.name for option in fields(DecodingConfig))}


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


class Step(NamedTuple):
    """One word of the summary."""

    word: str
    log_prob: float
    changes: dict[str, Optional[float]]  # by rule, those that did something
    budget_left: Optional[float]  # before it was said; None: unlimited
    wanted: list[Candidate]  # the model's own favourites, best first


class Explanation(NamedTuple):
    """All there is to say about the summary of one text."""

    text: str
    decoding: str  # a sentence on what decoded
    source: list[SourceWord]
    words: list[Judged]
    summary: str
    steps: list[Step]
    without: str  # the summary by the same model without any rule

    def as_json(self) -> dict[str, Any]:
        return {
            **self._asdict(),
            "source": [word._asdict() for word in self.source],
            "words": [word._asdict() for word in self.words],
            "steps": [
                {**step._asdict(), "wanted": [candidate._asdict() for candidate in step.wanted]} for step in self.steps
            ],
        }


def explain(
    summarizer: Summarizer, texts: Iterable[str], beam: int = 5, decoding: str = "auto", **options: Any
) -> list[Explanation]:
    """Explanations of the summaries that `Summarizer.summarize` gives with the same arguments."""
    check_options(options)
    explainer = Explainer(summarizer, beam, decoding, options)
    return [explainer.explain(text) for text in texts]


class Explainer:
    """Decodes one text at a time, and follows its summary word by word."""

    def __init__(self, summarizer: Summarizer, beam: int, decoding: str, options: dict[str, Any]):
        self.summarizer, self.decoder = summarizer, summarizer.decoder
        self.models = self.decoder.models
        with quiet_fairseq():  # the explanation says what decoded
            self.generator = self.decoder.generator(beam=beam, wfe_decoding=decoding, **options)
            plain = {name: value for name, value in options.items() if name not in RULES}
            self.stock = self.decoder.generator(beam=beam, wfe_decoding="off", **plain)
        _, self.decoding = self.decoder.resolved(wfe_decoding=decoding, **options)
        self.words = self.decoder.task.target_dictionary
        self.sayable = corresponding_words(self.decoder.task.source_dictionary, self.words)

    @torch.no_grad()
    def explain(self, text: str) -> Explanation:
        reading = self.summarizer.read([text])
        dataset = self.decoder.sentences(reading.sentences)
        if len(reading.sentences[0]) == 1:  # nothing but its end
            return Explanation(text, self.decoding, [], [], "", [], "")
        sample = dataset.collater([dataset[0]])
        tokens = {
            name: self.decoder.task.inference_step(generator, self.models, sample)[0][0]["tokens"]
            for name, generator in (("summary", self.generator), ("without", self.stock))
        }
        gates, judged = self.estimates(sample["net_input"])
        sayable = self.sayable[reading.sentences[0][:-1]].tolist()
        source = [
            SourceWord(word, None if gates is None or index < 0 else gates[index].item())
            for word, index in zip(reading.lines[0].split(), sayable)
        ]
        outputs = {name: self.summarizer.treatment.undo(self.words.string(found)) for name, found in tokens.items()}
        return Explanation(
            text, self.decoding, source, judged, steps=self.steps(sample["net_input"], tokens["summary"]), **outputs
        )

    def estimates(self, net_input: dict[str, Tensor]) -> tuple[Optional[Tensor], list[Judged]]:
        """Gates of all words, (vocabulary,), and the words with the highest estimates; None without an estimate."""
        if getattr(self.models[0], "wfe_head", None) is None or not hasattr(self.generator.model, "encode"):
            return None, []
        batch = self.generator.model.encode(net_input)
        if batch.sentences.bound is None:
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
                batch.sentences.bound.first_mask[0, word].item(),
            )
            for word in a_hat.topk(min(WORDS, len(a_hat))).indices.tolist()
        ]

    def steps(self, net_input: dict[str, Tensor], summary: Tensor) -> list[Step]:
        """The summary word by word, with what each rule did, as the search has seen it."""
        ensemble = self.generator.model
        ruled = hasattr(ensemble, "encode")
        batch = ensemble.encode(net_input) if ruled else None
        encoder_outs = batch.encoder_outs if batch else ensemble.forward_encoder(net_input)
        states: list[dict] = [{} for _ in self.models]
        prefix = torch.full((1, 1), self.words.eos(), device=summary.device)
        found = []
        for word in summary.tolist():
            plain = ensemble.forward_decoder(prefix, encoder_outs, states, 1.0)[0].float()
            scores, changes = plain.clone(), {}
            for rule in ensemble.rules if ruled else ():
                before = scores[0, word].item()
                rule(scores, StepContext(prefix[:, 1:], batch.sentences))
                after = scores[0, word].item()
                if after != before:
                    changes[rule_name(rule)] = finite(after - before)
            wanted = plain[0].topk(WANTED).indices.tolist()
            found.append(
                Step(
                    self.words[word] if word != self.words.eos() else "",
                    plain[0, word].item(),
                    changes,
                    self.budget_left(batch, prefix, word),
                    [
                        Candidate(
                            self.words[one] if one != self.words.eos() else "",
                            plain[0, one].item(),
                            finite((scores[0, one] - plain[0, one]).item()),
                        )
                        for one in wanted
                    ],
                )
            )
            prefix = torch.cat((prefix, torch.full((1, 1), word, device=summary.device)), dim=1)
        return found

    def budget_left(self, batch, prefix: Tensor, word: int) -> Optional[float]:
        if batch is None or batch.sentences.bound is None:
            return None
        left = batch.sentences.bound.budget[0, word] - prefix[0, 1:].eq(word).sum()
        return finite(left.item())


def finite(number: float) -> Optional[float]:
    return number if math.isfinite(number) else None


def rule_name(rule) -> str:
    """WithinFrequencies -> within frequencies"""
    name = type(rule).__name__
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()
