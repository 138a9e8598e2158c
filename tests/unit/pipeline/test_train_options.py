"""Which options of wfe-train go together, and what they come to."""

import pytest
import torch

from wfe_plugin.errors import UserError
from wfe_plugin.models.wfe_model import ESTIMATORS as OF_MODELS
from wfe_plugin.pipeline.fairseq_options import without_training_options
from wfe_plugin.pipeline.options import refuse_managed
from wfe_plugin.pipeline.presets import ESTIMATORS, JOINT_ESTIMATORS, PRESETS, preset_for
from wfe_plugin.pipeline.train_options import MANAGED, TrainOptions, check_processes


def told(**options):
    return TrainOptions("data", "out", **options)


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(start_from="m", preset="mrt", estimator="votes"), "--from determines the kind of model"),
        (dict(start_from="m"), "needs --preset mrt"),
        (dict(preset="mrt"), "needs --from"),
        (dict(preset="small", start_from="m"), "does not take --from"),
        (dict(baseline=True, estimator="votes"), "--baseline trains no estimate"),
        (dict(baseline=True, add_wfe="m"), "--baseline trains no estimate"),
        (dict(preset="abs", estimator="paper"), "cannot have an estimate"),
        (dict(preset="small", best_by="risk"), "does not measure it"),
        (dict(add_wfe="m", best_by="nll"), "choose loss or rouge"),
        (dict(preset="small", gpus=3), "3 processes cannot share a batch of 32"),
        (dict(machines=2), "--master HOST:PORT"),
        (dict(machine=1), "less than --machines"),
        (dict(protocol="recall"), "recall-75"),
        (dict(preset="paper", fairseq_options=["--lr", "1"]), "--lr after --"),
        (dict(preset="small", fairseq_options=["--wfe-calibration", "x"]), "--wfe-calibration after --"),
        (dict(preset="small", fairseq_options=["--max-ep=5"]), "--max-ep after --"),
        *(
            (dict(preset="small", fairseq_options=words), f"--{side}-lang after --")
            for words, side in ((["-starget"], "source"), (["-s", "target"], "source"), (["-t=source"], "target"))
        ),
        (dict(add_wfe="m", copying=True), "--copying cannot be added to a trained model"),
        (dict(preset="transformer-small", copying=True), "--copying: the model of --preset transformer-small"),
        (dict(fairseq_options=["--copy-attention"], preset="small"), "--copy-attention"),
    ],
)
def test_what_cannot_be_meant_is_refused(options, message):
    with pytest.raises(UserError, match=message):
        told(**options).validate()


@pytest.mark.parametrize(
    "pairs, preset", [(300, "small"), (49_999, "small"), (50_000, "medium"), (999_999, "medium"), (3_800_000, "paper")]
)
def test_the_preset_follows_the_size_of_the_data(pairs, preset):
    assert preset_for(pairs) == preset


def test_the_default_has_phases():
    options = told(epochs=9, best_by="rouge", minutes=5.0).completed("small")
    assert options.in_phases and options.estimator == "votes" and options.calibrates("votes")
    model, estimate = options.phase_of_the_model(), options.phase_of_the_estimate()
    small = PRESETS["small"]
    assert (model.out, model.baseline, model.estimator) == ("out/model", True, None)
    assert (model.epochs, model.patience, model.minutes, model.best_by) == (9, small.patience, 5.0, "rouge")
    assert (estimate.out, estimate.add_wfe, estimate.estimator) == ("out", "out/model", "votes")
    assert (estimate.epochs, estimate.patience) == (small.estimate_epochs, small.estimate_patience)
    assert (estimate.minutes, estimate.best_by) == (None, "loss")


@pytest.mark.parametrize(
    "options, preset, in_phases",
    [(dict(estimator="paper"), "small", False), (dict(estimator="literal"), "small", False),
     (dict(estimator="votes"), "small", True), (dict(baseline=True), "small", False),
     (dict(add_wfe="m"), "small", False), (dict(), "abs", False), (dict(start_from="m", preset="mrt"), "mrt", False)],
)  # fmt: skip
def test_what_has_phases(options, preset, in_phases):
    assert told(**options).completed(preset).in_phases == in_phases


