"""An interrupted training ends as an undisturbed one, and the same seed gives the same result."""

import gc
import weakref

import pytest
import torch

from helpers.tiny_training import TINY, options
from helpers.toy import toy_sources, toy_task
from wfe_plugin.cli import generate, train


def batches_of(epoch, started_in, curriculum=0, **settings):
    """Which sentences are trained on together in an epoch, in turn; shuffled after the curriculum's epochs."""
    task = toy_task()
    sources = [torch.tensor(source) for source in toy_sources(50, 8)]
    dataset = task.build_dataset_for_inference(sources, torch.tensor([len(source) for source in sources]))
    task.datasets["train"] = dataset  # whose batches are kept from epoch to epoch
    for number in range(started_in, epoch + 1):
        # As fairseq's trainer asks before every epoch.
        iterator = task.get_batch_iterator(dataset=dataset, max_sentences=4, seed=1, epoch=number, **settings)
        found = [batch["id"].tolist() for batch in iterator.next_epoch_itr(shuffle=number > curriculum)]
        assert iterator.epoch == number
    return found


# The second: fairseq makes new batches for every epoch.
@pytest.mark.parametrize("settings", [{}, {"update_epoch_batch_itr": True}, {"curriculum": 2}])
def test_batches_do_not_depend_on_when_a_training_was_started(settings):
    undisturbed = batches_of(5, started_in=1, **settings)
    assert batches_of(5, started_in=3, **settings) == undisturbed
    assert batches_of(5, started_in=5, **settings) == undisturbed
    assert sorted(sum(undisturbed, [])) == list(range(50))
    assert batches_of(4, started_in=1, **settings) != undisturbed


def test_batches_are_kept_for_the_data_sets_alone():
    """What a server was given to summarize must not stay in memory; data sets have further epochs."""
    task = toy_task()
    sources = [torch.tensor(source) for source in toy_sources(5, 8)]
    lengths = torch.tensor([len(source) for source in sources])
    line = weakref.ref(task.build_dataset_for_inference(sources, lengths))
    gc.collect()
    assert line() is None  # nothing else holds it
    dataset = task.build_dataset_for_inference(sources, lengths)
    line = weakref.ref(dataset)
    list(task.get_batch_iterator(dataset=dataset, max_sentences=4).next_epoch_itr())
    del dataset
    gc.collect()
    assert line() is None
    task.datasets["train"] = task.build_dataset_for_inference(sources, lengths)
    first, second = (task.get_batch_iterator(dataset=task.dataset("train"), max_sentences=4) for _ in range(2))
    assert first is second


@pytest.fixture(scope="module")
def models(data, tmp_path_factory):
    """Three epochs at once, and in two parts, from the same seed."""
    found = []
    for name, parts in (("whole", ["3"]), ("parts", ["1", "3"])):
        out = tmp_path_factory.mktemp(name) / "model"
        for epochs in parts:
            arguments = options(data, out, "--epochs", epochs, "--threads", "1", "--", "--cpu", *TINY, preset="small")
            assert train.main(arguments) == 0
        found.append(out)
    return found


def test_an_interruption_changes_nothing(models):
    whole, parts = (torch.load(out / "checkpoint3.pt") for out in models)
    assert parts["extra_state"]["val_loss"] == whole["extra_state"]["val_loss"]
    for name, value in whole["model"].items():
        assert torch.equal(parts["model"][name], value), name
    for key, state in whole["last_optimizer_state"]["state"].items():
        for name, value in state.items():
            assert torch.equal(
                torch.as_tensor(parts["last_optimizer_state"]["state"][key][name]), torch.as_tensor(value)
            )


def test_outputs_and_scores_are_the_same(models, tmp_path):
    found = []
    for number, model in enumerate(models):
        out = tmp_path / str(number)
        assert generate.main(["--model", str(model), "--out", str(out), "--nbest", "3", "--threads", "1"]) == 0
        found.append([(out / name).read_text() for name in ("summaries.txt", "nbest.tsv")])
    assert found[0] == found[1]
