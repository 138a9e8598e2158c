"""words-lvt5k-1sent: its equations, and what the restricted vocabulary does."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers.table3_models import distributions, mean, softmax, tiny, weights
from helpers.toy import FIRST_WORD, generate, toy_batch, toy_sources, toy_task, words_of
from wfe_plugin.criterions.nll_wfe import NLLWithWFECriterion
from wfe_plugin.method.restricted_vocabulary import fill_up, words_at_hand
from wfe_plugin.models.table3.lvt import LVTConfig, LVTModel

WORDS = 20  # after four special symbols
SOURCE, TARGET = [4, 20, 6, 23], [7, 4, 21, 4]


def as_sets(vocabularies):
    return [set(row.nonzero().squeeze(1).tolist()) for row in vocabularies]


class TestRestrictedVocabulary:
    def test_by_hand(self):
        at_hand = words_at_hand(torch.tensor([[5, 0, -1, 5], [2, 3, 4, 5]]), 7)
        assert as_sets(at_hand) == [{0, 5}, {2, 3, 4, 5}]
        assert as_sets(fill_up(at_hand, 4)) == [{0, 1, 2, 5}, {2, 3, 4, 5}]
        assert as_sets(fill_up(at_hand, 1)) == [{0, 5}, {2, 3, 4, 5}]

    @given(st.lists(st.integers(-1, 11), min_size=1, max_size=15), st.integers(1, 14))
    def test_words_at_hand_and_the_first_others(self, words, size):
        (found,) = as_sets(fill_up(words_at_hand(torch.tensor([words]), 12), size))
        at_hand = {word for word in words if word >= 0}
        assert at_hand <= found
        assert len(found) == max(len(at_hand), min(size, 12))
        others = [word for word in range(12) if word not in at_hand]
        assert found - at_hand == set(others[: len(found) - len(at_hand)])


def gru(w, prefix, suffix, x, h):
    """A step of a GRU as torch defines it: reset, update and new gate, in this order."""
    given, before = (
        w[f"{prefix}weight_{kind}{suffix}"] @ value + w[f"{prefix}bias_{kind}{suffix}"]
        for kind, value in (("ih", x), ("hh", h))
    )
    (r, z, n), (r_h, z_h, n_h) = given.chunk(3), before.chunk(3)
    r, z = torch.sigmoid(r + r_h), torch.sigmoid(z + z_h)
    return (1 - z) * torch.tanh(n + r * n_h) + z * h


def literal(model, source, said, vocabulary):
    """Distributions over the vocabulary after each word of `said`."""
    w = weights(model)

    def linear(name, value):
        bias = w.get(f"{name}.bias")
        return w[f"{name}.weight"] @ value + (0 if bias is None else bias)

    x = [w["encoder.embed_tokens.weight"][word] for word in source]
    states = {}
    for suffix, order in (("_l0", range(len(x))), ("_l0_reverse", reversed(range(len(x))))):
        h = torch.zeros(w["encoder.gru.weight_hh_l0"].size(1), dtype=torch.float64)
        for i in order:
            h = states[suffix, i] = gru(w, "encoder.gru.", suffix, x[i], h)
    h = [torch.cat((states["_l0", i], states["_l0_reverse", i])) for i in range(len(x))]
    s = torch.tanh(linear("decoder.initial", states["_l0_reverse", 0]))
    for word in said:
        y = w["decoder.embed_tokens.weight"][word]
        e = [
            linear("decoder.score", torch.tanh(linear("decoder.query", s) + linear("encoder.attention_keys", h_i)))
            for h_i in h
        ]
        c = mean(softmax(e), h)
        s = gru(w, "decoder.gru.", "", torch.cat((y, c)), s)
        logits = linear("decoder.fc_out", torch.tanh(linear("decoder.readout", torch.cat((s, y, c)))))
        inside = sorted(vocabulary)
        result = torch.zeros(len(logits), dtype=torch.float64)
        result[inside] = torch.stack(softmax(logits[inside]))
        yield result


def vocabulary_of(words, size):
    """In plain words: the special symbols, the words, and frequent ones until there are `size`."""
    vocabulary = {0, 1, 2, 3, *words}
    for word in range(WORDS + FIRST_WORD):
        if len(vocabulary) < size:
            vocabulary.add(word)
    return vocabulary


@pytest.mark.parametrize("size", [1, 9, 15, 1000])
def test_equations_and_a_softmax_over_the_restricted_vocabulary(size):
    task = toy_task(WORDS)
    model = tiny("lvt", task, restricted_vocabulary=size)
    eos = task.target_dictionary.eos()
    found, _ = distributions(model, toy_batch(task, [SOURCE], [TARGET]))
    vocabulary = vocabulary_of({*SOURCE, *TARGET}, size)
    expected = list(literal(model, [*SOURCE, eos], [eos, *TARGET], vocabulary))
    assert len(expected) == found.size(1)
    for place, distribution in enumerate(expected):
        assert torch.allclose(found[0, place].double(), distribution, atol=1e-5)


def test_training_computes_the_restricted_part_only_and_its_loss_is_the_same():
    """The batch's words are one vocabulary; with room for all, it is an ordinary softmax."""
    task = toy_task(WORDS)
    sources = [[4, 20, 6, 23], [5, 9]]
    targets = [[7, 4, 21, 4], [9, 22, 5]]
    batch = toy_batch(task, sources, targets)
    criterion = NLLWithWFECriterion(task)
    narrow = tiny("lvt", task, restricted_vocabulary=13, dropout=0.0).train()
    vocabulary = sorted(vocabulary_of({word for line in sources + targets for word in line}, 13))
    logits, extra = narrow(**batch["net_input"])
    assert extra["words"].tolist() == vocabulary and logits.size(-1) == len(vocabulary)

    # The same model with all words, of which the others get no probability.
    wide = tiny("lvt", task, restricted_vocabulary=1000, dropout=0.0).train()
    wide.load_state_dict(narrow.state_dict())
    whole, _ = wide(**batch["net_input"])
    assert whole.size(-1) == WORDS + FIRST_WORD
    assert torch.allclose(whole[..., vocabulary], logits, atol=1e-6)
    others = [word for word in range(whole.size(-1)) if word not in vocabulary]
    lprobs = whole.index_fill(-1, torch.tensor(others), float("-inf")).log_softmax(dim=-1)
    target = batch["target"]
    real = target.ne(task.target_dictionary.pad())
    expected = -lprobs.gather(-1, target.unsqueeze(-1)).squeeze(-1)[real].sum()
    loss, _, _ = criterion(narrow, batch)
    assert torch.allclose(loss, expected, atol=1e-4)
    loss.backward()
    touched = narrow.decoder.fc_out.weight.grad.abs().sum(dim=1).gt(0).nonzero().squeeze(1)
    assert touched.tolist() == vocabulary


