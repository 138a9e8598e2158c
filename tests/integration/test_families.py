"""What is about the method must hold for all families of models."""

import math
from argparse import Namespace

import pytest
import torch
from fairseq.models.lstm import LSTMDecoder, LSTMEncoder, LSTMModel

from helpers.families import SIZES, each_family, stock_of, toy_of
from helpers.literal_search import LiteralSearch
from helpers.tiny_training import options
from helpers.toy import (
    estimates,
    generate,
    padded_on_the_right,
    random_model,
    toy_batch,
    toy_model,
    toy_sources,
    toy_task,
    words_of,
)
from wfe_plugin.cli import generate as generate_sh
from wfe_plugin.cli import train
from wfe_plugin.criterions.nll_wfe import NLLWithWFECriterion
from wfe_plugin.errors import UserError

WORDS = 8
EOS = 2
each_stock_family = pytest.mark.parametrize("family", SIZES)


# The estimate


@each_family
@pytest.mark.parametrize("estimator", ["paper", "copying", "votes"])
def test_estimates_depend_neither_on_the_batch_nor_on_padding(family, estimator):
    task = toy_task(WORDS)
    model = toy_of(family, task, wfe_estimator=estimator)
    sources = toy_sources(5, WORDS)
    batch = toy_batch(task, sources)
    together = estimates(model, batch)
    for ours, others in zip(together, estimates(model, padded_on_the_right(batch))):
        assert torch.allclose(ours, others, atol=1e-3)
    for place, number in enumerate(batch["id"].tolist()):
        alone = estimates(model, toy_batch(task, [sources[number]]))
        assert torch.allclose(together.r[place], alone.r[0], atol=1e-3)
        assert torch.allclose(together.g[place], alone.g[0], atol=1e-3)


@each_family
def test_training_returns_what_decoding_uses(family):
    task = toy_task(WORDS)
    model = toy_of(family, task)
    batch = toy_batch(task, [[4, 5], [6]], [[4], [5]])
    logits, extra = model(**batch["net_input"])
    assert logits.shape == (2, 2, WORDS + 4)
    assert torch.equal(extra["wfe"].whole().r, estimates(model, batch).r)
    assert model.wfe_head.frequency_hidden.in_features == model.encoder_state_size()


@each_family
def test_training_reaches_every_weight(family):
    task = toy_task(WORDS)
    model = toy_of(family, task, wfe_estimator="copying").train()
    batch = toy_batch(task, toy_sources(4, WORDS), toy_sources(4, WORDS, seed=1))
    loss, _, _ = NLLWithWFECriterion(task)(model, batch)
    loss.backward()
    assert not [name for name, weights in model.named_parameters() if weights.grad is None]


@each_family
def test_a_detached_loss_trains_the_head_alone(family):
    """The head gets the gradient of both losses, all else that of the NLL alone."""
    task = toy_task(WORDS)
    batch = toy_batch(task, toy_sources(4, WORDS), toy_sources(4, WORDS, seed=1))
    gradients = []
    for detached, weight in ((True, 1.0), (False, 1.0), (False, 0.0)):
        model = toy_of(family, task, wfe_estimator="copying", wfe_detached=detached)
        model.train()
        torch.manual_seed(1)  # of dropout
        loss, _, _ = NLLWithWFECriterion(task, wfe_weight=weight)(model, batch)
        loss.backward()
        gradients.append({name: weights.grad for name, weights in model.named_parameters()})
    found, both, nll = gradients
    for name in found:
        expected = both if name.startswith("wfe_head") else nll
        assert torch.allclose(found[name], expected[name], atol=1e-6), name
    assert not all(torch.allclose(nll[name], both[name]) for name in nll if not name.startswith("wfe_head"))


# The search


@each_family
@pytest.mark.parametrize("decoding", ["full", "strict", "bound", "gate"])
def test_every_score_is_that_of_figure_1(family, decoding):
    """In a batch whose sentences finish at different times, and alone with one word after the other."""
    task = toy_task(WORDS, wfe_decoding=decoding)
    model = toy_of(family, task, seed=1)
    sources = toy_sources(5, WORDS, 1)
    found = generate(task, [model], toy_batch(task, sources))
    for source, hypotheses in zip(sources, found):
        literal = LiteralSearch(task, model, source, decoding)
        assert hypotheses
        for hypothesis in hypotheses:
            score = literal.score(words_of(hypothesis, EOS))
            assert hypothesis["score"].item() == pytest.approx(score, abs=2e-3)


@each_family
def test_greedy_search_is_that_of_figure_1(family):
    task = toy_task(WORDS)
    model = toy_of(family, task, seed=2)
    sources = toy_sources(4, WORDS, 2)
    found = generate(task, [model], toy_batch(task, sources), beam=1)
    for source, hypotheses in zip(sources, found):
        (expected,) = LiteralSearch(task, model, source).search(beam=1, max_len=8)
        assert hypotheses[0]["tokens"].tolist() == expected.words


