"""The alternatives to the bound in the search: scores, outputs, and what is refused."""

import math
from argparse import Namespace

import pytest
import torch
from fairseq.sequence_generator import SequenceGenerator
from fairseq.token_generation_constraints import pack_constraints

from helpers.literal_scores import literal_coverage_penalty, literal_repeating_words
from helpers.literal_search import LiteralSearch
from helpers.toy import generate, stock_lstm, stock_transformer, toy_batch, toy_model, toy_sources, toy_task, words_of
from wfe_plugin.generation.generator import WFESequenceGenerator

WORDS = 8
EOS = 2
INF = float("inf")
EACH = [
    dict(no_repeat_ngram_size=2, ignore_when_blocking="w0 w3"),
    dict(word_cap=1),
    dict(repetition_penalty=1.7, frequency_penalty=0.8),
    dict(no_repeat_ngram_size=3, word_cap=3, repetition_penalty=1.2, frequency_penalty=0.1, presence_penalty=0.3),
]
RANKING = dict(coverage_penalty=0.5, gnmt_length_penalty=0.8)


class LiteralAlternatives(LiteralSearch):
    """The paper's search with the alternatives, word by word."""

    def __init__(self, task, model, source, decoding, **options):
        super().__init__(task, model, source, decoding)
        self.options = options
        ignored = options.get("ignore_when_blocking", "").split()
        self.ignored = [task.target_dictionary.index(word) for word in ignored]

    def lprobs(self, words):
        lprobs = super().lprobs(words)
        for word in set(words):
            lprobs[word] *= self.options.get("repetition_penalty", 1.0)
            lprobs[word] -= self.options.get("frequency_penalty", 0.0) * words.count(word)
            lprobs[word] -= self.options.get("presence_penalty", 0.0)
        return lprobs

    def step_scores(self, words, budget):
        scores = super().step_scores(words, budget)
        for word in words:
            if words.count(word) >= self.options.get("word_cap", INF):
                scores[word] = -INF
        n = self.options.get("no_repeat_ngram_size", 0)
        if n:
            for word in literal_repeating_words(words, n, self.ignored):
                scores[word] = -INF
        return scores


def fluent_model(task, seed, **config):
    """A model that would go on for long, so that it repeats itself."""
    model = toy_model(task, seed, **config)
    with torch.no_grad():
        model.decoder.fc_out.bias[EOS] -= 2.0
    return model


def texts(found):
    return [[words_of(h, EOS) for h in hypotheses] for hypotheses in found]


@pytest.mark.parametrize("decoding", ["off", "full", "gate"])
@pytest.mark.parametrize("options", EACH, ids=lambda options: "+".join(options))
def test_scores_and_greedy_outputs_are_those_of_literal_loops(decoding, options):
    task = toy_task(WORDS, wfe_decoding=decoding)
    changed = 0
    for seed in range(2):
        model = fluent_model(task, seed)
        sources = toy_sources(2, WORDS, seed)
        batch = toy_batch(task, sources)
        plain = texts(generate(task, [model], batch))
        found = generate(task, [model], batch, **options)
        greedy = generate(task, [model], batch, beam=1, **options)
        for source, hypotheses, (best,) in zip(sources, found, greedy):
            literal = LiteralAlternatives(task, model, source, decoding, **options)
            (expected,) = literal.search(beam=1, max_len=8)
            assert best["tokens"].tolist() == expected.words
            assert hypotheses
            for h in hypotheses:
                assert h["score"].item() == pytest.approx(literal.score(words_of(h, EOS)), rel=1e-4, abs=1e-3)
        changed += texts(found) != plain
    assert changed or decoding == "full"  # where there may be nothing to change


