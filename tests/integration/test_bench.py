"""The benchmark: the literal contender says what WFE says, and the arithmetic of ratios and goals."""

import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest
import torch
from fairseq.sequence_generator import SequenceGenerator

from benchmarks import growth, mask, memory
from benchmarks.contenders import (
    ESTIMATE,
    LITERAL,
    SHIPPED,
    TRAINING,
    TRANSFORMERS,
    VOTES,
    build_model,
    build_search,
    build_task,
    build_trainee,
    decoding_contenders,
    training_config,
)
from benchmarks.data import dictionary, middle_batch
from benchmarks.decoding import Decoders, timed_search
from benchmarks.rounds import Spread, of_parts, ratio, run_rounds
from benchmarks.sizes import PAPER, QUICK, SMALL
from benchmarks.training import PARTS, gradient_step, measure_training, training_step
from helpers import ROOT

TINY = replace(
    SMALL, source_words=60, target_words=50, embedding=4, hidden=6, batch=6, decoding_batch=3, output_length=5
)
SIZES = [
    TINY,
    replace(TINY, layers=2, batch=1, source_length=4, target_length=2, decoding_batch=1),
    replace(TINY, target_words=2_000, hidden=24, layers=2, source_length=12),
    replace(TINY, target_words=300, batch=17, target_length=25, decoding_batch=8, output_length=12),
]


# The estimator that trains has a constant and a bias that Figure 2 lacks.
FIGURE_2 = replace(SHIPPED, model=(*SHIPPED.model, "--wfe-estimator", "literal"))


def same_models(sizes):
    """Literal and shipped with the same weights, as large as trained ones; many budgets are below 2."""
    literal, shipped = (build_model(contender, sizes)[2].eval() for contender in (LITERAL, FIGURE_2))
    generator = torch.Generator().manual_seed(0)
    source = middle_batch(sizes, 8)["net_input"]
    with torch.no_grad():
        for parameter in literal.parameters():
            parameter.normal_(0, 0.5, generator=generator)
        r_hat, _ = literal.estimate(literal.encoder(source["src_tokens"], source["src_lengths"]))
        literal.wfe_head.frequency_output.weight *= 2.0 / r_hat.flatten().quantile(0.9)
    shipped.load_state_dict({**shipped.state_dict(), **literal.state_dict()})  # which has no base rates
    return literal, shipped


# ---- the literal contender


@pytest.mark.parametrize("sizes", SIZES)
def test_literal_and_shipped_have_the_same_loss_and_gradients(sizes):
    batch = middle_batch(sizes, sizes.batch)
    losses, gradients = [], []
    for contender, model in zip((LITERAL, FIGURE_2), same_models(sizes)):
        config = training_config(contender, sizes)
        criterion = build_task(config, sizes).build_criterion(config.criterion)
        loss, sample_size, _ = criterion(model, batch)
        loss.backward()
        assert sample_size == sizes.batch
        losses.append(loss.item())
        gradients.append({name: parameter.grad for name, parameter in model.named_parameters()})
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert gradients[0].keys() == gradients[1].keys()
    for name, expected in gradients[0].items():
        scale = expected.abs().max().item()
        assert scale > 0, name
        torch.testing.assert_close(gradients[1][name], expected, rtol=1e-3, atol=1e-4 * scale, msg=name)


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("sizes", SIZES)
def test_literal_and_shipped_decode_the_same(sizes, beam):
    batch = middle_batch(sizes, sizes.decoding_batch)
    outputs = [
        build_search(contender, sizes, beam, model)(batch)
        for contender, model in zip((LITERAL, FIGURE_2), same_models(sizes))
    ]
    for literal, shipped in zip(*outputs):
        assert len(literal) == len(shipped) == beam
        for expected, found in zip(literal, shipped):
            assert found["tokens"].tolist() == expected["tokens"].tolist()
            torch.testing.assert_close(found["positional_scores"], expected["positional_scores"], rtol=1e-4, atol=1e-4)


def test_what_is_compared_repeats_words_without_the_mask():
    """Else the comparison above would say little of spent budgets."""
    sizes = SIZES[3]
    batch = middle_batch(sizes, sizes.decoding_batch)
    literal, _ = same_models(sizes)
    most = []
    for generator in (SequenceGenerator, LITERAL.generator):
        outputs = build_search(replace(LITERAL, generator=generator), sizes, 3, literal)(batch)
        most.append(max(times for one in outputs for times in Counter(one[0]["tokens"].tolist()).values()))
    assert most[0] > most[1]


