"""Options of decoding: what is refused, what `auto` comes to, and that weights and rewards are those of Figure 1."""

import logging
import math
from argparse import Namespace
from dataclasses import fields
from typing import Optional

import pytest
import torch
from fairseq.sequence_generator import SequenceGenerator

from helpers.literal_search import LiteralSearch
from helpers.toy import FIRST_WORD, generate, toy_batch, toy_model, toy_sources, toy_task, words_of
from wfe_plugin.errors import UserError
from wfe_plugin.generation.options import NEUTRAL, RANGES, DecodingConfig
from wfe_plugin.method.calibration import PAPER, Calibration

WORDS = 8
EOS = 2
INF = float("inf")
LOG_BASE_RATE = torch.linspace(-6.0, -0.1, FIRST_WORD + WORDS)


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(wfe_decoding="hard"), "choose one of auto, full, strict, bound, gate, oracle, off"),
        (dict(wfe_gate_weight=-1.0), "--wfe-gate-weight is -1.0; it must be from 0 to 100"),
        (dict(wfe_gate_weight=math.nan), "--wfe-gate-weight is nan"),
        (dict(wfe_base_rate_weight=INF), "--wfe-base-rate-weight is inf"),
        (dict(wfe_gate_weight=0.5, wfe_decoding="bound"), "--wfe-gate-weight has no effect with --wfe-decoding bound"),
        (dict(wfe_base_rate_weight=0.5, wfe_decoding="off"), "--wfe-base-rate-weight has no effect"),
        (dict(wfe_shortlist=-1), "--wfe-shortlist is -1; it must be 0 or more"),
        (dict(wfe_shortlist=9, wfe_decoding="off"), "--wfe-shortlist takes its words from the estimate"),
        (dict(word_reward=math.nan), "--word-reward is nan"),
        (dict(out_of_source_penalty=-2.0), "--out-of-source-penalty is -2.0; it must be from 0 to 1000"),
        (dict(word_cap=-1), "--word-cap is -1; it must be 0 or more"),
        (dict(repetition_penalty=0.9), "--repetition-penalty is 0.9; it must be from 1"),
        (dict(frequency_penalty=INF), "--frequency-penalty is inf"),
        (dict(presence_penalty=-0.1), "--presence-penalty"),
        (dict(coverage_penalty=math.nan), "--coverage-penalty"),
        (dict(gnmt_length_penalty=-1.0), "--gnmt-length-penalty"),
        (dict(budget="germany"), "is not WORD=N"),
    ],
)
def test_values_that_make_no_sense(options, message):
    with pytest.raises(UserError, match=message):
        DecodingConfig(**options).validate()


def test_every_option_of_a_rule_has_a_neutral_value_and_every_number_a_range():
    """What NEUTRAL lacks would be ignored with --wfe-decoding off, which then is fairseq's own search."""
    no_rules = {"wfe_decoding", "wfe_gate_weight", "wfe_base_rate_weight", "wfe_bound_eos", "wfe_shortlist"}
    no_rules |= {"exempt_words", "ignore_when_blocking"}
    options = {option.name: option for option in fields(DecodingConfig) if not option.name.startswith("_")}
    assert set(options) - set(NEUTRAL) == no_rules
    numbers = {name for name, option in options.items() if option.type in (int, float, Optional[float])}
    assert set(RANGES) == numbers


def test_values_that_make_sense():
    DecodingConfig().validate()
    DecodingConfig(wfe_gate_weight=0.0, wfe_base_rate_weight=2.0, word_reward=-1.0, wfe_decoding="gate").validate()


def test_the_caller_wins_over_the_task():
    options = DecodingConfig.of(Namespace(word_cap=1, beam=3), DecodingConfig(word_cap=2, presence_penalty=0.5))
    assert options == DecodingConfig(word_cap=1, presence_penalty=0.5)


def calibrated(*calibrations):
    """Models with an estimate, of these calibrations; None: not calibrated."""
    return [Namespace(wfe_head=object(), calibration=calibration) for calibration in calibrations]


