"""Bounded search against the paper's Figure 1, stock fairseq, and itself."""

import math
from argparse import Namespace

import pytest
import torch
from fairseq.sequence_generator import SequenceGenerator
from fairseq.tasks.translation import TranslationTask

from helpers.literal_search import LiteralSearch
from helpers.toy import (
    FIRST_WORD,
    FixedEstimates,
    generate,
    padded_on_the_right,
    toy_batch,
    toy_model,
    toy_sources,
    toy_task,
    words_of,
)
from wfe_plugin.errors import UserError

WORDS = 8
VOCABULARY = FIRST_WORD + WORDS
EOS = 2
INF = float("inf")


def sparse_estimates(count, seed, words_with_budget=3):
    """Few words have a budget, so that few outputs are possible at all."""
    generator = torch.Generator().manual_seed(seed)
    r = -torch.rand(count, VOCABULARY, generator=generator)
    for sentence in range(count):
        chosen = FIRST_WORD + torch.randperm(WORDS, generator=generator)[:words_with_budget]
        r[sentence, chosen] = 0.3 + 0.7 * torch.rand(words_with_budget, generator=generator)
    g = 2 * torch.randn(count, VOCABULARY, generator=generator)
    return r.tolist(), g.tolist()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("decoding", ["full", "bound"])
def test_agrees_with_figure_1_where_both_are_exhaustive(seed, decoding):
    """Two words with a budget of one: five outputs, and a beam that holds all."""
    task = toy_task(WORDS, wfe_decoding=decoding)
    model = toy_model(task, seed)
    source = toy_sources(1, WORDS, seed)
    model.wfe_head = FixedEstimates(*sparse_estimates(1, seed, words_with_budget=2))
    found = generate(task, [model], toy_batch(task, source), beam=9)[0]
    expected = LiteralSearch(task, model, source[0], decoding).search(beam=9, max_len=8)
    assert len(expected) == 5
    assert [h["tokens"].tolist() for h in found] == [h.words for h in expected]
    assert [h["score"].item() for h in found] == pytest.approx([h.score for h in expected], abs=1e-4)


@pytest.mark.parametrize("bound_eos", [False, True])
@pytest.mark.parametrize("decoding", ["full", "strict", "bound", "gate"])
@pytest.mark.parametrize("seed", range(3))
def test_every_score_is_that_of_figure_1(seed, decoding, bound_eos):
    task = toy_task(WORDS, wfe_decoding=decoding, wfe_bound_eos=bound_eos)
    model = toy_model(task, seed)
    with torch.no_grad():  # some budget for EOS, which has one in trained models
        model.wfe_head.frequency_output.weight[EOS].zero_()
    sources = toy_sources(5, WORDS, seed)
    batch = toy_batch(task, sources)
    if bound_eos:
        r, g = (10 * torch.rand(5, VOCABULARY) for _ in range(2))
        model.wfe_head = FixedEstimates(r.tolist(), g.tolist())
    order = batch["id"].tolist()
    for number, (source, hypotheses) in enumerate(zip(sources, generate(task, [model], batch))):
        alone = toy_model(task, seed)
        if bound_eos:
            place = order.index(number)
            alone.wfe_head = FixedEstimates([r[place].tolist()], [g[place].tolist()])
        else:
            alone.wfe_head = model.wfe_head
        literal = LiteralSearch(task, alone, source, decoding, bound_eos)
        assert hypotheses
        for hypothesis in hypotheses:
            words = words_of(hypothesis, EOS)
            assert hypothesis["score"].item() == pytest.approx(literal.score(words), abs=1e-3)
            assert hypothesis["positional_scores"].sum().item() == pytest.approx(hypothesis["score"].item(), abs=1e-3)


def same_hypotheses(left, right, tolerance=0.0):
    assert len(left) == len(right)
    for ours, theirs in zip(left, right):
        assert [h["tokens"].tolist() for h in ours] == [h["tokens"].tolist() for h in theirs]
        scores = [h["score"].item() for h in theirs]
        assert [h["score"].item() for h in ours] == pytest.approx(scores, abs=tolerance)


@pytest.mark.parametrize(
    "options",
    [
        dict(beam=1),
        dict(beam=4),
        dict(beam=4, unnormalized=False, lenpen=0.7, min_len=3),
        dict(beam=3, sampling=True, sampling_topk=4),
        dict(beam=3, sampling=True, sampling_topp=0.7),
        dict(beam=4, temperature=1.7, unkpen=2.0),
    ],
)
def test_off_is_stock_fairseq(options):
    task = toy_task(WORDS, wfe_decoding="off")
    model = toy_model(task, 3)
    batch = toy_batch(task, toy_sources(6, WORDS, 3))
    stock = TranslationTask(task.cfg, task.source_dictionary, task.target_dictionary)
    torch.manual_seed(0)
    ours = generate(task, [model], batch, **options)
    torch.manual_seed(0)
    same_hypotheses(ours, generate(stock, [model], batch, **options))
    generator = task.build_generator([model], Namespace(**options))
    assert type(generator) is SequenceGenerator


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("options", [dict(beam=4), dict(beam=3, unnormalized=False, min_len=2)])
def test_without_effect_the_bound_changes_nothing(seed, options):
    """Infinite budgets and open gates: our search is fairseq's, to the last bit."""
    task = toy_task(WORDS)
    model = toy_model(task, seed)
    batch = toy_batch(task, toy_sources(6, WORDS, seed))
    stock = generate(task, [model], batch, wfe_decoding="off", **options)
    wide_open = [[INF] * VOCABULARY] * 6
    model.wfe_head = FixedEstimates(wide_open, wide_open)
    same_hypotheses(generate(task, [model], batch, **options), stock)