class TestCapWithTheUsersWishes:
    """As under the bound: what is forced is kept, and every search has a result."""

    def test_prefix(self):
        task = toy_task(WORDS, wfe_decoding="off")
        model = fluent_model(task, 0)
        batch = toy_batch(task, [[4, 5, 6]])
        prefix = torch.tensor([[4, 4, 5]])
        ((*found,),) = texts(generate(task, [model], batch, prefix_tokens=prefix, word_cap=1))
        assert found and all(words[:3] == [4, 4, 5] for words in found)
        assert not any({4, 5} & set(words[3:]) for words in found)

    def test_minimum_length_ends_when_all_is_said(self):
        """Nine words and <s>, <unk>: no output of twenty has each but once."""
        task = toy_task(WORDS, wfe_decoding="off")
        model = fluent_model(task, 0)
        batch = toy_batch(task, [[4, 5, 6]])
        (found,) = texts(generate(task, [model], batch, word_cap=1, min_len=20, max_len_b=30))
        assert found
        for words in found:
            assert len(set(words)) == len(words) == WORDS + 2

    @pytest.mark.parametrize("kind", ["ordered", "unordered"])
    def test_constraints(self, kind):
        task = toy_task(WORDS, wfe_decoding="off")
        constraints = pack_constraints([[torch.tensor([9, 10]), torch.tensor([9, 11])]])
        for seed in range(3):
            model = fluent_model(task, seed)
            generator = task.build_generator([model], Namespace(beam=6, max_len_b=12, constraints=kind, word_cap=1))
            batch = toy_batch(task, [[4, 5, 6]])
            (found,) = task.inference_step(generator, [model], batch, constraints=constraints)
            assert found
            for h in found:
                words = words_of(h, EOS)
                assert math.isfinite(h["score"].item())
                text = "".join(f"{word:02d} " for word in words)
                assert "09 10 " in text and "09 11 " in text
                assert all(words.count(word) == 1 for word in words if word < 9)
            best = words_of(found[0], EOS)
            assert [best.count(word) for word in (9, 10, 11)] == [2, 1, 1]

    def test_samples_end_when_all_is_said(self):
        """Finished samples stay in fairseq's beam until the others are finished, too."""
        task = toy_task(2, wfe_decoding="off")
        model = toy_model(task, 0, weight_scale=0.1)
        torch.manual_seed(0)
        (found,) = generate(
            task, [model], toy_batch(task, [[4, 5]]), beam=5, sampling=True, word_cap=1,
            no_repeat_ngram_size=1, max_len_b=50,
        )  # fmt: skip
        assert len(found) == 5
        assert all(len(set(words)) == len(words) for (words,) in texts([[h] for h in found]))


class TestRanking:
    def literal_score(self, task, model, source, words, decoding, alpha, beta, lenpen=None):
        literal = LiteralSearch(task, model, source, decoding)
        score, length = literal.score(words), len(words) + 1
        if alpha is not None:
            score /= (5 + length) ** alpha / 6**alpha
        elif lenpen is not None:
            score /= length**lenpen
        prefix = torch.tensor([[EOS] + words])
        with torch.no_grad():
            _, attention = model.decoder(prefix, encoder_out=literal.encoder_out)
        return score + literal_coverage_penalty(attention[0].tolist(), beta)

    @pytest.mark.parametrize("decoding", ["off", "full"])
    @pytest.mark.parametrize(
        "alpha, beta, lenpen", [(None, 0.7, None), (None, 0.7, 1.3), (0.9, 0.0, None), (0.9, 0.4, 1.3), (0.0, 2.0, 1.0)]
    )
    def test_against_literal_loops(self, decoding, alpha, beta, lenpen):
        """The same outputs as without, but with other scores and in their order."""
        task = toy_task(WORDS, wfe_decoding=decoding)
        model = fluent_model(task, 2)
        sources = toy_sources(4, WORDS, 2)
        batch = toy_batch(task, sources)
        normal = dict(unnormalized=lenpen is None, lenpen=lenpen or 1.0, beam=5)
        plain = generate(task, [model], batch, **normal)
        found = generate(task, [model], batch, coverage_penalty=beta, gnmt_length_penalty=alpha, **normal)
        for source, before, hypotheses in zip(sources, plain, found):
            scores = [h["score"].item() for h in hypotheses]
            assert scores == sorted(scores, reverse=True)
            expected = [
                self.literal_score(task, model, source, words_of(h, EOS), decoding, alpha, beta, lenpen)
                for h in hypotheses
            ]
            assert scores == pytest.approx(expected, abs=1e-3)
            (outputs,), (same_outputs,) = texts([before]), texts([hypotheses])
            assert sorted(outputs) == sorted(same_outputs)

    @pytest.mark.parametrize("options", [dict(coverage_penalty=9.0), dict(gnmt_length_penalty=3.0)])
    def test_another_output_may_be_the_best(self, options):
        task = toy_task(WORDS, wfe_decoding="off")
        batch = toy_batch(task, toy_sources(4, WORDS, 1))
        models = [toy_model(task, seed) for seed in range(3)]
        plain = [texts(generate(task, [model], batch)) for model in models]
        assert [texts(generate(task, [model], batch, **options)) for model in models] != plain

    def test_attention_although_fairseq_switched_it_off(self):
        """As fairseq-generate does it before it builds the generator."""
        task = toy_task(WORDS)
        model = toy_model(task, 0)
        batch = toy_batch(task, [[4, 5]])
        expected = texts(generate(task, [model], batch, **RANKING))
        model.decoder.make_generation_fast_(need_attn=False)
        assert texts(generate(task, [model], batch, **RANKING)) == expected

    def test_attention_is_needed(self):
        task = toy_task(WORDS, wfe_decoding="off")
        with pytest.raises(ValueError, match="--coverage-penalty.*the model has none"):
            task.build_generator([stock_lstm(task, attention=False)], Namespace(coverage_penalty=0.2))


