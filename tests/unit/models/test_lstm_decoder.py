"""The LSTM decoder, which may copy words of the source."""

import math

import pytest
import torch

from helpers.toy import generate, toy_batch, toy_model, toy_sources, toy_task
from wfe_plugin.criterions.nll_wfe import NLLWithWFECriterion, nll_of_tokens
from wfe_plugin.models.lstm_decoder import Copying

WORDS = 6
PAD, EOS, UNK = 1, 2, 3


def test_a_mixture_worked_out_by_hand():
    """Gate ½; the source is "w4 w5 w4" with attention .2, .3, .5; four words with equal logits."""
    copying = Copying(torch.zeros(1, 1), torch.tensor([[[0.2, 0.3, 0.5]]]), torch.tensor([[2, 3, 2]]))
    expected = [0.125, 0.125, 0.125 + 0.35, 0.125 + 0.15]
    assert copying.log_probs(torch.zeros(1, 1, 4)).exp().flatten().tolist() == pytest.approx(expected)
    log_quarter = torch.tensor([[math.log(0.25)]])
    for word, probability in enumerate(expected):
        found = copying.log_prob_of(torch.tensor([[word]]), log_quarter)
        assert found.exp().item() == pytest.approx(probability)


def model_and_batch(**config):
    task = toy_task(WORDS)
    model = toy_model(task, copy_attention=True, **config)
    return task, model, toy_batch(task, toy_sources(4, WORDS), toy_sources(4, WORDS, seed=1))


def test_probabilities_are_those_of_loops_and_sum_to_one():
    _, model, batch = model_and_batch(without_wfe=True)
    net_input = batch["net_input"]
    with torch.no_grad():
        encoder_out = model.encoder(net_input["src_tokens"], net_input["src_lengths"])
        features, attention = model.decoder.extract_features(net_input["prev_output_tokens"], encoder_out)
        log_probs, extra = model.decoder(net_input["prev_output_tokens"], encoder_out)
        generated = model.decoder.output_layer(features).softmax(dim=-1)
        gate = model.decoder.copy_gate(features).sigmoid()
    assert torch.equal(extra["attn"], attention)
    for sentence, words in enumerate(encoder_out.tokens.t().tolist()):
        for step in range(generated.size(1)):
            p = gate[sentence, step].item()
            expected = [(1 - p) * q for q in generated[sentence, step].tolist()]
            for place, word in enumerate(words):
                expected[word] += p * attention[sentence, step, place].item()
            assert log_probs[sentence, step].exp().tolist() == pytest.approx(expected, abs=1e-5)
            assert sum(expected) == pytest.approx(1, abs=1e-5)
            assert attention[sentence, step][torch.tensor(words) == PAD].sum() == 0


def test_training_learns_what_decoding_uses():
    """The NLL in training, of the target alone, is that of the whole distribution; and so is its gradient."""
    task, model, batch = model_and_batch(without_wfe=True, dropout=0.0)
    target = batch["target"]
    model.train()
    gradients = []
    for whole in (False, True):
        model.zero_grad()
        net_output = model(**batch["net_input"])
        if whole:
            log_probs = model.get_normalized_probs(net_output, log_probs=True)
            nll = -log_probs.gather(2, target.unsqueeze(2)).squeeze(2).masked_fill(target.eq(PAD), 0.0).sum()
        else:
            nll = nll_of_tokens(net_output, target, PAD).sum()
        nll.backward()
        gradients.append([nll.detach(), *(weights.grad.clone() for weights in model.parameters())])
    for ours, expected in zip(*gradients):
        assert torch.allclose(ours, expected, atol=1e-5)
    loss, _, _ = NLLWithWFECriterion(task)(model.eval(), batch)
    assert loss.item() == pytest.approx(gradients[0][0].item(), abs=1e-4)


def test_a_long_source_takes_no_more_memory_than_its_length():
    """No number for each pair of positions: that would be 40 GB here."""
    length, words = 100_000, 50
    places = torch.arange(length).remainder(words).unsqueeze(0)
    copying = Copying(torch.zeros(1, 1), torch.full((1, 1, length), 1 / length), places)
    with torch.no_grad():
        found = copying.log_probs(torch.zeros(1, 1, words))
    assert torch.allclose(found.exp(), torch.full((1, 1, words), 1 / words), atol=1e-4)


def test_a_word_that_the_target_lacks_is_copied_as_unknown():
    task = toy_task(WORDS)
    task.source_dictionary.add_symbol("foreign")
    model = toy_model(task, copy_attention=True)
    assert model.decoder.target_of_source.tolist() == [*range(WORDS + 4), UNK]


def test_a_shortlist_of_all_words_changes_nothing():
    task, model, batch = model_and_batch()
    short = toy_task(WORDS, wfe_shortlist=WORDS + 4)
    for ours, others in zip(generate(short, [model], batch), generate(task, [model], batch)):
        assert [h["tokens"].tolist() for h in ours] == [h["tokens"].tolist() for h in others]
        assert [h["score"].item() for h in ours] == pytest.approx([h["score"].item() for h in others], abs=1e-4)