@pytest.mark.parametrize("decoding", ["full", "strict", "bound", "gate"])
def test_composition_order_and_padding_of_a_batch_do_not_matter(decoding):
    task = toy_task(WORDS, wfe_decoding=decoding)
    model = toy_model(task, 5)
    sources = toy_sources(7, WORDS, 5)
    together = generate(task, [model], toy_batch(task, sources))
    alone = [generate(task, [model], toy_batch(task, [source]))[0] for source in sources]
    backwards = generate(task, [model], toy_batch(task, sources[::-1]))[::-1]
    same_hypotheses(together, alone, tolerance=1e-4)
    same_hypotheses(together, backwards, tolerance=1e-4)
    same_hypotheses(generate(task, [model], padded_on_the_right(toy_batch(task, sources))), together, tolerance=1e-4)


def test_sentences_that_finish_early_leave_the_others_alone():
    """Sentences with no budget at all end at once; the rest go on, and shrink."""
    task = toy_task(WORDS)
    sources = toy_sources(4, WORDS, 1)
    batch = toy_batch(task, sources)
    r, g = sparse_estimates(4, 1, words_with_budget=4)
    r[1] = r[2] = [0.0] * VOCABULARY
    model = toy_model(task, 1)
    model.wfe_head = FixedEstimates(r, g)
    found = generate(task, [model], batch)
    order = batch["id"].tolist()
    for place, number in enumerate(order):
        alone = toy_model(task, 1)
        alone.wfe_head = FixedEstimates([r[place]], [g[place]])
        expected = generate(task, [alone], toy_batch(task, [sources[number]]))
        same_hypotheses([found[number]], expected, tolerance=1e-4)
        if place in (1, 2):
            assert [words_of(h, EOS) for h in found[number]] == [[]]


def test_search_stops_when_no_hypothesis_can_go_on():
    """One possible word, beam 4, maximum length 200: two outputs after two steps."""
    task = toy_task(WORDS)
    model = toy_model(task, 0)
    r, g = sparse_estimates(1, 0, words_with_budget=1)
    model.wfe_head = FixedEstimates(r, g)
    steps = []
    decoder_forward = model.decoder.forward
    model.decoder.forward = lambda *a, **k: steps.append(1) or decoder_forward(*a, **k)
    (found,) = generate(task, [model], toy_batch(task, [[4, 5]]), max_len_b=200)
    assert len(found) == 2
    assert len(steps) <= 3


def test_ensemble_averages_budgets_and_gates():
    task = toy_task(WORDS)
    batch = toy_batch(task, [[4, 5, 6]])
    first, second = toy_model(task, 1), toy_model(task, 1)
    r1, g1 = 3 * torch.rand(1, VOCABULARY), torch.randn(1, VOCABULARY)
    r2, g2 = torch.rand(1, VOCABULARY), torch.randn(1, VOCABULARY)
    first.wfe_head = FixedEstimates(r1.tolist(), g1.tolist())
    second.wfe_head = FixedEstimates(r2.tolist(), g2.tolist())
    average_gate = (torch.sigmoid(g1) + torch.sigmoid(g2)) / 2
    both = toy_model(task, 1)
    both.wfe_head = FixedEstimates(((r1 + r2) / 2).tolist(), torch.logit(average_gate).tolist())
    # The models are otherwise the same, so their average is either of them.
    same_hypotheses(generate(task, [first, second], batch), generate(task, [both], batch), 1e-4)


@pytest.mark.parametrize(
    "spoiled, said",
    [
        ("decoder.fc_out.weight", "scores of words are not numbers"),
        ("wfe_head.frequency_output.weight", "estimates of word frequencies are not numbers"),
    ],
)
def test_overflow_is_told(spoiled, said):
    """As where --fp16 makes activations infinite; finite weights are let through when a model is loaded."""
    task = toy_task(WORDS)
    model = toy_model(task, 1)
    with torch.no_grad():
        model.get_parameter(spoiled).fill_(math.nan)
    for options in ({}, dict(sampling=True), dict(beam=1)):
        with pytest.raises(UserError, match=said):
            generate(task, [model], toy_batch(task, toy_sources(2, WORDS, 1)), **options)
