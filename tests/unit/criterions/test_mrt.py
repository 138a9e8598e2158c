"""Minimum risk training: the criterion against literal loops, what it draws, and that it learns."""

import copy
import math

import pytest
import torch
from fairseq.logging import metrics
from omegaconf import OmegaConf

from helpers.literal_scores import literal_risk
from helpers.literal_search import LiteralSearch
from helpers.table3_models import encode, tiny
from helpers.toy import generate, stock_lstm, stock_transformer, toy_batch, toy_model, toy_task
from wfe_plugin.criterions import mrt
from wfe_plugin.criterions.mrt import MRTConfig, MRTCriterion
from wfe_plugin.criterions.nll_wfe import NLLWithWFECriterion
from wfe_plugin.evaluation.rouge_python import sentence_f1
from wfe_plugin.method.risk import distinct

WORDS = 8
EOS = 2
SOURCES = [[4, 5, 6], [7], [8, 9, 10, 11]]
TARGETS = [[4, 5, 4], [7], [8, 8]]


def criterion_of(task, **options):
    return MRTCriterion(task, **{"mrt_max_length": 6, "mrt_cost": "rouge-1", **options})


def without_dropout(model):
    """In training mode, but the same each time."""
    model.train()
    for module in model.modules():
        if hasattr(module, "p"):
            module.p = 0.0
        if hasattr(module, "dropout") and isinstance(module.dropout, float):
            module.dropout = 0.0
    return model


@pytest.mark.parametrize("decoding", [None, "full", "strict", "gate"])
def test_risk_against_literal_loops(decoding, monkeypatch):
    """With given outputs: probabilities word by word, sentence by sentence; within the bound, its scores."""
    bounded = decoding is not None
    task = toy_task(WORDS, wfe_decoding=decoding or "full")
    drawn = {(4, 5, 6): [[5], [4, 5, 4], [5]], (7,): [[7], [7]], (8, 9, 10, 11): [[], [8, 9, 8]]}
    model = without_dropout(toy_model(task, 1, dropout=0.0))
    batch = toy_batch(task, SOURCES, TARGETS)
    order = [SOURCES[i] for i in batch["id"].tolist()]
    monkeypatch.setattr(
        MRTCriterion, "draw", lambda *_: [[[*words, EOS] for words in drawn[tuple(source)]] for source in order]
    )
    expected = 0.0
    for source, target in zip(SOURCES, TARGETS):
        search = LiteralSearch(task, copy.deepcopy(model).eval(), source, decoding or "off")
        candidates = distinct(target, drawn[tuple(source)])
        log_p = [search.score(list(candidate)) for candidate in candidates]
        cost = [1 - sentence_f1("rouge-1", candidate, target) for candidate in candidates]
        expected += literal_risk(log_p, cost, 0.4)
    _, _, plain = NLLWithWFECriterion(task)(model, batch)
    for weight in (0.0, 0.5):
        criterion = criterion_of(task, mrt_alpha=0.4, mrt_nll_weight=weight, wfe_weight=2.0, mrt_bounded=bounded)
        loss, size, log = criterion(model, batch)
        assert log["risk"].item() == pytest.approx(expected, rel=1e-4)
        assert log["nll_loss"].item() == pytest.approx(plain["nll_loss"].item())
        total = expected + weight * plain["nll_loss"].item() + 2 * plain["wfe_loss"].item()
        assert loss.item() == log["loss"].item() == pytest.approx(total, rel=1e-4)
        assert size == 3