PLAIN = Namespace(wfe_head=None)
ONE, OTHER = Calibration(0.75, 0.5, 0.5, "f1"), Calibration(0.25, 0.0, 1.5, "f1")


@pytest.mark.parametrize(
    "options, models, mode, weights, said",
    [
        (dict(), calibrated(ONE), "full", ONE[:3], "gate=0.75 base-rate=0.5 reward=0.5 (calibrated)"),
        (dict(), calibrated(None), "full", PAPER[:3], "not calibrated"),
        (dict(), [PLAIN], "off", PAPER[:3], "no word-frequency estimate"),
        (dict(), [PLAIN, PLAIN], "off", PAPER[:3], "no word-frequency estimate"),
        (dict(), calibrated(ONE, OTHER), "full", (0.5, 0.25, 1.0), "calibrated"),
        (dict(), calibrated(ONE, None), "full", PAPER[:3], "some of the models are not calibrated"),
        (dict(wfe_gate_weight=2.0), calibrated(ONE), "full", (2.0, 0.5, 0.5), "gate=2"),
        (dict(word_reward=0.0), calibrated(ONE), "full", (0.75, 0.5, 0.0), "reward=0 "),
        (dict(word_reward=0.3), [PLAIN], "off", (1.0, 0.0, 0.3), "off"),
        (dict(wfe_decoding="full"), calibrated(ONE), "full", PAPER[:3], "full"),
        (dict(wfe_decoding="gate", wfe_base_rate_weight=1.0), calibrated(ONE), "gate", (1.0, 1.0, 0.0), "gate"),
        (dict(wfe_decoding="off"), [*calibrated(ONE), PLAIN], "off", PAPER[:3], "off"),
        (dict(wfe_decoding="oracle"), [PLAIN], "oracle", PAPER[:3], "oracle"),
    ],
)
def test_what_options_come_to(options, models, mode, weights, said):
    resolved, sentence = DecodingConfig(**options).resolved(models)
    assert resolved.wfe_decoding == mode
    assert resolved.calibration[:3] == weights
    assert said in sentence


@pytest.mark.parametrize(
    "options, models, message",
    [
        (dict(), [*calibrated(ONE), PLAIN], "model 2 of 2 has no word-frequency estimate"),
        (dict(wfe_decoding="bound"), [PLAIN, *calibrated(None)], "model 1 of 2 has no word-frequency estimate"),
        (dict(wfe_decoding="full"), [PLAIN], "--wfe-decoding full needs a word-frequency estimate"),
        (dict(wfe_base_rate_weight=0.5), [PLAIN], "need a word-frequency estimate"),
    ],
)
def test_models_that_lack_an_estimate(options, models, message):
    with pytest.raises(UserError, match=message):
        DecodingConfig(**options).resolved(models)


def test_the_task_says_once_how_it_decodes(caplog):
    task = toy_task(WORDS)
    with caplog.at_level(logging.INFO):
        for _ in range(2):
            generator = task.build_generator([toy_model(task, without_wfe=True)], Namespace())
    assert type(generator) is SequenceGenerator
    assert [r.getMessage() for r in caplog.records if "decoding:" in r.getMessage()] == [
        "decoding: off (no word-frequency estimate in the model)"
    ]


def weighted_model(task, seed, **config):
    """A random model with base rates."""
    model = toy_model(task, seed, **config)
    model.log_base_rate = lambda: LOG_BASE_RATE
    return model


WEIGHTS = [
    dict(wfe_gate_weight=0.75, wfe_base_rate_weight=0.5, word_reward=0.3),
    dict(wfe_gate_weight=1.0, wfe_base_rate_weight=1.0, out_of_source_penalty=1.5),
    dict(wfe_gate_weight=0.0, wfe_base_rate_weight=0.25, word_reward=-0.4, out_of_source_penalty=0.7),
    dict(word_reward=0.6, out_of_source_penalty=2.0),
]


