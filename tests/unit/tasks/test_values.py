"""Options with values that nothing can be done with: of generation, of batches, and of fairseq's commands."""

from argparse import Namespace
from contextlib import nullcontext

import pytest
import torch
from fairseq import options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf

from helpers.toy import generate, toy_batch, toy_model, toy_task
from wfe_plugin.criterions.nll_wfe import NLLWithWFECriterion
from wfe_plugin.generation.values import refuse_impossible_values
from wfe_plugin.option_values import refuse_values_of_commands


@pytest.mark.parametrize(
    "values, said",
    [
        (dict(beam=0), "--beam is 0; it must be 1 or more"),
        (dict(beam=3, nbest=4), "--nbest is 4; it must be from 1 to --beam, 3"),
        (dict(nbest=0), "--nbest is 0; it must be from 1 to --beam, 5"),
        (dict(lenpen=float("nan")), "--lenpen is nan; it must be a finite number"),
        (dict(unkpen=float("inf")), "--unkpen is inf; it must be a finite number"),
        (dict(sampling_topk=0), "--sampling-topk is 0; it must be from 1 to 12, the words of the vocabulary"),
        (dict(sampling_topk=13), "--sampling-topk is 13; it must be from 1 to 12"),
        (dict(temperature=float("inf")), "--temperature is inf; it must be a finite number"),
        (dict(diversity_rate=float("nan")), "--diversity-rate is nan; it must be a finite number"),
        (dict(max_len_a=float("nan")), "--max-len-a is nan; it must be 0 or more"),
        (dict(max_len_a=float("inf")), "--max-len-a is inf; it must be finite and 0 or more"),
        (dict(max_len_a=-1), "--max-len-a is -1; it must be 0 or more"),
        (dict(retain_iter_history=True), "--retain-iter-history is for models that refine"),
        (dict(print_step=True), "--print-step is for models that refine"),
        (dict(sampling_topp=1.5), "--sampling-topp is 1.5; it must be above 0"),
        (dict(beam=4, diverse_beam_groups=3), "--diverse-beam-groups is 3; it must be a divisor of --beam, 4"),
        (dict(prefix_size=-1), "--prefix-size is -1; it must be 0 or more"),
    ],
)
def test_refused(values, said):
    with pytest.raises(ValueError) as refused:
        refuse_impossible_values(Namespace(**values), words=12)
    assert str(refused.value).startswith(said)


def test_accepted():
    refuse_impossible_values(Namespace(), words=12)
    refuse_impossible_values(
        Namespace(beam=4, nbest=4, lenpen=-1.0, unkpen=2.0, sampling_topk=1, sampling_topp=1.0, diverse_beam_groups=2),
        words=12,
    )


@pytest.mark.parametrize("program, refused", [("fairseq-interactive", True), ("fairseq_cli/interactive.py", True),
                                              ("fairseq-generate", False), ("my_program.py", False)])  # fmt: skip
def test_soft_alignments_where_they_cannot_be_printed(monkeypatch, program, refused):
    monkeypatch.setattr("sys.argv", [program])
    refuse_impossible_values(Namespace(print_alignment="hard"), words=12)
    with pytest.raises(ValueError, match="--print-alignment soft") if refused else nullcontext():
        refuse_impossible_values(Namespace(print_alignment="soft"), words=12)


@pytest.mark.parametrize("decoding", ["off", "full"])
def test_every_generator_is_asked(decoding):
    task = toy_task(8, wfe_decoding=decoding)
    with pytest.raises(ValueError, match="--lenpen"):
        generate(task, [toy_model(task)], toy_batch(task, [[4, 5]]), lenpen=float("nan"))


@pytest.mark.parametrize("decoding", ["off", "full"])
def test_language_models_are_such(decoding):
    task = toy_task(8, wfe_decoding=decoding)
    model = toy_model(task)
    with pytest.raises(ValueError, match="--lm-path: is no language model"):
        task.build_generator([model], Namespace(), extra_gen_cls_kwargs={"lm_model": model, "lm_weight": 0.1})


