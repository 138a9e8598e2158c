"""wfe-train in phases: model, estimate, calibration. Interrupted anywhere, it ends as if undisturbed."""

import json
from types import SimpleNamespace

import pytest
import torch

from helpers.tiny_training import TINY, options, prepare
from wfe_plugin.cli import calibrate as calibrate_command
from wfe_plugin.cli import train
from wfe_plugin.method.calibration import Calibration
from wfe_plugin.pipeline import calibrate as calibration
from wfe_plugin.pipeline import checkpoints, display, training
from wfe_plugin.pipeline import train as pipeline_train
from wfe_plugin.pipeline.base_model import BaseModel
from wfe_plugin.pipeline.decode import Decoder
from wfe_plugin.pipeline.prepared_data import PreparedData
from wfe_plugin.pipeline.text import sha256
from wfe_plugin.pipeline.train import planned

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return prepare(tmp_path_factory.mktemp("phases"))


def command(data, out, *more):
    own = ["--estimator", "votes", "--epochs", "2", "--estimate-epochs", "2", "--threads", "1", *more]
    return options(data, out, *own, "--", "--cpu", *TINY, preset="small")


@pytest.fixture(scope="module")
def undisturbed(data):
    out = data.parent / "undisturbed"
    assert train.main(command(data, out)) == 0
    return out


class InterruptedDisplay(display.Display):
    def start_epoch(self, updates):
        if self.updates:
            raise KeyboardInterrupt
        super().start_epoch(updates)


class Interruptions:
    """Ctrl-C in the second epoch of a training, or in the midst of a calibration."""

    def __init__(self, monkeypatch):
        self.monkeypatch = monkeypatch

    def in_the_second_epoch_of(self, phase):
        """The estimate's training starts from another model."""

        class Interrupted(training.Training):
            def run_fairseq(self, *arguments):
                if bool(self.options.add_wfe) == (phase == "estimate"):
                    self.display = InterruptedDisplay("", "", 2)
                super().run_fairseq(*arguments)

        self.monkeypatch.setattr(pipeline_train, "Training", Interrupted)

    def after_decodings(self, count):
        decoded = []

        class Interrupted(calibration.ValidationPairs):
            def summarize(self, **options):
                if len(decoded) == count:
                    raise KeyboardInterrupt
                decoded.append(options)
                return super().summarize(**options)

        self.monkeypatch.setattr(calibration, "ValidationPairs", Interrupted)

    def end(self):
        self.monkeypatch.undo()


def best(out):
    return torch.load(out / "checkpoint_best.pt")


def test_the_phases_leave_a_model_with_estimate_and_calibration(undisturbed):
    plain, whole = best(undisturbed / "model"), best(undisturbed)
    assert not checkpoints.has_wfe(plain) and checkpoints.has_wfe(whole)
    for name, value in plain["model"].items():
        assert torch.equal(whole["model"][name], value), name
    assert json.loads((undisturbed / "model" / "training.json").read_text())["settings"]["baseline"]
    record = json.loads((undisturbed / "training.json").read_text())
    assert record["calibration"] == whole["cfg"]["model"]["wfe_calibration"]
    assert Calibration.parse(record["calibration"]).protocol == "f1"


def test_interrupted_in_each_phase_it_ends_as_undisturbed(data, undisturbed, monkeypatch, capsys):
    out = data.parent / "interrupted"
    interruptions = Interruptions(monkeypatch)
    interruptions.in_the_second_epoch_of("model")
    assert train.main(command(data, out)) == 130
    assert not (out / "checkpoint1.pt").exists() and (out / "model" / "checkpoint1.pt").exists()
    interruptions.end()
    interruptions.in_the_second_epoch_of("estimate")
    assert train.main(command(data, out)) == 130
    assert (out / "checkpoint1.pt").exists() and not (out / "checkpoint2.pt").exists()
    interruptions.end()
    interruptions.after_decodings(5)
    assert train.main(command(data, out)) == 130
    assert best(out)["cfg"]["model"]["wfe_calibration"] == ""
    interruptions.end()
    capsys.readouterr()
    assert train.main(command(data, out)) == 0
    told = capsys.readouterr().out
    assert told.count("already trained") == 2 and "phase 3 of 3: calibration" in told
    found, expected = best(out), best(undisturbed)
    assert found["cfg"]["model"]["wfe_calibration"] == expected["cfg"]["model"]["wfe_calibration"] != ""
    for name, value in expected["model"].items():
        assert torch.equal(found["model"][name], value), name
    assert json.loads((out / "calibration.json").read_text()) == json.loads(
        (undisturbed / "calibration.json").read_text()
    )