def literal(task, model, source, decoding, options):
    names = dict(wfe_gate_weight="gate_weight", wfe_base_rate_weight="base_rate_weight")
    options = {names.get(name, name): value for name, value in options.items()}
    return LiteralSearch(task, model, source, decoding, log_base_rate=LOG_BASE_RATE.tolist(), **options)


@pytest.mark.parametrize("options", WEIGHTS, ids=lambda options: "+".join(options))
@pytest.mark.parametrize("decoding", ["auto", "strict", "gate", "off"])
def test_every_score_and_greedy_output_is_that_of_figure_1(decoding, options):
    if decoding == "off":
        options = {name: value for name, value in options.items() if name in NEUTRAL}
    task = toy_task(WORDS, wfe_decoding=decoding)
    task.source_dictionary.add_symbol("foreign")  # to the summaries
    model = weighted_model(task, 3)
    sources = toy_sources(4, WORDS + 1, 3)
    found = generate(task, [model], toy_batch(task, sources), **options)
    greedy = generate(task, [model], toy_batch(task, sources), beam=1, **options)
    for source, hypotheses, (best,) in zip(sources, found, greedy):
        search = literal(task, model, source, "full" if decoding == "auto" else decoding, options)
        assert hypotheses
        for hypothesis in hypotheses:
            expected = search.score(words_of(hypothesis, EOS))
            assert hypothesis["score"].item() == pytest.approx(expected, abs=1e-3)
        (expected,) = search.search(beam=1, max_len=8)
        assert best["tokens"].tolist() == expected.words


@pytest.mark.parametrize(
    "decoding, options",
    [("full", {}), ("bound", {}), ("gate", {}), ("full", WEIGHTS[0]), ("full", dict(word_reward=0.5))],
)
def test_references_are_scored_as_by_the_search(decoding, options):
    task = toy_task(WORDS, wfe_decoding=decoding)
    model = weighted_model(task, 2)
    sources = toy_sources(4, WORDS, 2)
    found = generate(task, [model], toy_batch(task, sources), unnormalized=False, **options)
    best = [words_of(hypotheses[0], EOS) for hypotheses in found]
    scored = generate(task, [model], toy_batch(task, sources, best), score_reference=True, **options)
    for hypotheses, (reference,) in zip(found, scored):
        expected = hypotheses[0]["positional_scores"].tolist()
        assert reference["positional_scores"].tolist() == pytest.approx(expected, abs=1e-4)


def test_base_rates_of_an_ensemble_are_averaged():
    task = toy_task(WORDS)
    models = [toy_model(task, 1) for _ in range(3)]
    for model, rate in zip(models, (0.2, 0.6, 0.4)):
        model.log_base_rate = lambda rate=rate: torch.full_like(LOG_BASE_RATE, rate).log()
    batch = toy_batch(task, toy_sources(3, WORDS, 1))
    for together, alone in zip(
        *(generate(task, some, batch, wfe_base_rate_weight=0.7) for some in (models, models[2:]))
    ):
        assert [h["tokens"].tolist() for h in together] == [h["tokens"].tolist() for h in alone]
        scores = [h["score"].item() for h in alone]
        assert [h["score"].item() for h in together] == pytest.approx(scores, abs=1e-4)


def test_the_rule_without_training_decodes_any_model():
    """Out-of-source penalty and cap of one: a large penalty keeps to the words of the source."""
    task = toy_task(WORDS)
    model = toy_model(task, 4, without_wfe=True)
    sources = toy_sources(4, WORDS, 4)
    batch = toy_batch(task, sources)
    found = generate(task, [model], batch, out_of_source_penalty=1000.0, word_cap=1)
    exempt = generate(task, [model], batch, out_of_source_penalty=1000.0, exempt_words="w0 w1")
    special = {3}  # the unknown word
    for source, hypotheses, freer in zip(sources, found, exempt):
        assert set(words_of(hypotheses[0], EOS)) <= {*source, *special}
        assert set(words_of(freer[0], EOS)) <= {*source, *special, 4, 5}