@each_family
def test_references_are_scored_as_in_figure_1(family):
    task = toy_task(WORDS)
    model = toy_of(family, task, seed=1)
    sources, targets = toy_sources(3, WORDS), toy_sources(3, WORDS, seed=1)
    found = generate(task, [model], toy_batch(task, sources, targets), score_reference=True)
    for source, target, (hypothesis,) in zip(sources, targets, found):
        expected = LiteralSearch(task, model, source).score(target) / (len(target) + 1)
        assert hypothesis["score"].item() == pytest.approx(expected, abs=2e-3)


def outputs(hypotheses):
    return [(h["tokens"].tolist(), pytest.approx(h["score"].item(), abs=2e-3)) for h in hypotheses]


@each_family
@pytest.mark.parametrize(
    "search",
    [
        dict(coverage_penalty=0.4, gnmt_length_penalty=0.6, wfe_decoding="off"),
        dict(wfe_decoding="oracle", no_repeat_ngram_size=2),
        dict(repetition_penalty=1.5, word_cap=1, print_alignment="hard"),
        dict(diverse_beam_groups=2, diverse_beam_strength=0.5),
    ],
    ids=lambda search: next(iter(search)),
)
def test_the_batch_does_not_matter_to_other_searches(family, search):
    task = toy_task(WORDS)
    model = toy_of(family, task, seed=3)
    sources, targets = toy_sources(4, WORDS, 3), toy_sources(4, WORDS, 4)
    together = generate(task, [model], toy_batch(task, sources, targets), **search)
    for source, target, hypotheses in zip(sources, targets, together):
        (alone,) = generate(task, [model], toy_batch(task, [source], [target]), **search)
        assert outputs(hypotheses) == outputs(alone)
        if "print_alignment" in search:
            for ours, others in zip(hypotheses, alone):
                assert ours["alignment"] == others["alignment"]
                assert all(place <= len(source) for place, _ in ours["alignment"])


@each_family
def test_a_shortlist_of_all_words_changes_nothing(family):
    task = toy_task(WORDS)
    batch = toy_batch(task, toy_sources(4, WORDS))
    # Each a new one, which has computed nothing yet.
    short = generate(task, [toy_of(family, task, seed=1)], batch, wfe_shortlist=100)
    whole = generate(task, [toy_of(family, task, seed=1)], batch)
    assert [outputs(hypotheses) for hypotheses in short] == [outputs(hypotheses) for hypotheses in whole]


def test_an_adaptive_softmax_searches_as_well():
    """Two times the same model is searched by fairseq's own steps."""
    task = toy_task(30)
    model = toy_of("transformer", task, adaptive_softmax_cutoff="8,16")
    batch = toy_batch(task, toy_sources(3, 30))
    found, expected = (generate(task, models, batch) for models in ([model], [model, model]))
    for one, other in zip(found, expected):
        assert [h["tokens"].tolist() for h in one] == [h["tokens"].tolist() for h in other]
        assert [h["score"].item() for h in one] == pytest.approx([h["score"].item() for h in other], abs=1e-4)


@each_family
def test_ensembles_keep_the_average_budget(family):
    """Of one family, and with another one."""
    task = toy_task(WORDS)
    sources = toy_sources(4, WORDS, 2)
    one = toy_of(family, task, seed=1)
    for models in ([one, toy_of(family, task, seed=2)], [one, toy_of("lstm", task, seed=2)]):
        found = generate(task, models, toy_batch(task, sources), coverage_penalty=0.1)
        for source, hypotheses in zip(sources, found):
            r_hats = [LiteralSearch(task, model, source).r_hat for model in models]
            assert hypotheses
            for hypothesis in hypotheses:
                assert math.isfinite(hypothesis["score"].item())
                words = words_of(hypothesis, EOS)
                for word in set(words):
                    assert words.count(word) < sum(r_hat[word] for r_hat in r_hats) / 2 + 1


@each_family
def test_models_made_fast_for_one_beam_decode_with_any(family):
    """As those of the hub, which asks for a beam after its models are made fast."""
    task = toy_task(WORDS)
    model = toy_of(family, task, seed=1)
    batch = toy_batch(task, toy_sources(5, WORDS))
    expected = generate(task, [model], batch, beam=3)
    model.prepare_for_inference_(
        Namespace(generation=Namespace(no_beamable_mm=False, beam=5, print_alignment=None), fp16=False)
    )
    found = generate(task, [model], batch, beam=3)
    assert [outputs(hypotheses) for hypotheses in found] == [outputs(hypotheses) for hypotheses in expected]


# Adding WFE to trained models


