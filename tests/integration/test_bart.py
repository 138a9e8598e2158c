"""fairseq's BART with an estimate: from a pre-trained checkpoint to summaries, as examples/bart does."""

import json
from argparse import SUPPRESS, ArgumentParser

import pytest
import torch
from fairseq import options
from fairseq.data.encoders.gpt2_bpe_utils import get_encoder
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY
from fairseq.models.bart import model as bart_of_fairseq
from fairseq_cli import generate as fairseq_generate
from fairseq_cli import train as fairseq_train

from helpers.bad_world import TASK
from helpers.bart import LONG, sizes, write_bart, write_text
from helpers.toy import toy_task
from wfe_plugin.cli import explain, preprocess
from wfe_plugin.fairseq_fixes.error_line import user_error


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """`bart` as fairseq distributes it, text in GPT-2's pieces, and `data` made of these."""
    world = tmp_path_factory.mktemp("bart")
    write_bart(world / "bart")
    write_text(world)
    sets = [option for name in ("train", "valid", "test") for option in (f"--{name}-files", *texts(world, name))]
    words = ["--srcdict", str(world / "bart/dict.txt"), "--tgtdict", str(world / "bart/dict.txt")]
    limit = ["--max-source-length", "100000"]
    assert preprocess.main([*sets, "--out", str(world / "data"), *limit, "--", *words]) == 0
    return world


def texts(world, name):
    return [str(world / f"{name}.bpe.{side}") for side in ("source", "target")]


def fairseq(module, parser, world, *arguments):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(world)
        module.main(convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, ["data", *TASK, *arguments])))


def fine_tune(world, out, *arguments):
    fairseq(
        fairseq_train, options.get_training_parser(), world, "--arch", "wfe_bart_base", *sizes(), "--criterion", "nll_wfe",
        "--finetune-from-model", "bart/model.pt", "--truncate-source", "--optimizer", "adam", "--lr", "0.01", "--cpu",
        "--batch-size", "8", "--max-epoch", "2", "--save-dir", out, "--no-epoch-checkpoints", *arguments,
    )  # fmt: skip
    return torch.load(world / out / "checkpoint_last.pt")["model"]


@pytest.fixture(scope="module")
def estimate_alone(world):
    return fine_tune(world, "alone", "--wfe-only", "--best-checkpoint-metric", "loss")


def test_the_estimate_alone_is_trained(world, estimate_alone):
    """All other weights are those of the checkpoint, but for the row of <mask>, which fairseq cuts off."""
    pretrained = torch.load(world / "bart/model.pt")["model"]
    cut = [name for name in pretrained if name.endswith(("embed_tokens.weight", "output_projection.weight"))]
    assert len(cut) == 3
    for name in cut:
        pretrained[name] = pretrained[name][:-1]
    for name, weights in estimate_alone.items():
        assert name.startswith("wfe_head.") or torch.equal(weights, pretrained[name]), name
    assert estimate_alone["wfe_head.votes.weight"].abs().max() > 0  # where training began


def test_both_are_trained(world, estimate_alone):
    both = fine_tune(world, "both", "--wfe-new-head")
    assert both.keys() == estimate_alone.keys()
    assert not torch.equal(both["encoder.layers.0.fc1.weight"], estimate_alone["encoder.layers.0.fc1.weight"])


def test_summaries_are_text_again(world, estimate_alone):
    """A source that is longer than BART's positions is cut."""
    fairseq(
        fairseq_generate, options.get_generation_parser(), world, "--path", "alone/checkpoint_last.pt", "--cpu",
        "--bpe", "gpt2", "--gpt2-encoder-json", "bart/encoder.json", "--gpt2-vocab-bpe", "bart/vocab.bpe",
        "--truncate-source", "--beam", "3", "--max-len-b", "9", "--results-path", "out",
    )  # fmt: skip
    lines = [line.split("\t") for line in (world / "out/generate-test.txt").read_text().splitlines()]
    found = {row[0]: row[-1] for row in lines}
    encoder = get_encoder(world / "bart/encoder.json", world / "bart/vocab.bpe")
    for number, source in enumerate((world / "test.source").read_text().splitlines()):
        assert source.startswith(found[f"S-{number}"]) and (len(source) > LONG) == (source != found[f"S-{number}"])
        pieces = [int(piece) for piece in found[f"H-{number}"].split() if piece.isdigit()]
        assert found[f"D-{number}"] == encoder.decode(pieces)


def test_summaries_are_explained(world, estimate_alone, monkeypatch, capsys):
    monkeypatch.chdir(world)
    pieces = (world / "test.bpe.source").read_text().splitlines()[1]
    assert explain.main(["--model", "alone/checkpoint_last.pt", "--json", "--beam", "2", pieces]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [word["word"] for word in found["source"]] == pieces.split()
    assert any(step["changes"] for step in found["steps"])


@pytest.mark.parametrize("kind, words", [("base", 51_200), ("large", 50_264)])
def test_the_estimate_is_small_beside_the_model(kind, words, monkeypatch):
    """With the vocabularies of bart.base and bart.large, without their weights."""
    monkeypatch.setattr(bart_of_fairseq, "init_bert_params", lambda module: None)
    task, architecture = toy_task(words - 4), f"wfe_bart_{kind}"
    parser = ArgumentParser(argument_default=SUPPRESS)
    ARCH_MODEL_REGISTRY[architecture].add_args(parser)
    args = parser.parse_args([])
    args.task = "summarization_wfe"
    ARCH_CONFIG_REGISTRY[architecture](args)
    with torch.device("meta"):
        model = ARCH_MODEL_REGISTRY[architecture].build_model(args, task)
    count = {part: sum(weights.numel() for weights in part.parameters()) for part in (model, model.wfe_head)}
    assert count[model.wfe_head] <= 0.1 * (count[model] - count[model.wfe_head])
    assert round((count[model] - count[model.wfe_head]) / 1e6) == {"base": 140, "large": 406}[kind]


def test_other_vocabularies_are_refused(world):
    """One word fewer is <mask>; two are other data."""
    dictionary = world / "bart/dict.txt"
    shorter = "".join(dictionary.read_text().splitlines(keepends=True)[:-2])
    for side in ("source", "target"):
        (world / "data" / f"dict.{side}.txt").rename(world / "data" / f"{side}.kept")
        (world / "data" / f"dict.{side}.txt").write_text(shorter)
    try:
        with pytest.raises(Exception, match="Cannot load model parameters") as raised:
            fine_tune(world, "none", "--wfe-only")
        assert "trained with 266 source words, but the data have 263" in str(user_error(raised.value))
    finally:
        for side in ("source", "target"):
            (world / "data" / f"{side}.kept").replace(world / "data" / f"dict.{side}.txt")