def test_decoding_uses_the_calibration(data, undisturbed):
    path = undisturbed / "checkpoint_best.pt"
    chosen = Calibration.parse(checkpoints.model_option(best(undisturbed), "wfe_calibration"))
    resolved, told = Decoder(data, {path: checkpoints.load(path, for_fairseq=True)}, ["--cpu"]).resolved()
    assert resolved.calibration[:3] == chosen[:3] and "calibrated" in told


def test_calibrating_again_leaves_the_model_what_it_is(data, undisturbed, capsys):
    """For another protocol; a training that starts from the model, and the training itself, stay as they were."""
    before, digest = best(undisturbed), BaseModel("--from", str(undisturbed)).identity()
    further = options(data, data.parent / "mrt", "--from", str(undisturbed), preset="mrt")
    settings = planned(train.parse(further)).record["settings"]
    arguments = [str(undisturbed), "--protocol", "recall-5", "--pairs", "8", "--cpu", "--threads", "1"]
    assert calibrate_command.main(arguments) == 0
    after = best(undisturbed)
    assert Calibration.parse(after["cfg"]["model"]["wfe_calibration"]).protocol == "recall-5"
    for name, value in before["model"].items():
        assert torch.equal(after["model"][name], value), name
    assert BaseModel("--from", str(undisturbed)).identity() == digest
    assert planned(train.parse(further)).record["settings"] == settings
    capsys.readouterr()
    assert train.main(command(data, undisturbed)) == 0
    assert "already calibrated; " + after["cfg"]["model"]["wfe_calibration"] in capsys.readouterr().out
    # Asked for, it is chosen anew; what was decoded before counts.
    assert train.main(command(data, undisturbed, "--protocol", "f1")) == 0
    assert best(undisturbed)["cfg"]["model"]["wfe_calibration"] == before["cfg"]["model"]["wfe_calibration"]


def test_the_rule_is_tuned_for_any_model(data, undisturbed, capsys):
    """The last line has options that can be given to the decoding as they are."""
    before = sha256(str(undisturbed / "model" / "checkpoint_best.pt"))
    model = str(undisturbed / "model")
    assert calibrate_command.main([model, "--rule", "--pairs", "8", "--cpu", "--threads", "1"]) == 0
    rule = capsys.readouterr().out.splitlines()[-1].split()
    assert sha256(str(undisturbed / "model" / "checkpoint_best.pt")) == before
    path = undisturbed / "model" / "checkpoint_best.pt"
    resolved, _ = Decoder(data, {path: checkpoints.load(path, for_fairseq=True)}, ["--cpu", *rule]).resolved()
    assert resolved.wfe_decoding == "off" and resolved.word_cap == 1
    assert rule[:3] == ["--word-cap", "1", "--out-of-source-penalty"] and rule[4] == "--word-reward"


def test_a_base_of_version_0_1_is_known_by_its_file(undisturbed):
    base = BaseModel("--add-wfe", str(undisturbed / "model"))
    assert base.has_identity(sha256(str(base.checkpoint))) and base.has_identity(base.identity())
    assert not base.has_identity("0" * 64)


def test_a_model_that_changed_gets_a_new_estimate(data, tmp_path, capsys):
    own = train.parse(command(data, tmp_path)).completed("small").phase_of_the_estimate()
    estimate = training.Training(own, PreparedData(str(data)))
    estimate.claim()
    for identity, left in (("weights:1", []), ("weights:1", ["checkpoint1.pt"]), ("weights:2", [])):
        estimate.stand_on(SimpleNamespace(identity=lambda identity=identity: identity))
        assert sorted(path.name for path in tmp_path.glob("checkpoint*")) == left
        assert json.loads((tmp_path / "training.json").read_text())["base"] == identity
        (tmp_path / "checkpoint1.pt").touch()
    assert "trained again" in capsys.readouterr().out