@pytest.mark.parametrize(
    "options, preset, copies",
    [(dict(), "small", True), (dict(), "paper", True), (dict(copying=False), "small", False),
     (dict(baseline=True), "small", False), (dict(baseline=True, copying=True), "small", True),
     (dict(estimator="paper"), "small", False), (dict(estimator="paper", copying=True), "small", True),
     (dict(add_wfe="m"), "small", False), (dict(), "transformer-small", False),
     (dict(fairseq_options=["--arch", "wfe_fconv"]), "small", False)],
)  # fmt: skip
def test_which_models_copy(options, preset, copies):
    """They are chosen by ROUGE."""
    completed = told(**options).completed(preset)
    assert ("--copy-attention" in completed.fairseq_options) == copies
    assert completed.best_by == ("rouge" if copies else "loss" if "add_wfe" in options else "nll")
    assert told(**options, best_by="loss").completed(preset).best_by == "loss"


def test_options_of_an_estimate_on_top_of_a_model():
    options = told(add_wfe="m", estimate_epochs=3).completed("small")
    assert (options.epochs, options.best_by, options.estimator) == (3, "loss", "votes")
    assert told(add_wfe="m", epochs=5).completed("small").epochs == 5
    assert not told(calibration=False).calibrates("votes")
    assert not told().calibrates("paper") and not told().calibrates(None)


def test_estimators_are_those_of_the_models():
    assert set(OF_MODELS) - set(ESTIMATORS) == {"copying"}  # of version 0.1.0
    assert set(JOINT_ESTIMATORS) < set(ESTIMATORS) < set(OF_MODELS)


def test_presets_use_the_fused_adam():
    assert not any(
        "adam" in stage.options for preset in PRESETS.values() for stage in (*preset.stages, preset.estimate)
    )


def test_options_of_the_training_stay_with_the_model():
    model = ["--cpu", "--dropout", "0.4", "--log-interval=1", "--encoder-layers", "2"]
    training = ["--lr", "0.5", "--lr-scheduler", "reduce_lr_on_plateau", "--lr-patience", "1", "--update-freq", "2"]
    training += ["--criterion", "nll_unlikelihood", "--unlikelihood-weight", "0.5", "--adam-betas", "(0.9, 0.98)"]
    assert without_training_options([*model[:3], *training, *model[3:]]) == model
    estimate = ["--wfe-epsilon", "0.1"]
    assert without_training_options(["--lr", "1", *estimate]) == estimate


def test_options_with_similar_names_pass():
    refuse_managed(["--lr", "1", "--log-interval=5", "--cpu", "--max-tokens", "-1"], MANAGED, "wfe-train")


@pytest.mark.parametrize(
    "variable, value, options, message",
    [
        ("WORLD_SIZE", "2", dict(), "each would train a model of its own"),
        ("SLURM_STEP_NUM_TASKS", "2", dict(), "SLURM_STEP_NUM_TASKS is 2"),
        ("OMPI_COMM_WORLD_SIZE", "2", dict(), "OMPI_COMM_WORLD_SIZE is 2"),
        ("", "", dict(fairseq_options=["--cpu", "--bf16"]), "--bf16 after --: needs a GPU"),
        ("", "", dict(gpus=2), "--gpus 2: this machine has 1"),
    ],
)
def test_processes_that_fairseq_would_misunderstand(monkeypatch, variable, value, options, message):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    if variable:
        monkeypatch.setenv(variable, value)
    with pytest.raises(UserError, match=message):
        check_processes(told(**options))


def test_processes_that_are_right(monkeypatch):
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "2")
    check_processes(told(machines=2, machine=1, master="first:29500", fairseq_options=["--cpu", "--amp"]))
