"""What all other systems of the paper's Table 3 must do, and their way through the command lines."""

import os
import subprocess
import sys
from argparse import Namespace

import pytest
import torch
from fairseq.models import ARCH_CONFIG_REGISTRY

from helpers import ROOT
from helpers.table3_models import SIZES, distributions, encode, tiny
from helpers.tiny_training import options
from helpers.toy import generate, toy_batch, toy_sources, toy_task
from wfe_plugin.cli import generate as generate_sh
from wfe_plugin.cli import train
from wfe_plugin.pipeline.presets import PRESETS

WORDS = 8
each_model = pytest.mark.parametrize("name", SIZES)


@each_model
def test_incremental_decoding_is_full_decoding(name):
    task = toy_task(WORDS)
    model = tiny(name, task)
    # Summaries of words that are in every vocabulary.
    batch = toy_batch(task, [[4, 5, 6], [5, 4, 5, 6, 7]], [[4, 5, 4, 6], [5, 4, 5, 5]])
    full, attention = distributions(model, batch)
    tokens = batch["net_input"]["prev_output_tokens"]
    encoder_out, state = encode(model, batch), {}
    order = torch.tensor([1, 0])
    with torch.no_grad():
        for length in range(1, tokens.size(1) + 1):
            # The hypotheses change places at each step.
            encoder_out = model.encoder.reorder_encoder_out(encoder_out, order)
            model.decoder.reorder_incremental_state_scripting(state, order)
            tokens, full, attention = tokens[order], full[order], attention[order]
            output = model.decoder(tokens[:, :length], encoder_out=encoder_out, incremental_state=state)
            step = model.get_normalized_probs(output, log_probs=False)
            assert step.size(1) == 1
            assert torch.allclose(step[:, 0], full[:, length - 1], atol=1e-5)
            assert torch.allclose(output[1]["attn"][:, 0], attention[:, length - 1], atol=1e-5)


@each_model
def test_neither_padding_nor_the_batch_matters(name):
    task = toy_task(WORDS)
    model = tiny(name, task)
    sources, targets = toy_sources(5, WORDS, seed=1), toy_sources(5, WORDS, seed=2)
    batch = toy_batch(task, sources, targets)
    together, attention = distributions(model, batch)
    right = {**batch, "net_input": dict(batch["net_input"])}
    for row, length in zip(right["net_input"]["src_tokens"], right["net_input"]["src_lengths"]):
        row.copy_(row.roll(int(length)))  # from the left to the right
    assert torch.allclose(together, distributions(model, right)[0], atol=1e-6)
    for place, number in enumerate(batch["id"].tolist()):
        alone, weights = distributions(model, toy_batch(task, [sources[number]], [targets[number]]))
        length, source = alone.size(1), weights.size(2)
        assert torch.allclose(together[place, :length], alone[0], atol=1e-5)
        assert torch.allclose(attention[place, :length, :source], weights[0], atol=1e-5)
        assert not attention[place, :length, source:].any()


@each_model
def test_search_finds_what_the_model_says(name):
    """Beam search scores are the model's own log-probabilities of the same words."""
    task = toy_task(WORDS)
    model = tiny(name, task)
    (hypotheses,) = generate(task, [model], toy_batch(task, [[4, 6, 5]]), wfe_decoding="off")
    for hypothesis in hypotheses:
        words = hypothesis["tokens"].tolist()
        probabilities = distributions(model, toy_batch(task, [[4, 6, 5]], [words[:-1]]))[0][0]
        expected = sum(probabilities[place, word].log() for place, word in enumerate(words))
        assert abs(float(hypothesis["score"]) - float(expected)) < 1e-3


@each_model
def test_other_vocabularies_and_diverged_weights_are_refused(name):
    model = tiny(name, toy_task(WORDS))
    with pytest.raises(ValueError, match="trained with 12 source words, but the data have 13"):
        tiny(name, toy_task(WORDS + 1)).load_state_dict(model.state_dict())
    state = model.state_dict()
    next(iter(state.values())).view(-1)[0] = float("nan")
    with pytest.raises(ValueError, match="its training has diverged"):
        model.load_state_dict(state)


# The command lines

TINY = {
    "abs": ["--embed-dim", "8", "--hidden-size", "8"],
    "ras": ["--hidden-size", "8"],
    "lvt": ["--embed-dim", "8", "--hidden-size", "8", "--restricted-vocabulary", "10"],
}
TABLE3 = [name for name, preset in PRESETS.items() if not preset.takes_wfe]


# Each optimizer, and a small one.
@pytest.mark.parametrize("preset", ["abs", "ras-lstm", "ras-elman-small", "lvt5k"])
def test_training_and_decoding(data, tmp_path, preset, capfd):
    model, out = tmp_path / "model", tmp_path / "out"
    own = ["--epochs", "1", "--threads", "1", "--", "--cpu", "--log-interval", "1", *TINY[preset[:3]]]
    assert train.main(options(data, model, *own, preset=preset)) == 0
    assert "epoch 1: validation nll" in capfd.readouterr().out
    decode = ["--model", str(model), "--data", str(data), "--threads", "1", "--", "--cpu"]
    assert generate_sh.main(["--out", str(out), "--beam", "3", *decode]) == 0
    assert "decoding: off" in capfd.readouterr().out
    assert len((out / "summaries.txt").read_text().splitlines()) == 11
    assert generate_sh.main(["--out", f"{out}-full", "--decoding", "full", *decode]) == 1
    assert "needs a word-frequency estimate, but the model has none" in capfd.readouterr().err


def test_importing_the_plugin_is_enough_to_know_the_models():
    """train.sh --from asks for their options; fairseq imports the folder in its own commands only."""
    code = "import wfe_plugin; wfe_plugin.register(); from fairseq.models import ARCH_MODEL_REGISTRY as known; print(*known)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    known = subprocess.run([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True, check=True)
    architectures = {PRESETS[preset].options[1] for preset in TABLE3}
    assert architectures <= set(known.stdout.split())


@pytest.mark.parametrize("preset", TABLE3)
def test_architectures_set_what_the_user_has_not_set(preset):
    options = PRESETS[preset].options
    set_sizes = ARCH_CONFIG_REGISTRY[options[options.index("--arch") + 1]]
    chosen = Namespace(dropout=0.7)
    set_sizes(chosen)
    assert chosen.dropout == 0.7
    assert getattr(chosen, "hidden_size", None) == (160 if preset.endswith("-small") else None)
    if preset.startswith("ras"):
        assert chosen.cell == preset.split("-")[1]


def test_sizes_and_optimizers_of_their_papers():
    def described(name):
        preset = PRESETS[name]
        (stage,) = preset.stages
        words = [*preset.options, *stage.options]
        values = dict(zip(words, words[1:]))
        return values["--arch"], preset.batch_size, values["--optimizer"], values["--lr"]

    assert described("abs") == ("abs", 64, "sgd", "0.05")
    assert described("ras-lstm")[:3] == ("ras_lstm", 32, "sgd")
    assert described("ras-elman")[:3] == ("ras_elman", 32, "sgd")
    assert described("lvt5k")[:3] == ("lvt5k", 50, "adadelta")
