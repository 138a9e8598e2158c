"""Who is measured, and how fairseq builds each from a command line."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Callable

import torch
from fairseq import optim, options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.tasks import TASK_REGISTRY

import wfe_plugin
from benchmarks.data import SEED, dictionary, zipf_sentences
from benchmarks.literal import LiteralGenerator
from benchmarks.sizes import Sizes
from wfe_plugin.pipeline.presets import PRESETS

wfe_plugin.register()

# What wfe-calibrate finds for `votes`, about.
CALIBRATION = "gate=0.75 base-rate=0.5 reward=0.5"
TRANSFORMER_SIZES = tuple(
    option
    for side in ("encoder", "decoder")
    for name, value in (("embed-dim", 128), ("ffn-embed-dim", 512), ("layers", 2), ("attention-heads", 4))
    for option in (f"--{side}-{name}", str(value))
)  # of the preset transformer-small
STOCK_ADAM = ("--optimizer", "adam", "--lr", "0.001", "--clip-norm", "10")
WFE_TASK = ("--task", "summarization_wfe")


@dataclass(frozen=True)
class Contender:
    """A model with its training objective and its search."""

    key: str
    name: str
    task: tuple[str, ...]
    model: tuple[str, ...]  # options of fairseq-train that name architecture and criterion
    decoding: tuple[str, ...] = ()  # options of fairseq-generate
    trains_as_shipped: bool = True  # with the optimizer of wfe-train; else with fairseq's Adam
    generator: Callable | None = None  # in the place of the task's own
    only_decodes: bool = False
    has_lstm: bool = True  # whose sizes are those of the setting


STOCK = Contender(
    "stock",
    "fairseq lstm",
    ("--task", "translation"),
    ("--arch", "lstm", "--encoder-bidirectional", "--criterion", "cross_entropy"),
    trains_as_shipped=False,
)
ENCDEC = Contender(
    "encdec",
    "EncDec",
    WFE_TASK,
    ("--arch", "wfe_lstm", "--without-wfe", "--criterion", "nll_wfe"),
    decoding=("--wfe-decoding", "off"),
)
LITERAL = Contender(
    "literal",
    "WFE literal",
    WFE_TASK,
    ("--arch", "wfe_lstm_literal", "--criterion", "nll_wfe_literal"),
    decoding=("--wfe-decoding", "full"),
    trains_as_shipped=False,
    generator=LiteralGenerator,
)
SHIPPED = Contender("shipped", "WFE", WFE_TASK, ("--arch", "wfe_lstm", "--criterion", "nll_wfe"))
VOTING = ("--wfe-estimator", "votes", "--wfe-calibration", CALIBRATION)
VOTES = Contender("votes", "WFE votes", WFE_TASK, (*SHIPPED.model, "--copy-attention", *VOTING))
ESTIMATE = Contender("estimate", "votes on a model", WFE_TASK, (*VOTES.model, "--wfe-only"))
TRAINING = (STOCK, ENCDEC, LITERAL, SHIPPED, VOTES, ESTIMATE)
TRANSFORMERS = (
    Contender(
        "stock_transformer",
        "fairseq transformer",
        STOCK.task,
        ("--arch", "transformer", *TRANSFORMER_SIZES, "--criterion", "cross_entropy"),
        has_lstm=False,
    ),
    Contender(
        "votes_transformer",
        "Transformer, votes",
        WFE_TASK,
        ("--arch", "wfe_transformer_small", "--criterion", "nll_wfe", *VOTING),
        has_lstm=False,
    ),
)


def decoding_contenders(shortlist: int) -> tuple[Contender, ...]:
    """Those that decode: WFE as the paper has it and as `auto` decodes, and with a shortlist of so many words."""
    with_shortlist = Contender(
        "shortlist",
        f"WFE, shortlist {shortlist}",
        SHIPPED.task,
        SHIPPED.model,
        decoding=("--wfe-shortlist", str(shortlist)),
        only_decodes=True,
    )
    return (STOCK, ENCDEC, LITERAL, SHIPPED, VOTES, with_shortlist)


def size_options(contender: Contender, sizes: Sizes) -> list[str]:
    made = ["--dropout", "0.3"]
    if not contender.has_lstm:
        return made
    for side in ("encoder", "decoder"):
        made += [f"--{side}-embed-dim", str(sizes.embedding)]
        made += [f"--{side}-hidden-size", str(sizes.hidden)]
        made += [f"--{side}-layers", str(sizes.layers)]
    if contender is STOCK:
        # Its encoder states have the size 2H, since it cannot sum the directions; the decoder is the same.
        made += ["--decoder-out-embed-dim", str(sizes.hidden)]
    return made


@functools.cache
def training_config(contender: Contender, sizes: Sizes):
    """As fairseq-train reads it."""
    optimizer = PRESETS[sizes.preset].stages[0].options if contender.trains_as_shipped else STOCK_ADAM
    # The positional argument is the data directory, which nobody opens here.
    arguments = [".", *contender.task, *contender.model, *size_options(contender, sizes), *optimizer]
    parser = options.get_training_parser()
    return convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, arguments))


@functools.cache
def decoding_config(contender: Contender, sizes: Sizes, beam: int):
    """As fairseq-generate reads it; every output has the same length."""
    length = str(sizes.output_length)
    search = ["--path", ".", "--beam", str(beam), "--min-len", length, "--max-len-b", length]
    arguments = [".", *contender.task, *search, *contender.decoding]
    parser = options.get_generation_parser()
    return convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, arguments))


def build_task(config, sizes: Sizes):
    """The task of a configuration, with vocabularies of the given sizes instead of files."""
    task_class = TASK_REGISTRY[config.task._name]
    return task_class(config.task, dictionary(sizes.source_words), dictionary(sizes.target_words))


def build_model(contender: Contender, sizes: Sizes):
    """The configuration, the task and the model, as fairseq-train makes them."""
    config = training_config(contender, sizes)
    task = build_task(config, sizes)
    torch.manual_seed(SEED)
    model = task.build_model(config.model)
    if getattr(model, "wfe_head", None) is not None and contender is not LITERAL:
        summaries = zipf_sentences(
            1000, sizes.target_length, task.target_dictionary, torch.Generator().manual_seed(SEED)
        )
        model.count_base_rates(summaries)
        model.is_loaded = True  # an estimate is added to trained models alone
    return config, task, model


@dataclass
class Trainee:
    """What a training step needs."""

    model: torch.nn.Module
    criterion: torch.nn.Module
    optimizer: Any
    clip_norm: float


def build_trainee(contender: Contender, sizes: Sizes) -> Trainee:
    config, task, model = build_model(contender, sizes)
    model.train()
    optimizer = optim.build_optimizer(config.optimizer, [p for p in model.parameters() if p.requires_grad])
    return Trainee(model, task.build_criterion(config.criterion), optimizer, config.optimization.clip_norm)


def build_search(contender: Contender, sizes: Sizes, beam: int, model: torch.nn.Module) -> Callable[[dict], list]:
    """A function from a batch to its hypotheses, as fairseq-generate calls it."""
    config = decoding_config(contender, sizes, beam)
    task = build_task(config, sizes)
    model.prepare_for_inference_(config)
    generator = task.build_generator([model], config.generation, seq_gen_cls=contender.generator)
    return lambda batch: task.inference_step(generator, [model], batch)
