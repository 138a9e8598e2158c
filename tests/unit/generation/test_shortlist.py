"""Decoding among fewer words: the best of each hypothesis, and the shortlist of a batch."""

from argparse import Namespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.toy import (
    FIRST_WORD,
    FixedEstimates,
    estimates,
    generate,
    toy_batch,
    toy_model,
    toy_sources,
    toy_task,
    words_of,
)
from wfe_plugin.generation.shortlist import DecoderOutput, choose_words, output_layer_name, shortened_outputs
from wfe_plugin.method.best_words import GROUP, SMALL_VOCABULARY, best_words

WORDS = 30
EOS = 2


@settings(deadline=None, max_examples=50)
@given(
    st.sampled_from(
        [5, SMALL_VOCABULARY - 1, SMALL_VOCABULARY, SMALL_VOCABULARY + 1, SMALL_VOCABULARY + GROUP - 1, 9000]
    ),
    st.integers(1, 5),
    st.integers(1, 4),
    st.floats(0, 1),
    st.integers(0, 1000),
)
def test_best_words_are_those_of_topk(vocabulary, number, rows, forbidden, seed):
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(rows, vocabulary, generator=generator)
    scores[torch.rand(rows, vocabulary, generator=generator) < forbidden] = -torch.inf
    found, words = best_words(scores, number)
    expected = scores.topk(number).values
    assert torch.equal(found.sort(descending=True).values, expected)
    assert torch.equal(scores.gather(1, words), found)
    assert all(len(set(row)) == number for row in words.tolist())


def test_best_words_in_one_group():
    """All of the best may be of one group, or of the words that are left over."""
    vocabulary = SMALL_VOCABULARY + 7
    scores = torch.zeros(2, vocabulary)
    groups = vocabulary // GROUP
    scores[0, 3 : GROUP * groups : groups] = torch.arange(1.0, 1 + GROUP)
    scores[1, -5:] = 1.0
    assert set(best_words(scores, 5)[1][0].tolist()) == {3 + groups * n for n in range(GROUP - 5, GROUP)}
    assert set(best_words(scores, 5)[1][1].tolist()) == set(range(vocabulary - 5, vocabulary))


def test_words_of_a_batch():
    a_hat = torch.tensor([[0.0, 0.9, 0.1, 0.8, 0.0], [0.7, 0.0, 0.0, 0.9, 0.2]])
    assert choose_words(a_hat, 2, []).tolist() == [0, 1, 3]
    assert choose_words(a_hat, 1, [torch.tensor([[4], [4]])]).tolist() == [1, 3, 4]
    assert choose_words(a_hat, 99, []).tolist() == [0, 1, 2, 3, 4]


@pytest.fixture(params=[False, True], ids=["one model", "two models"])
def models(request):
    task = toy_task(WORDS)
    return task, [toy_model(task, seed) for seed in range(1 + request.param)]


