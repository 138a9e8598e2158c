"""The best epoch by ROUGE on the validation set."""

from pathlib import Path

from helpers.tiny_training import options
from wfe_plugin.cli import train
from wfe_plugin.pipeline import best_epoch, fairseq_train
from wfe_plugin.pipeline.best_epoch import best_by_rouge
from wfe_plugin.pipeline.checkpoints import Epoch
from wfe_plugin.pipeline.record import Progress
from wfe_plugin.pipeline.train import planned


def test_best_by_rouge(data, tmp_path, monkeypatch, capsys):
    """Each epoch is decoded once; the best one has the summaries closest to the references."""
    decoded = []

    class Pairs:
        references = (data / "text" / "valid.target").read_text().splitlines()

        def __init__(self, path, *_):
            decoded.append(path.name)
            self.right = {"one.pt": 3, "two.pt": 9, "three.pt": 6}[path.name]

        def summarize(self, beam, wfe_decoding):
            assert (beam, wfe_decoding) == (5, "full")
            return [text if number < self.right else "z" for number, text in enumerate(self.references)]

    monkeypatch.setattr(best_epoch, "ValidationPairs", Pairs)
    training = planned(train.parse(options(data, tmp_path, "--best-by", "rouge")))
    epochs = [
        Epoch(number, Path(f"{name}.pt"), 1.0, 0.0) for number, name in enumerate(("one", "two", "three"), start=1)
    ]
    assert best_by_rouge(training, epochs) == 2
    assert best_by_rouge(training, epochs) == 2
    assert decoded == ["one.pt", "two.pt", "three.pt"]
    assert "--keep-last-epochs" not in fairseq_train.command(training, Progress(), None)
