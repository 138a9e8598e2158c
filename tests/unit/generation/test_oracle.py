"""Decoding within the true frequencies: what a perfect estimator would give."""

from collections import Counter

import pytest
import torch

from helpers.literal_search import LiteralSearch
from helpers.toy import FIRST_WORD, FixedEstimates, generate, toy_batch, toy_model, toy_sources, toy_task, words_of

WORDS = 8
VOCABULARY = FIRST_WORD + WORDS
EOS = 2


def oracle_case(seed, sentences=5, **config):
    task = toy_task(WORDS, wfe_decoding="oracle", **config)
    sources = toy_sources(sentences, WORDS, seed)
    targets = toy_sources(sentences, WORDS, seed + 100, longest=5)
    return task, sources, targets, toy_batch(task, sources, targets)


@pytest.mark.parametrize("bound_eos", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_scores_are_those_of_the_bound_with_true_counts(seed, bound_eos):
    """An integer budget masks or allows; it changes no score of what it allows."""
    task, sources, targets, batch = oracle_case(seed, wfe_bound_eos=bound_eos)
    model = toy_model(task, seed)
    found = generate(task, [model], batch)
    for source, target, hypotheses in zip(sources, targets, found):
        counts = torch.zeros(VOCABULARY)
        for word in [*target, EOS]:
            counts[word] += 1
        model.wfe_head = FixedEstimates([counts.tolist()], [[0.0] * VOCABULARY])
        literal = LiteralSearch(task, model, source, "bound", bound_eos)
        assert hypotheses
        for hypothesis in hypotheses:
            expected = literal.score(words_of(hypothesis, EOS))
            assert hypothesis["score"].item() == pytest.approx(expected, abs=1e-3)


def test_models_without_estimator_and_mixed_ensembles(seed=1):
    task, _, targets, batch = oracle_case(seed)
    plain = toy_model(task, seed, without_wfe=True)
    assert plain.wfe_head is None
    for models in ([plain], [plain, toy_model(task, seed + 1)]):
        found = generate(task, models, batch)
        for target, hypotheses in zip(targets, found):
            assert not Counter(words_of(hypotheses[0], EOS)) - Counter(target)


def test_the_estimator_has_no_say(seed=2):
    task, _, _, batch = oracle_case(seed)
    with_head, without = toy_model(task, seed), toy_model(task, seed)
    without.wfe_head = None
    left, right = (generate(task, [model], batch) for model in (with_head, without))
    for ours, theirs in zip(left, right):
        assert [h["tokens"].tolist() for h in ours] == [h["tokens"].tolist() for h in theirs]


def test_text_without_references_is_refused():
    task, sources, _, _ = oracle_case(0)
    with pytest.raises(ValueError, match="oracle takes its budgets from reference"):
        generate(task, [toy_model(task)], toy_batch(task, sources))


def test_scoring_the_reference_is_refused():
    task, _, _, batch = oracle_case(0)
    with pytest.raises(ValueError, match="within its own frequencies"):
        generate(task, [toy_model(task)], batch, score_reference=True)
