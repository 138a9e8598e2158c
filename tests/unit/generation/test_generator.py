"""Bounded search against the paper's Figure 1, stock fairseq, and itself."""

import math
from argparse import Namespace

import pytest
import torch
from fairseq.sequence_generator import SequenceGenerator
from fairseq.tasks.translation import TranslationTask
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.literal_search import LiteralSearch
from helpers.toy import (
    FIRST_WORD,
    FixedEstimates,
    generate,
    toy_batch,
    toy_model,
    toy_sources,
    toy_task,
    words_of,
)
from wfe_plugin.errors import UserError
from wfe_plugin.generation.generator import WFESequenceGenerator

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


@pytest.mark.parametrize("seed", range(6))
def test_greedy_search_agrees_with_figure_1(seed):
    """With a beam of one both searches take the best word at each step."""
    task = toy_task(WORDS)
    model = toy_model(task, seed)
    sources = toy_sources(3, WORDS, seed)
    found = generate(task, [model], toy_batch(task, sources), beam=1)
    for source, hypotheses in zip(sources, found):
        (expected,) = LiteralSearch(task, model, source).search(beam=1, max_len=8)
        assert hypotheses[0]["tokens"].tolist() == expected.words


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
def test_batch_composition_and_order_do_not_matter(decoding):
    task = toy_task(WORDS, wfe_decoding=decoding)
    model = toy_model(task, 5)
    sources = toy_sources(7, WORDS, 5)
    together = generate(task, [model], toy_batch(task, sources))
    alone = [generate(task, [model], toy_batch(task, [source]))[0] for source in sources]
    backwards = generate(task, [model], toy_batch(task, sources[::-1]))[::-1]
    same_hypotheses(together, alone, tolerance=1e-4)
    same_hypotheses(together, backwards, tolerance=1e-4)


def test_side_of_padding_does_not_matter():
    task = toy_task(WORDS)
    model = toy_model(task, 6)
    batch = toy_batch(task, toy_sources(5, WORDS, 6))
    left = generate(task, [model], batch)
    pad = task.source_dictionary.pad()
    rows = [[t for t in row if t != pad] for row in batch["net_input"]["src_tokens"].tolist()]
    width = max(map(len, rows))
    batch["net_input"]["src_tokens"] = torch.tensor([row + [pad] * (width - len(row)) for row in rows])
    same_hypotheses(generate(task, [model], batch), left)


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


def test_ensemble_of_different_models_keeps_the_average_budget():
    task = toy_task(WORDS)
    models = [toy_model(task, seed) for seed in range(3)]
    sources = toy_sources(6, WORDS, 2)
    found = generate(task, models, toy_batch(task, sources))
    for source, hypotheses in zip(sources, found):
        r_hats = [LiteralSearch(task, model, source).r_hat for model in models]
        assert hypotheses
        for hypothesis in hypotheses:
            words = words_of(hypothesis, EOS)
            for word in set(words):
                average = sum(r_hat[word] for r_hat in r_hats) / 3
                assert words.count(word) <= math.ceil(average)


def test_generator_class_is_reached_through_the_task():
    task = toy_task(WORDS)
    generator = task.build_generator([toy_model(task)], Namespace(beam=2))
    assert type(generator) is WFESequenceGenerator


def test_half_precision_models_decode():
    task = toy_task(WORDS)
    batch = toy_batch(task, toy_sources(4, WORDS, 1))
    for dtype in (torch.float16, torch.bfloat16):
        model = toy_model(task, 1).to(dtype)
        for hypotheses in generate(task, [model], batch):
            assert all(math.isfinite(h["score"].item()) for h in hypotheses)


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


SEARCHES = st.sampled_from(
    [
        {},
        dict(sampling=True),
        dict(sampling=True, sampling_topk=3),
        dict(sampling=True, sampling_topp=0.8),
        dict(diverse_beam_groups=2, diverse_beam_strength=0.5),
        dict(diversity_rate=0.5),
    ]
)
PENALTIES = st.sampled_from(
    [
        {},
        dict(repetition_penalty=1.5),
        dict(frequency_penalty=0.7, presence_penalty=0.2),
        dict(repetition_penalty=1000.0, frequency_penalty=1000.0),
        dict(coverage_penalty=0.4, gnmt_length_penalty=0.6),
    ]
)


@settings(max_examples=200)
@given(
    seed=st.integers(0, 10_000),
    weight_scale=st.sampled_from([0.05, 0.5, 1.0, 3.0]),
    sentences=st.integers(1, 5),
    beam=st.sampled_from([1, 2, 4, 6, 100]),
    max_len=st.integers(0, 9),
    min_len=st.integers(0, 5),
    decoding=st.sampled_from(["full", "strict", "bound", "gate", "off"]),
    bound_eos=st.booleans(),
    ngram=st.integers(0, 3),
    prefix_length=st.sampled_from([0, 0, 0, 1, 3]),
    unnormalized=st.booleans(),
    temperature=st.sampled_from([0.5, 1.0, 2.0]),
    search=SEARCHES,
    word_cap=st.integers(0, 2),
    penalties=PENALTIES,
)
def test_properties_of_any_search(
    seed,
    weight_scale,
    sentences,
    beam,
    max_len,
    min_len,
    decoding,
    bound_eos,
    ngram,
    prefix_length,
    unnormalized,
    temperature,
    search,
    word_cap,
    penalties,
):
    """Budgets are kept, and every sentence gets an output with a finite score."""
    if decoding == "off" and not word_cap and not penalties:
        word_cap = 9  # or it is fairseq's own search, which has its own limits
    if "diverse_beam_groups" in search:
        beam = 4
    if "diversity_rate" in search:
        beam = min(beam, 4)  # fairseq takes the best 2 * beam words of each hypothesis
    task = toy_task(WORDS, wfe_decoding=decoding, wfe_bound_eos=bound_eos)
    model = toy_model(task, seed, weight_scale=weight_scale)
    sources = toy_sources(sentences, WORDS, seed)
    batch = toy_batch(task, sources)
    prefix = torch.randint(FIRST_WORD, VOCABULARY, (sentences, prefix_length)) if prefix_length else None
    torch.manual_seed(seed)
    found = generate(
        task,
        [model],
        batch,
        prefix_tokens=prefix,
        beam=beam,
        max_len_b=max_len,
        min_len=min(min_len, max_len),
        no_repeat_ngram_size=min(ngram, max_len),
        unnormalized=unnormalized,
        temperature=temperature,
        word_cap=word_cap,
        **search,
        **penalties,
    )
    order = batch["id"].tolist()
    for number, (source, hypotheses) in enumerate(zip(sources, found)):
        literal = LiteralSearch(task, model, source, decoding, bound_eos)
        forced = []
        if prefix is not None:
            forced = prefix[order.index(number)].tolist()[:max_len]
        assert hypotheses
        for hypothesis in hypotheses:
            assert math.isfinite(hypothesis["score"].item())
            words = words_of(hypothesis, EOS)
            assert len(words) <= max_len
            check_frequencies(words, forced, literal.r_hat, word_cap)
            if ngram and not forced:
                grams = [tuple(words[i : i + ngram]) for i in range(len(words) - ngram + 1)]
                assert len(grams) == len(set(grams))


def check_frequencies(words, forced, r_hat, word_cap):
    """The output begins as it must, and has each word as often as it may."""
    assert words[: len(forced)] == forced[: len(words)]
    for word in set(words):
        assert r_hat[word] == INF or words.count(word) <= max(math.ceil(r_hat[word]), forced.count(word))
        assert not word_cap or words.count(word) <= max(word_cap, forced.count(word))
