"""The LSTM model with its WFE head."""

from argparse import Namespace

import pytest
import torch
from fairseq.tasks.translation import TranslationConfig, TranslationTask

from helpers.toy import toy_batch, toy_model, toy_sources, toy_task
from wfe_plugin.method.bidirectional import run_packed, run_padded
from wfe_plugin.models.wfe_lstm import WFELSTMConfig, WFELSTMModel, wfe_lstm_tiny

WORDS = 8


class TestEncoder:
    """The padded run on CPUs must be the packed run of GPUs."""

    @pytest.mark.parametrize("layers", [1, 2, 3])
    @pytest.mark.parametrize("lengths", [[5, 5], [7, 3, 1], [1], [2, 6, 4]])
    def test_padded_and_packed_agree(self, layers, lengths):
        torch.manual_seed(layers)
        lstm = torch.nn.LSTM(4, 6, layers, bidirectional=True)
        x = torch.randn(max(lengths), len(lengths), 4)
        lengths = torch.tensor(lengths)
        padding = torch.arange(x.size(0)).unsqueeze(1) >= lengths
        results = []
        for run in (run_packed, run_padded):
            lstm.zero_grad()
            source = x.clone().requires_grad_()
            outputs = run(lstm, source, lengths, padding)
            weights = torch.Generator().manual_seed(0)
            loss = sum((o * torch.rand(o.shape, generator=weights)).sum() for o in outputs)
            loss.backward()
            gradients = [parameter.grad.clone() for parameter in lstm.parameters()]
            real = source.grad.masked_fill(padding.unsqueeze(-1), 0.0)
            results.append([*outputs, real, *gradients])
        for packed, padded in zip(*results):
            assert torch.allclose(packed, padded, atol=1e-5)

    def test_padding_of_any_content_changes_nothing(self):
        torch.manual_seed(0)
        lstm = torch.nn.LSTM(4, 6, 2, bidirectional=True)
        x = torch.randn(5, 2, 4)
        padding = torch.tensor([[False, False]] * 3 + [[False, True]] * 2)
        lengths = torch.tensor([5, 3])
        expected = run_padded(lstm, x, lengths, padding)
        x[3:, 1] = 50.0
        for before, after in zip(expected, run_padded(lstm, x, lengths, padding)):
            assert torch.allclose(before, after, atol=1e-6)

    def test_directions_are_summed_or_concatenated(self):
        task = toy_task(WORDS)
        batch = toy_batch(task, toy_sources(3, WORDS))["net_input"]
        inputs = batch["src_tokens"], batch["src_lengths"]
        summing = toy_model(task, encoder_states="sum").encoder
        both = toy_model(task, encoder_states="concat").encoder
        both.load_state_dict(summing.state_dict())
        forward, backward = both(*inputs).outputs.chunk(2, dim=-1)
        assert torch.allclose(summing(*inputs).outputs, forward + backward)

    def test_the_states_have_no_dropout(self):
        """Attention would set in late, and the head would read other states in evaluation."""
        task = toy_task(WORDS)
        encoder = toy_model(task, dropout=0.5, encoder_layers=1).encoder.train()
        batch = toy_batch(task, toy_sources(3, WORDS))["net_input"]
        out = encoder(batch["src_tokens"], batch["src_lengths"])
        assert not (out.outputs[~out.padding] == 0).any()


def parameter_shapes(**config):
    task = toy_task(WORDS)
    settings = WFELSTMConfig(max_source_positions=9, max_target_positions=9)
    for name, value in config.items():
        setattr(settings, name, value)
    model = WFELSTMModel.build_model(settings, task)
    return {name: tuple(p.shape) for name, p in model.named_parameters()}


def test_the_papers_sizes_are_the_defaults():
    """Table 1: D=200, H=400, two layers; H of the head is 400, not 800."""
    shapes = parameter_shapes()
    vocabulary = WORDS + 4
    assert shapes["encoder.embed_tokens.weight"] == (vocabulary, 200)
    assert shapes["encoder.lstm.weight_hh_l1_reverse"] == (1600, 400)
    assert shapes["decoder.layers.1.weight_hh"] == (1600, 400)
    assert shapes["decoder.fc_out.weight"] == (vocabulary, 400)
    assert shapes["wfe_head.frequency_hidden.weight"] == (400, 400)
    assert shapes["wfe_head.occurrence_output.weight"] == (vocabulary, 800)
    assert WFELSTMConfig().dropout == 0.3


def test_the_baseline_is_the_same_model_without_the_head():
    with_head, without = parameter_shapes(), parameter_shapes(without_wfe=True)
    assert {n: s for n, s in with_head.items() if not n.startswith("wfe_head")} == without


def test_a_task_that_knows_no_wfe_is_warned_of(caplog):
    """fairseq's commands take `translation` if the user names no task."""
    toy_model(toy_task(WORDS))
    assert "--task summarization_wfe" not in caplog.text
    task = toy_task(WORDS)
    config = TranslationConfig(source_lang="article", target_lang="title")
    stock = TranslationTask(config, task.source_dictionary, task.target_dictionary)
    toy_model(stock)
    assert "--task summarization_wfe" in caplog.text


def test_tiny_architecture_leaves_what_the_user_set():
    chosen = Namespace(encoder_hidden_size=77)
    wfe_lstm_tiny(chosen)
    assert (chosen.encoder_hidden_size, chosen.decoder_hidden_size) == (77, 128)