def check_addition(stock, model, task):
    """Loads what fairseq's own model has learnt, and nothing else is another one's."""
    state = stock.state_dict()
    model.load_state_dict(dict(state), strict=True)
    batch = toy_batch(task, toy_sources(4, WORDS), toy_sources(4, WORDS, seed=1))
    with torch.no_grad():
        expected = stock(**batch["net_input"])[0]
        assert torch.allclose(model.eval()(**batch["net_input"])[0], expected, atol=1e-5)
    incomplete = dict(state)
    del incomplete["decoder.embed_tokens.weight"]
    with pytest.raises(RuntimeError, match="Missing key.*decoder.embed_tokens.weight"):
        model.load_state_dict(incomplete, strict=True)
    return batch


@each_stock_family
@pytest.mark.parametrize("option", ["wfe_only", "wfe_new_head"])
def test_wfe_is_added_to_models_of_fairseq(family, option):
    task = toy_task(WORDS)
    model = toy_of(family, task, seed=1, **{option: True})
    head = {name: value.clone() for name, value in model.wfe_head.state_dict().items()}
    batch = check_addition(stock_of(family, task), model, task)
    for name, value in model.wfe_head.state_dict().items():
        assert torch.equal(value, head[name])
    loss, _, _ = NLLWithWFECriterion(task)(model.train(), batch)
    loss.backward()
    for name, weights in model.named_parameters():
        learns = option == "wfe_new_head" or name.startswith("wfe_head.")
        assert (weights.grad is not None) == learns, name


def test_wfe_is_added_to_fairseqs_lstm():
    """If it is bidirectional, and with its states concatenated."""
    task = toy_task(WORDS)

    class Stock(LSTMModel):
        @classmethod
        def build_model(cls, cfg, task):
            encoder = LSTMEncoder(task.source_dictionary, 4, 5, num_layers=2, bidirectional=True)
            decoder = LSTMDecoder(task.target_dictionary, 4, 5, 5, num_layers=2, encoder_output_units=10)
            return cls(encoder, decoder)

    stock = random_model(Stock, Namespace(), task)
    check_addition(stock, toy_model(task, seed=1, encoder_states="concat", wfe_new_head=True), task)


@each_family
def test_only_where_it_is_to_be_added_the_head_may_be_missing(family):
    task = toy_task(WORDS)
    state = toy_of(family, task, without_wfe=True).state_dict()
    with pytest.raises(RuntimeError, match="Missing key.*wfe_head"):
        toy_of(family, task).load_state_dict(dict(state), strict=True)
    batch = toy_batch(task, toy_sources(2, WORDS), toy_sources(2, WORDS))
    for option in ("wfe_only", "wfe_new_head"):
        name = "--" + option.replace("_", "-")
        untrained = toy_of(family, task, **{option: True}).train()
        with pytest.raises(ValueError, match=f"{name}: name the trained model with --finetune-from-model"):
            NLLWithWFECriterion(task)(untrained, batch)
        with pytest.raises(ValueError, match=f"{name}: name the trained model with --finetune-from-model"):
            task.begin_epoch(1, untrained)
        with pytest.raises(UserError, match=f"--without-wfe and {name}"):
            toy_of(family, task, without_wfe=True, **{option: True})


@each_family
def test_other_vocabularies_are_refused(family):
    model = toy_of(family, toy_task(WORDS))
    with pytest.raises(ValueError, match="trained with 12 source words, but the data have 13"):
        toy_of(family, toy_task(WORDS + 1)).load_state_dict(model.state_dict())


# The command lines

TINY = {
    "transformer": ["--encoder-embed-dim", "8", "--decoder-embed-dim", "8"],
    "fconv": ["--encoder-layers", "[(8, 3)]", "--decoder-layers", "[(8, 3)]"],
}


@pytest.mark.parametrize("family", TINY)
def test_a_baseline_gets_wfe_through_the_scripts(family, data, tmp_path, capfd):
    plain, model, out = (tmp_path / name for name in ("plain", "model", "out"))
    preset = f"{family}-small"
    own = ["--epochs", "1", "--threads", "1"]
    extra = ["--", "--cpu", "--log-interval", "1", *TINY[family]]
    assert train.main(options(data, plain, "--baseline", *own, *extra, preset=preset)) == 0
    added = ["--add-wfe", str(plain), "--estimator", "votes", *own, *extra]
    assert train.main(options(data, model, *added, preset=preset)) == 0
    assert "epoch 1: validation nll" in capfd.readouterr().out
    decode = ["--model", str(model), "--data", str(data), "--threads", "1", "--out", str(out)]
    assert generate_sh.main([*decode, "--beam", "3", "--decoding", "full", "--", "--cpu"]) == 0
    assert len((out / "summaries.txt").read_text().splitlines()) == 11
    before, after = (torch.load(path / "checkpoint_best.pt")["model"] for path in (plain, model))
    assert all(torch.equal(after[name], weights) for name, weights in before.items())
