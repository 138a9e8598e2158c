"""examples/opennmt: what goes into OpenNMT-py and what comes out of it. OpenNMT-py itself is not run."""

import json
from types import SimpleNamespace

import pytest
import torch

from helpers import ROOT
from helpers.scripts import module_of
from wfe_plugin.experiment.sections import parse

FOLDER = ROOT / "examples" / "opennmt"


exchange, onmt = (module_of(FOLDER / f"{name}.py") for name in ("exchange", "run_onmt"))


def test_configuration_names_the_files_that_the_script_writes():
    sections = parse(FOLDER / "opennmt.ini", (FOLDER / "opennmt.ini").read_text(encoding="utf-8"))
    outputs = {name: content["outputs"] for (kind, name), content in sections.items() if "outputs" in content}
    assert outputs == {"OpenNMT-py": "opennmt/plain.txt", "OpenNMT-py, copying": "opennmt/copying.txt"}


def test_vocabulary_is_that_of_fairseq_without_counts_and_filler():
    lines = ["the 12", "@@ 3", "madeupword0000 2", "madeupword0001 0"]
    assert list(exchange.vocabulary(lines)) == ["the", "@@", "madeupword0000"]


def test_each_epoch_has_all_pairs_in_another_order():
    pairs = [(str(i), chr(97 + i)) for i in range(12)]
    shuffled = list(exchange.epochs_of(pairs, epochs=3))
    epochs = [shuffled[i : i + 12] for i in range(0, 36, 12)]
    assert all(sorted(epoch) == sorted(pairs) for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2] != epochs[0]
    assert shuffled == list(exchange.epochs_of(pairs, epochs=3))


def test_best_checkpoint_is_the_earliest_of_the_lowest_perplexity():
    log = []
    for step, perplexity in ((10, "98.5"), (20, "45.75"), (30, "45.75"), (40, "51")):
        log += [
            f"[2024-01-01 INFO] Step {step}/ 40; acc: 10.8; ppl: 1.0; xent: 7.2;",
            "[2024-01-01 INFO] Train perplexity: 1.5",
            f"[2024-01-01 INFO] Validation perplexity: {perplexity}",
            f"[2024-01-01 INFO] Saving checkpoint out/plain_step_{step}.pt",
        ]
    assert exchange.best_checkpoint(log) == "out/plain_step_20.pt"
    with pytest.raises(SystemExit):
        exchange.best_checkpoint(log[:3])


@pytest.fixture
def prepared(tmp_path):
    """A directory as wfe-preprocess makes it: BPE that joins "t h" only, and all letters known."""
    letters = "a b c d e f g h i j k l m n o p q r s t u v w x y z".split()
    pieces = [*letters, *(f"{letter}@@" for letter in letters), "th", "th@@", "."]
    settings = dict(tokenize=True, unk=False, lowercase=True, digits=False, bpe="joint", merges=1)
    settings.update({f"{side}_max_length": 1024 for side in ("source", "target")})
    data = tmp_path / "data"
    data.mkdir()
    (data / "treatment.json").write_text(json.dumps({"settings": settings, "text": {}, "report": {}}))
    (data / "bpe.codes").write_text("#version: 0.2\nt h\n")
    for side in ("source", "target"):
        (data / f"bpe.{side}.pieces").write_text("\n".join(pieces))
        (data / f"dict.{side}.txt").write_text("".join(f"{piece} 1\n" for piece in pieces))
    return data


def test_text_for_opennmt_has_the_models_words(prepared, tmp_path, capsys):
    raw, out = tmp_path / "raw", tmp_path / "out"
    raw.mkdir()
    for name in ("train", "valid", "test"):
        (raw / f"{name}.article").write_text("The ox.\nA cat.\n")
        (raw / f"{name}.title").write_text("Ox\nThe a\n")
    exchange.write_text(prepared, raw, out, epochs=2)
    assert capsys.readouterr().out == "2\n"
    assert (out / "train.source").read_text() == "th@@ e o@@ x .\na c@@ a@@ t .\n"
    assert (out / "test.target").read_text() == "o@@ x\nth@@ e a\n"
    epochs = [(out / f"epochs.{side}").read_text().splitlines() for side in ("source", "target")]
    both = [("a c@@ a@@ t .", "th@@ e a"), ("th@@ e o@@ x .", "o@@ x")]
    assert sorted(zip(*epochs)) == sorted(2 * both)
    assert (out / "source.vocab").read_text().split()[:2] == ["a", "b"]


def test_repaired_copying_pairs_each_gate_with_its_own_attention():
    """Against the equation, one sentence and step at a time."""
    torch.manual_seed(1)
    sentences, steps, length, size, vocabulary, copied = 2, 3, 4, 5, 7, 6
    generator = SimpleNamespace(
        linear=torch.nn.Linear(size, vocabulary), linear_copy=torch.nn.Linear(size, 1), pad_idx=1
    )
    hidden = torch.randn(sentences, steps, size)
    attention = torch.softmax(torch.randn(steps, sentences, length), dim=-1)  # as OpenNMT-py's decoder stacks it
    src_map = torch.nn.functional.one_hot(torch.tensor([[2, 3, 4, 5], [2, 2, 3, 5]]), copied).float()
    found = onmt.word_probabilities(generator, hidden.flatten(end_dim=1), attention.flatten(end_dim=1), src_map)
    found = found.view(sentences, steps, -1)
    for i in range(sentences):
        for j in range(steps):
            gate = torch.sigmoid(generator.linear_copy(hidden[i, j]))
            logits = generator.linear(hidden[i, j]).masked_fill(torch.arange(vocabulary) == 1, float("-inf"))
            expected = torch.cat((torch.softmax(logits, 0) * (1 - gate), gate * (attention[j, i] @ src_map[i])))
            torch.testing.assert_close(found[i, j], expected)
            torch.testing.assert_close(found[i, j].sum(), torch.tensor(1.0))


def test_repaired_coverage_counts_what_is_attended_to_again():
    # Two steps of two sentences; the second sentence has one word, then padding (0).
    attention = torch.tensor([[[0.75, 0.25], [0.5, 0.5]], [[0.5, 0.5], [1.0, 0.0]]])  # (steps, sentences, source)
    covered = attention.cumsum(dim=0)
    target = torch.tensor([7, 8, 9, 0])  # by sentence, then by step
    loss = SimpleNamespace(padding_idx=0)
    # First sentence, second step: min(0.5, 0.75) + min(0.5, 0.25)
    assert onmt.coverage_loss(loss, attention, covered, target).item() == 0.75
    with torch.no_grad():
        assert onmt.coverage_loss(loss, attention, covered, target).item() == 0


def test_repaired_loading_finds_the_generator():
    """Under the names that OpenNMT-py looks for first."""
    given = {"model": {"decoder.w": 1}, "generator": {"linear.weight": 2}, "opt": 3}
    found = onmt.with_generator(lambda model, checkpoint, strict: (checkpoint, strict))(None, given, strict=True)
    assert found == ({"model": {"decoder.w": 1, "generator.linear.weight": 2}, "generator": {}, "opt": 3}, True)