@pytest.mark.parametrize("build", [stock_lstm, stock_transformer])
def test_other_models_of_fairseq_and_the_side_of_padding(build):
    """All options at once; a sentence's outputs do not depend on its batch."""
    task = toy_task(WORDS, wfe_decoding="off")
    model = build(task)
    options = {**EACH[-1], **RANKING, "beam": 3}
    sources = [[4], [5, 6, 7, 8, 9, 10], [11, 4]]
    together = generate(task, [model], toy_batch(task, sources), **options)
    for source, hypotheses in zip(sources, together):
        (alone,) = generate(task, [model], toy_batch(task, [source]), **options)
        assert texts([hypotheses]) == texts([alone])
        assert [h["score"].item() for h in hypotheses] == pytest.approx([h["score"].item() for h in alone], abs=1e-3)


def test_half_precision():
    task = toy_task(WORDS)
    batch = toy_batch(task, toy_sources(4, WORDS, 1))
    for dtype in (torch.float16, torch.bfloat16):
        model = toy_model(task, 1).to(dtype)
        for decoding in ("full", "off"):
            found = generate(task, [model], batch, wfe_decoding=decoding, **EACH[-1], **RANKING)
            assert all(math.isfinite(h["score"].item()) for hs in found for h in hs)


class TestWhichGenerator:
    NEUTRAL = dict(
        word_cap=0, repetition_penalty=1.0, frequency_penalty=0.0, presence_penalty=0.0,
        coverage_penalty=0.0, gnmt_length_penalty=None, ignore_when_blocking="",
        no_repeat_ngram_size=0,
    )  # fmt: skip

    def test_off_without_options_is_fairseqs_own(self):
        task = toy_task(WORDS, wfe_decoding="off")
        generator = task.build_generator([toy_model(task)], Namespace(**self.NEUTRAL))
        assert type(generator) is SequenceGenerator

    @pytest.mark.parametrize("options", [*EACH, dict(coverage_penalty=0.1), dict(gnmt_length_penalty=0)])
    def test_any_option_needs_ours(self, options):
        task = toy_task(WORDS, wfe_decoding="off")
        generator = task.build_generator([toy_model(task)], Namespace(**options))
        assert type(generator) is WFESequenceGenerator

    def test_options_of_the_task(self):
        """As on the command line; a caller's own win."""
        task = toy_task(WORDS, wfe_decoding="off", word_cap=2, presence_penalty=0.5)
        generator = task.build_generator([toy_model(task)], Namespace(presence_penalty=0.0))
        assert generator.options.rules() == ["--word-cap 2"]

    def test_nothing_is_searched_differently_by_penalties_without_effect(self):
        """A cap that is never reached: ours is fairseq's search, to the last bit."""
        task = toy_task(WORDS, wfe_decoding="off")
        model = fluent_model(task, 4)
        batch = toy_batch(task, toy_sources(5, WORDS, 4))
        for options in (dict(), dict(unnormalized=False, min_len=3)):
            stock = generate(task, [model], batch, **options)
            ours = generate(task, [model], batch, word_cap=100, **options)
            assert texts(ours) == texts(stock)
            assert [[h["score"] for h in hs] for hs in ours] == [[h["score"] for h in hs] for hs in stock]