@pytest.mark.parametrize("candidates", ["sampling", "nbest"])
@pytest.mark.parametrize("build", [stock_lstm, stock_transformer, lambda task: toy_model(task, 1)])
def test_any_encoder_decoder_gets_the_gradient_of_its_candidates(build, candidates):
    """That of α Q(y) (Δ(y) - risk) at each log P(y), from a forward pass for every single candidate."""
    task = toy_task(WORDS)
    model = without_dropout(build(task))
    batch = toy_batch(task, SOURCES, TARGETS)
    criterion = criterion_of(task, mrt_candidates=candidates, mrt_size=4, mrt_alpha=0.2, wfe_weight=0.0)
    seen = []
    draw = criterion.draw
    criterion.draw = lambda *arguments: seen.append(draw(*arguments)) or seen[-1]
    torch.manual_seed(5)
    loss, *_ = criterion(model, batch)
    assert model.training
    loss.backward()
    found = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    total = 0.0
    for number, drawn in zip(batch["id"].tolist(), seen[0]):
        target = TARGETS[number]
        rows = distinct([*target, EOS], drawn)
        assert len(drawn) <= 4 and rows[0] == (*target, EOS)
        one = [toy_batch(task, [SOURCES[number]], [list(row[:-1])]) for row in rows]
        log_p = []
        for single in one:
            lprobs = model.get_normalized_probs(model(**single["net_input"]), log_probs=True)
            log_p.append(lprobs.gather(2, single["target"].unsqueeze(2)).sum())
        # Word 4 is "w0": every index is a token of its own, but that of <s>, which is no word.
        words = [[index for index in row[:-1] if index != 0] for row in rows]
        cost = torch.tensor([1 - sentence_f1("rouge-1", row, target) for row in words])
        q = torch.softmax(0.2 * torch.stack(log_p), dim=0)
        total = total + (q * cost).sum()
    assert loss.item() == pytest.approx(total.item(), rel=1e-4)
    total.backward()
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            assert torch.allclose(found[name], parameter.grad, atol=1e-5), name


def test_models_that_compute_few_words_say_where_the_candidates_are():
    """`lvt` in training: a softmax over the words of sources and candidates, and frequent ones."""
    task = toy_task(20)
    model = without_dropout(tiny("lvt", task, restricted_vocabulary=6))
    batch = toy_batch(task, SOURCES, TARGETS)
    rows = [torch.tensor(row) for row in ([21, 4, 23, EOS], [EOS], [7, 20, EOS])]
    sentence = torch.tensor([0, 0, 2])
    encoder_out = encode(model, batch)
    criterion = criterion_of(task)
    target, previous = (criterion.collate(rows, shifted) for shifted in (False, True))
    found = criterion.log_probabilities(model, encoder_out, target, previous, sentence)
    model.decoder.restricted_vocabulary = len(task.target_dictionary)
    texts = batch["net_input"]["src_tokens"][sentence].unique().tolist()
    words = sorted({0, 1, 2, 3, *texts, *(word for row in rows for word in row.tolist())})
    for row, number, log_p in zip(rows, sentence, found):
        encoded = model.encoder.reorder_encoder_out(encoder_out, number.view(1))
        previous = torch.cat((row[-1:], row[:-1])).unsqueeze(0)
        logits = model.decoder(previous, encoder_out=encoded)[0][0]
        expected = torch.log_softmax(logits[:, words], dim=1)
        expected = sum(expected[place, words.index(word)] for place, word in enumerate(row.tolist()))
        assert log_p.item() == pytest.approx(expected.item(), rel=1e-4)


def test_a_shortlist_is_for_what_is_drawn_within_the_bound():
    task = toy_task(WORDS, wfe_shortlist=3)
    model, batch = toy_model(task, 1), toy_batch(task, SOURCES, TARGETS)
    for bounded in (False, True):
        assert len(criterion_of(task).draw(model, batch, 2, sampling=True, bounded=bounded, max_length=6)) == 3


def test_draws_depend_on_the_seed_alone():
    task = toy_task(WORDS)
    model, batch = toy_model(task, 1).train(), toy_batch(task, SOURCES, TARGETS)
    criterion = criterion_of(task)
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(criterion.draw(model, batch, 5, sampling=True, bounded=False, max_length=6))
    assert found[0] == found[1] != found[2]
    assert all(len(outputs) == 5 and output[-1] == EOS for outputs in found[0] for output in outputs)


def test_outputs_can_be_drawn_within_the_bound():
    """With estimates of zero for all words, nothing can be said."""
    task = toy_task(WORDS)
    model, batch = toy_model(task, 1), toy_batch(task, SOURCES, TARGETS)
    with torch.no_grad():
        for parameter in model.wfe_head.parameters():
            parameter.zero_()
    criterion = criterion_of(task)
    torch.manual_seed(1)
    bounded = criterion.draw(model, batch, 5, sampling=True, bounded=True, max_length=6)
    assert all(output == [EOS] for outputs in bounded for output in outputs)
    free = criterion.draw(model, batch, 5, sampling=True, bounded=False, max_length=6)
    assert any(len(output) > 1 for outputs in free for output in outputs)