# ---- data and contenders


def test_random_data_are_realistic():
    sizes = replace(SMALL, target_words=500, source_words=800)
    batch = middle_batch(sizes, 64)
    lengths = batch["net_input"]["src_lengths"].float()
    assert lengths.mean() == pytest.approx(30, abs=2)
    assert lengths.max() - lengths.min() <= 3  # sorted by length, as fairseq does
    targets = batch["target"]
    assert targets.ne(dictionary(500).pad()).sum(dim=1).float().mean() == pytest.approx(9, abs=1)
    words = batch["net_input"]["src_tokens"].flatten()
    assert words.max() < 800
    counts = [(words == 4 + rank).sum().item() for rank in range(4)]
    assert counts[0] > 1.5 * counts[1] > 0 and counts[0] > 3 * counts[3]  # as 1 to 1/2 to 1/4
    again = middle_batch(sizes, 64)
    assert torch.equal(again["target"], targets)


def test_dictionaries_have_the_size_asked_for():
    assert len(dictionary(PAPER.target_words)) == 68_887


def test_every_contender_trains_a_step():
    batch = middle_batch(TINY, TINY.batch)
    for contender in TRAINING:
        trainee = build_trainee(contender, TINY)
        learning = [parameter.requires_grad for parameter in trainee.model.parameters()]
        assert all(learning) == (contender is not ESTIMATE) and any(learning)
        before = [parameter.detach().clone() for parameter in trainee.model.parameters()]
        training_step(trainee, batch)  # before which some have no gradient: their output has the weight zero
        times = training_step(trainee, batch)
        assert tuple(times) == PARTS and all(seconds > 0 for seconds in times.values())
        changed = [not torch.equal(old, new) for old, new in zip(before, trainee.model.parameters())]
        assert changed == learning, contender.key
        assert all(parameter.grad is None for parameter in trainee.model.parameters())


def test_rounds_of_training_and_decoding():
    rounds = measure_training(TINY, 2, gradient_step)
    assert [set(one) for one in rounds] == [{contender.key for contender in TRAINING}] * 2
    everyone = decoding_contenders(shortlist=40)
    rounds = Decoders(everyone, TINY).measure(beam=2, rounds=1)
    assert set(rounds[0]) == {contender.key for contender in everyone}
    rounds = Decoders(TRANSFORMERS, TINY).measure(beam=2, rounds=1)
    assert set(rounds[0]) == {"stock_transformer", "votes_transformer"}


def test_votes_are_decoded_as_by_default():
    """With base rates and a calibration."""
    model = build_model(VOTES, TINY)[2]
    assert model.calibration.base_rate_weight == 0.5 and model.log_base_rate() is not None


def test_growth_measures_a_setting_once(monkeypatch):
    measured = []

    class FakeDecoders:
        def __init__(self, contenders, sizes):
            self.sizes = sizes

        def measure(self, beam, rounds):
            measured.append((self.sizes, beam))
            return [{"stock": float(beam)}] * rounds

    def fake_training(sizes, rounds, step):
        measured.append(sizes)
        return [{"stock": {"forward": 1.0, "backward": float(sizes.batch)}}] * rounds

    monkeypatch.setattr(growth, "Decoders", FakeDecoders)
    monkeypatch.setattr(growth, "measure_training", fake_training)
    curves = growth.measure_growth(QUICK, (), lambda message: None, lambda: False)
    assert len(measured) == len(set(measured))
    for prefix in ("", "small-"):
        assert curves["training"][f"{prefix}batch"] == {8: {"stock": 9.0}, 32: {"stock": 33.0}}
    assert curves["decoding"]["beam"] == {1: {"stock": 1.0}, 5: {"stock": 5.0}}
    assert list(curves["training"]["vocabulary"]) == list(QUICK.vocabularies)
    left = iter([False, False, True])
    curves = growth.measure_growth(QUICK, (), lambda message: None, lambda: next(left))
    assert {kind: list(of_kind) for kind, of_kind in curves.items()} == {
        "training": ["small-vocabulary"],
        "decoding": ["small-vocabulary"],
    }


def test_the_shortlist_only_decodes():
    *_, shortlist = decoding_contenders(10)
    assert shortlist.only_decodes and shortlist.decoding == ("--wfe-shortlist", "10")