OPTIONS = [
    dict(beam=4),
    dict(beam=4, unnormalized=False, min_len=3, unkpen=1),
    dict(beam=4, wfe_decoding="bound"),
    dict(beam=4, wfe_decoding="gate", no_repeat_ngram_size=2),
    dict(beam=2, frequency_penalty=1.0, word_cap=2),
    dict(beam=4, diverse_beam_groups=2),
    dict(beam=3, sampling=True, sampling_topk=5),
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_shortlist_of_all_words_changes_nothing(models, options):
    task, models = models
    batch = toy_batch(task, toy_sources(5, WORDS))
    found = []
    for shortlist in (0, 1000):
        torch.manual_seed(0)
        found.append(generate(task, models, batch, wfe_shortlist=shortlist, **options))
    for exact, short in zip(*found):
        assert [h["tokens"].tolist() for h in exact] == [h["tokens"].tolist() for h in short]
        for one, other in zip(exact, short):
            assert torch.allclose(one["score"], other["score"], atol=1e-5)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_search_is_among_the_words_of_the_shortlist(models, options):
    """The same search in a model whose other words are equal, and forbidden."""
    task, models = models
    source = toy_sources(1, WORDS, seed=3)
    batch = toy_batch(task, source)
    found = [estimates(m, batch) for m in models]
    a_hat = sum(e.r_hat for e in found) / len(models) * (sum(e.g_hat for e in found) / len(models))
    words = {*range(FIRST_WORD), *a_hat[0].topk(12).indices.tolist()}
    others = [word for word in range(len(task.target_dictionary)) if word not in words]
    with torch.no_grad():
        for model in models:
            model.decoder.fc_out.weight[others] = model.decoder.fc_out.weight[others[0]].clone()
    torch.manual_seed(0)
    short = generate(task, models, batch, wfe_shortlist=12, **options)
    for model in models:  # the bound forbids them, so that they keep their share of the softmax
        estimate = estimates(model, batch)
        r, g = estimate.r.clone(), estimate.g.clone()
        r[:, others], g[:, others] = -1.0, -1e5
        model.wfe_head = FixedEstimates(r.tolist(), g.tolist())
    torch.manual_seed(0)
    exact = generate(task, models, batch, **options)
    for one, other in zip(exact[0], short[0]):
        assert one["tokens"].tolist() == other["tokens"].tolist()
        assert torch.allclose(one["score"], other["score"], atol=1e-3)
        assert set(other["tokens"].tolist()) <= words


def test_forced_words_are_in_the_shortlist():
    task = toy_task(WORDS)
    batch = toy_batch(task, toy_sources(3, WORDS))
    prefix = torch.tensor([[9, 10], [11, 1], [12, 13]])
    found = task.inference_step(
        task.build_generator([toy_model(task)], Namespace(beam=3, max_len_b=8, wfe_shortlist=1)),
        [toy_model(task)],
        batch,
        prefix_tokens=prefix,
    )
    for hypotheses, forced in zip(found, prefix.tolist()):
        forced = [word for word in forced if word != 1]
        assert all(words_of(h, EOS)[: len(forced)] == forced for h in hypotheses)


@pytest.mark.parametrize("search", [{}, dict(diverse_beam_groups=2), dict(sampling=True)])
def test_a_short_list_fills_a_wide_beam(search):
    task = toy_task(WORDS)
    found = generate(task, [toy_model(task)], toy_batch(task, [[4]]), beam=10, wfe_shortlist=1, **search)
    assert len(found[0]) == 10


def test_words_that_may_repeat_are_found_in_the_shortlist():
    """`--ignore-when-blocking` names words of the whole vocabulary."""
    task = toy_task(WORDS)
    model = toy_model(task, 3)
    batch = toy_batch(task, toy_sources(4, WORDS))
    everything = " ".join(task.target_dictionary.symbols[FIRST_WORD:])
    options = dict(beam=3, no_repeat_ngram_size=1, wfe_decoding="gate", wfe_shortlist=8)
    ignoring = generate(task, [model], batch, ignore_when_blocking=everything, **options)
    plain = generate(task, [model], batch, **{**options, "no_repeat_ngram_size": 0})
    assert [h["tokens"].tolist() for hs in ignoring for h in hs] == [h["tokens"].tolist() for hs in plain for h in hs]


def test_the_output_layer_comes_back():
    decoder = toy_model(toy_task(WORDS)).decoder
    layer = decoder.fc_out
    x = torch.randn(2, layer.in_features)
    with pytest.raises(KeyError), shortened_outputs([DecoderOutput(decoder)], torch.tensor([1, 5])):
        assert torch.allclose(decoder.fc_out(x)[:, :2], layer(x)[:, [1, 5]])
        raise KeyError
    assert decoder.fc_out is layer


def test_a_generator_that_is_kept_sees_what_the_model_learns():
    """As that of --eval-bleu, which is made before the training."""
    task = toy_task(WORDS)
    model, batch = toy_model(task), toy_batch(task, toy_sources(3, WORDS))
    settings = Namespace(beam=3, max_len_b=6, wfe_shortlist=5)
    kept = task.build_generator([model], settings)
    task.inference_step(kept, [model], batch)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(-0.5)
    found, expected = (
        [h["score"].item() for hs in task.inference_step(generator, [model], batch) for h in hs]
        for generator in (kept, task.build_generator([model], settings))
    )
    assert found == expected


class TestOtherWords:
    """What stands behind a shortlist for all words that are not in it."""

    def short_output(self, layer, words):
        return self.output(layer).shortened(torch.tensor(words))

    def output(self, layer):
        decoder = torch.nn.Module()
        decoder.fc_out, decoder.dictionary = layer, range(layer.out_features)
        return DecoderOutput(decoder)

    @torch.no_grad()
    def test_changed_weights_are_noticed(self):
        """As between two validations of a training."""
        layer = torch.nn.Linear(4, 6)
        output, x = self.output(layer), torch.randn(3, 4)
        for scale in (1.0, 3.0):
            layer.weight.fill_(scale)
            found = output.shortened(torch.tensor([0, 1]))(x)
            assert torch.allclose(found[:, 2], layer(x)[:, 2:].logsumexp(dim=1), atol=1e-3)

    @torch.no_grad()
    def test_nothing_is_left_of_a_whole_vocabulary(self):
        layer = torch.nn.Linear(4, 6)
        found = self.short_output(layer, list(range(6)))(torch.randn(3, 4))
        assert found[:, -1].tolist() == [-torch.inf] * 3

    @torch.no_grad()
    def test_equal_words_are_exact(self):
        """Without spread among the others the estimate is what it estimates."""
        layer = torch.nn.Linear(4, 6)
        layer.weight[2:] = layer.weight[2]
        x = torch.randn(3, 4)
        found = self.short_output(layer, [0, 1])(x)
        assert torch.allclose(found[:, :2], layer(x)[:, :2])
        assert torch.allclose(found[:, 2], layer(x)[:, 2:].logsumexp(dim=1), atol=1e-4)

    @torch.no_grad()
    @pytest.mark.parametrize("scale", [0.1, 1.0])
    def test_many_normally_distributed_words(self, scale):
        torch.manual_seed(0)
        layer = torch.nn.Linear(8, 20_000)
        layer.weight.normal_(0.3, scale)
        layer.bias.normal_(-2, 1)
        x = torch.randn(5, 8)
        x /= x.norm(dim=1, keepdim=True)
        found = self.short_output(layer, list(range(50)))(x)
        assert torch.allclose(found[:, -1], layer(x)[:, 50:].logsumexp(dim=1), atol=0.1)


def test_a_decoder_without_its_own_output_layer_is_refused():
    decoder = toy_model(toy_task(WORDS)).decoder
    decoder.fc_out = torch.nn.Linear(3, 4)
    with pytest.raises(ValueError, match="--wfe-shortlist"):
        output_layer_name(decoder)