def test_what_the_bound_forbids_weighs_nothing():
    """Estimates of zero: the reference is impossible, and what is drawn is the empty output, at no cost in the bound."""
    task = toy_task(WORDS)
    model, batch = without_dropout(toy_model(task, 1)), toy_batch(task, SOURCES, TARGETS)
    with torch.no_grad():
        for parameter in model.wfe_head.parameters():
            parameter.zero_()
    target = torch.tensor([[4, EOS, 1], [EOS, 1, 1], [7, 7, EOS]])
    masks = criterion_of(task, mrt_bounded=True).log_masks(model, batch, target, torch.tensor([0, 0, 1]))
    assert masks.tolist() == [-math.inf, 0.0, -math.inf]
    loss, _, log = criterion_of(task, mrt_bounded=True, wfe_weight=0.0)(model, batch)
    assert log["risk"].item() == pytest.approx(3.0)  # three empty outputs


@pytest.mark.parametrize("decoding", ["off", "oracle"])
def test_no_bound_to_draw_within(decoding):
    with pytest.raises(ValueError, match=f"--mrt-bounded with --wfe-decoding {decoding}"):
        criterion_of(toy_task(WORDS, wfe_decoding=decoding), mrt_bounded=True)


def test_outputs_within_an_estimate_need_one():
    task = toy_task(WORDS)
    task.has_estimate = False  # as after building a model without
    criterion_of(task)
    with pytest.raises(ValueError, match="--mrt-bounded: the model has no WFE sub-model"):
        criterion_of(task, mrt_bounded=True)


def test_validation_tells_what_beam_search_gives():
    task = toy_task(WORDS, wfe_decoding="gate")
    model, batch = toy_model(task, 1), toy_batch(task, SOURCES, TARGETS)
    expected = 0.0
    outputs = generate(task, [model], batch, beam=mrt.VALIDATION_BEAM, max_len_b=6, min_len=1, unnormalized=False)
    for target, hypotheses in zip(TARGETS, outputs):
        expected += 1 - sentence_f1("rouge-1", hypotheses[0]["tokens"].tolist()[:-1], target)
    for seed in (1, 2):
        torch.manual_seed(seed)
        _, _, log = criterion_of(task)(model, batch)
        assert log["risk"].item() == pytest.approx(expected)
    assert not model.training


@pytest.mark.slow
def test_it_lowers_the_risk():
    """A model that knows nothing, three sentences, and no NLL."""
    task = toy_task(WORDS)
    model = toy_model(task, 1, hidden_size=16, weight_scale=0.3, without_wfe=True)
    batch = toy_batch(task, SOURCES, TARGETS)
    criterion = criterion_of(task, mrt_alpha=0.5, mrt_size=8)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    before = criterion(model.eval(), batch)[2]["risk"].item()
    for step in range(120):
        torch.manual_seed(step)
        optimizer.zero_grad()
        criterion(model.train(), batch)[0].backward()
        optimizer.step()
    after = criterion(model.eval(), batch)[2]["risk"].item()
    assert after < 0.5 < before


def test_logged_a_sentence():
    logs = [dict(loss=9.0, nll_loss=5.0, risk=n / 8, ntokens=4, nsentences=n, sample_size=n) for n in (1, 3)]
    with metrics.aggregate(new_root=True) as aggregator:
        MRTCriterion.reduce_metrics(logs)
    assert aggregator.get_smoothed_values()["risk"] == 0.125


def test_built_from_options():
    options = OmegaConf.structured(MRTConfig(mrt_alpha=0.3, mrt_cost="rouge-l", mrt_nll_weight=2.0))
    criterion = MRTCriterion.build_criterion(options, toy_task(WORDS))
    assert criterion.alpha == 0.3 and criterion.nll_weight == 2.0 and criterion.cost.metrics == ("rouge-l",)
    assert not list(criterion.parameters())