def test_searches_of_other_lengths_are_refused():
    hypothesis = {"tokens": torch.zeros(4)}
    assert timed_search("x", lambda batch: [[hypothesis], [hypothesis]], {}, 4) >= 0
    with pytest.raises(ValueError, match=r"x: outputs of \[4\] words, not of 5"):
        timed_search("x", lambda batch: [[hypothesis]], {}, 5)


# ---- arithmetic


def test_ratios_are_of_rounds():
    rounds = [{"a": 2.0, "b": 1.0}, {"a": 30.0, "b": 10.0}, {"a": 1.0, "b": 1.0}, {"a": 8.0, "b": 2.0}]
    # 2, 3, 1 and 4: not the ratio of the medians, 5 / 1.5
    assert ratio(rounds, "a", "b") == Spread(median=2.5, low=1.75, high=3.25)
    assert Spread.of([7.0]) == Spread(7.0, 7.0, 7.0)


def test_parts_are_summed():
    rounds = [{"a": {"forward": 1.0, "backward": 2.0, "optimizer": 4.0}}]
    assert of_parts(rounds, "forward", "backward") == [{"a": 3.0}]


def test_rounds_alternate_after_one_to_warm_up():
    calls = []

    def measured(name):
        return lambda: calls.append(name) or len(calls)

    rounds = run_rounds({"a": measured("a"), "b": measured("b")}, 3)
    assert "".join(calls) == "abbaabba"
    assert rounds == [{"b": 3, "a": 4}, {"a": 5, "b": 6}, {"b": 7, "a": 8}]
    assert all(list(one) == ["a", "b"] for one in rounds)  # the order of tables


def test_who_fails_is_left_out_and_time_ends_rounds(capsys):
    answers = iter([1, 2])
    assert run_rounds({"a": lambda: next(answers), "b": lambda: 7}, 3) == [{"b": 7}] * 3
    assert "a is left out: StopIteration" in capsys.readouterr().err
    assert len(run_rounds({"b": lambda: 7}, 9, seconds=0)) == 3


def test_ratio_to_who_was_left_out():
    assert ratio([{"a": 2.0}], "a", "b") is ratio([], "a", "a") is None


def test_memory_beyond_parameters():
    # 10 parameters more are 160 bytes with gradients and moments
    measured = {"encdec": {"peak": 1000, "parameters": 5}, "shipped": {"peak": 1500, "parameters": 15}}
    assert memory.added_by_wfe(measured) == 340
    assert memory.allowed(PAPER) == 2 * 256 * 68_887 * 4


def test_peak_memory_knows_a_large_tensor():
    """256 MB, in a process of its own: this one may have had more before."""
    code = """
from benchmarks.memory import peak_memory
import torch
before = peak_memory()
torch.ones(64 * 2**20)
print(peak_memory() - before)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(done.stdout.split()[-1]) > 100 * 2**20


def test_the_work_of_the_mask_does_not_depend_on_the_vocabulary():
    work = mask.count_mask_work([50, 400])
    assert work[50] == work[400] > mask.BATCH * mask.BEAM * mask.GENERATED
    assert mask.growth_of_work(work) == 0 and mask.growth_of_work({10: 3, 100: 8}) == 5


def test_touched_numbers_by_hand():
    """Views touch nothing, a sum 6 + 6 + 6, a clamp 6 + 6, and gather and scatter_ 2 for each of 3."""
    table, places = torch.ones(2, 3), torch.tensor([[0], [2]])
    with mask.TouchedNumbers() as touched:
        (table.view(3, 2) + table.reshape(3, 2)).clamp(0, 1)
        table.scatter_(1, places, table.gather(1, places))
    assert touched.count == 18 + 12 + 6 + 6


def test_another_pass_over_the_vocabulary_is_counted(monkeypatch):
    masking = mask.add_log_mask
    monkeypatch.setattr(mask, "add_log_mask", lambda lprobs, *rest: masking(lprobs, *rest).clamp(min=-9.0))
    assert mask.growth_of_work(mask.count_mask_work([50, 400])) == 2 * 350 * mask.BATCH * mask.BEAM


def test_mask_is_measured():
    measured = mask.measure_mask([50, 100], rounds=2)
    assert {words: len(rounds) for words, rounds in measured.items()} == {50: 2, 100: 2}