@pytest.mark.parametrize(
    "values, said",
    [
        (dict(max_sentences=0), "--batch-size is 0; it must be 1 or more"),
        (dict(max_sentences=-1), "--batch-size is -1; it must be 1 or more"),
        (dict(max_tokens=-1), "--max-tokens is -1; it must be 1 or more"),
        (dict(num_workers=-1), "--num-workers is -1; it must be 0 or more"),
    ],
)
def test_impossible_batches(values, said):
    with pytest.raises(ValueError, match=said):
        toy_task(8).get_batch_iterator([], **values)


def test_impossible_batches_of_validation():
    task = toy_task(8, train_subset="train")
    task.datasets = {"train": [1], "valid": [2]}
    for name, option in (("train", "--batch-size"), ("valid", "--batch-size-valid")):
        with pytest.raises(ValueError, match=f"{option} is 0; it must be 1 or more"):
            task.get_batch_iterator(task.datasets[name], max_sentences=0)


@pytest.mark.parametrize(
    "options, said",
    [
        (dict(eval_bleu_args="{"), "--eval-bleu-args is '{'; it must be a JSON object"),
        (dict(eval_bleu_args="[1]"), "--eval-bleu-args is '[1]'; it must be a JSON object"),
        (dict(eval_bleu_detok_args="1"), "--eval-bleu-detok-args is '1'; it must be a JSON object"),
        (dict(eval_bleu_detok="none"), "--eval-bleu-detok is none; it must be one of moses, nltk, space"),
    ],
)
def test_impossible_bleu(options, said):
    with pytest.raises(ValueError) as refused:
        toy_task(8, eval_bleu=True, **options).build_model(Namespace(arch="wfe_lstm_tiny"))
    assert str(refused.value).startswith(said)


def test_language_models_read_no_source():
    with pytest.raises(ValueError, match="--arch transformer_lm is a language model"):
        toy_task(8).build_model(Namespace(_name="transformer_lm"))


@pytest.mark.parametrize("side", ["source", "target"])
def test_words_beyond_the_vocabulary(side):
    """As where words were removed from its file after the data had been binarised."""
    small, task = toy_task(8), toy_task(9)
    known, unknown = [[4, 5], [6]], [[4, 12], [6]]
    batch = toy_batch(task, unknown if side == "source" else known, unknown if side == "target" else known)
    model = toy_model(small).train()
    told = pytest.raises(
        ValueError, match=rf"dict.{'article' if side == 'source' else 'title'}.txt \(number 12 of 12\)"
    )
    with told as raised:
        small.valid_step(batch, model, NLLWithWFECriterion(small))
    assert isinstance(raised.value, RuntimeError)  # for which fairseq-train leaves no crash.pt
    with told:
        small.train_step(batch, model, NLLWithWFECriterion(small), torch.optim.SGD(model.parameters(), 1.0), 0)
    if side == "source":
        with told:
            generate(small, [model], batch)


# What fairseq keeps to itself


def command_line(*more):
    return convert_namespace_to_omegaconf(
        options.parse_args_and_arch(options.get_training_parser(), ["data", "--arch", "transformer", *more])
    )


@pytest.mark.parametrize(
    "words, said",
    [
        (["--seed=-1"], "--seed is -1; it must be from 0 to 4294967295"),
        (["--seed=99999999999"], "--seed is 99999999999; it must be from 0 to 4294967295"),
        (["--log-interval=0"], "--log-interval is 0; it must be 1 or more"),
        (["--update-freq=1,0"], "--update-freq is 0; it must be 1 or more"),
        (["--lr=-1"], "--lr is -1.0; it must be 0 or more"),
        (["--tpu"], "--tpu needs torch_xla, which is not installed"),
        (["--optimizer=adam", "--adam-betas=x"], "--adam-betas is 'x'; it must be two numbers in [0, 1)"),
        (["--optimizer=adam", "--adam-betas=(2,3)"], "--adam-betas is '(2,3)'; it must be two numbers in [0, 1)"),
        (["--optimizer=torch_adam", "--adam-betas=(0.9,)"], "--adam-betas is '(0.9,)'; it must be two numbers"),
    ],
)
def test_values_of_commands(words, said):
    with pytest.raises(ValueError) as refused:
        refuse_values_of_commands(command_line(*words))
    assert str(refused.value).startswith(said)


@pytest.mark.parametrize("words", [[], ["--optimizer=adam"], ["--optimizer=torch_adam", "--adam-betas=(0.9, 0.98)"]])
def test_values_of_commands_that_are_accepted(words):
    refuse_values_of_commands(command_line(*words))
