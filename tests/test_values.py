"""Options of generation with values that nothing can be done with."""

from argparse import Namespace

import pytest
from toy import generate, toy_batch, toy_model, toy_task

from wfe_plugin.generation.values import refuse_impossible_values


@pytest.mark.parametrize(
    "values, said",
    [
        (dict(beam=0), "--beam is 0; it must be 1 or more"),
        (dict(beam=3, nbest=4), "--nbest is 4; it must be from 1 to --beam, 3"),
        (dict(nbest=0), "--nbest is 0; it must be from 1 to --beam, 5"),
        (dict(lenpen=float("nan")), "--lenpen is nan; it must be a finite number"),
        (dict(unkpen=float("inf")), "--unkpen is inf; it must be a finite number"),
        (dict(sampling_topk=0), "--sampling-topk is 0; it must be 1 or more"),
        (dict(sampling_topp=1.5), "--sampling-topp is 1.5; it must be above 0"),
        (dict(beam=4, diverse_beam_groups=3), "--diverse-beam-groups is 3; it must be a divisor of --beam, 4"),
        (dict(prefix_size=-1), "--prefix-size is -1; it must be 0 or more"),
    ],
)
def test_refused(values, said):
    with pytest.raises(ValueError) as refused:
        refuse_impossible_values(Namespace(**values))
    assert str(refused.value).startswith(said)


def test_accepted():
    refuse_impossible_values(Namespace())
    refuse_impossible_values(
        Namespace(beam=4, nbest=4, lenpen=-1.0, unkpen=2.0, sampling_topk=1, sampling_topp=1.0, diverse_beam_groups=2)
    )


@pytest.mark.parametrize("decoding", ["off", "full"])
def test_every_generator_is_asked(decoding):
    task = toy_task(8, wfe_decoding=decoding)
    with pytest.raises(ValueError, match="--lenpen"):
        generate(task, [toy_model(task)], toy_batch(task, [[4, 5]]), lenpen=float("nan"))


@pytest.mark.parametrize("sentences", [0, -1])
def test_batches_need_sentences(sentences):
    with pytest.raises(ValueError, match=f"--batch-size is {sentences}; it must be 1 or more"):
        toy_task(8).get_batch_iterator([], max_sentences=sentences)