def test_decoding_says_words_of_the_own_source_and_frequent_ones_only():
    task = toy_task(WORDS)
    model = tiny("lvt", task)  # 9: the special symbols and five words
    sources = toy_sources(6, WORDS, seed=3)
    together = generate(task, [model], toy_batch(task, sources), wfe_decoding="off")
    eos = task.target_dictionary.eos()
    for source, hypotheses in zip(sources, together):
        allowed = vocabulary_of(source, 9)
        for hypothesis in hypotheses:
            assert set(words_of(hypothesis, eos)) <= allowed
        (alone,) = generate(task, [model], toy_batch(task, [source]), wfe_decoding="off")
        assert [h["tokens"].tolist() for h in alone] == [h["tokens"].tolist() for h in hypotheses]


def test_a_forced_word_may_be_outside():
    task = toy_task(WORDS)
    model = tiny("lvt", task)
    prefix = torch.tensor([[WORDS + FIRST_WORD - 1]])
    (hypotheses,) = generate(task, [model], toy_batch(task, [[4, 5]]), prefix_tokens=prefix, wfe_decoding="off")
    assert hypotheses[0]["tokens"][0] == prefix[0, 0]


def test_the_papers_sizes_are_the_defaults():
    """Embeddings 200, states 400, 5,000 words."""
    config = LVTConfig(max_source_positions=9, max_target_positions=9)
    model = LVTModel.build_model(config, toy_task(8))
    shapes = {name: tuple(value.shape) for name, value in model.named_parameters()}
    assert shapes["encoder.embed_tokens.weight"] == shapes["decoder.embed_tokens.weight"] == (12, 200)
    assert shapes["encoder.gru.weight_hh_l0_reverse"] == (1200, 400)
    assert shapes["decoder.gru.weight_hh"] == (1200, 400)
    assert shapes["decoder.fc_out.weight"] == (12, 200)
    assert model.decoder.restricted_vocabulary == 5000
