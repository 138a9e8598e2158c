"""Who is measured, and how fairseq builds each from a command line."""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields
from typing import Any, Callable

import torch
from fairseq import optim, options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.tasks import TASK_REGISTRY

from benchmarks.data import SEED, dictionary
from benchmarks.literal import LiteralGenerator
from benchmarks.sizes import Sizes
from wfe_plugin.pipeline.presets import PRESETS
from wfe_plugin.tasks.summarization_wfe import SummarizationWFEConfig

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
    trains_as_shipped=False,
    generator=LiteralGenerator,
)
SHIPPED = Contender(
    "shipped", "WFE", WFE_TASK, ("--arch", "wfe_lstm", "--wfe-estimator", "literal", "--criterion", "nll_wfe")
)
TRAINING = (STOCK, ENCDEC, LITERAL, SHIPPED)


def has_shortlist() -> bool:
    return any(field.name == "wfe_shortlist" for field in fields(SummarizationWFEConfig))


def decoding_contenders(shortlist: int) -> tuple[Contender, ...]:
    """Those that train, and WFE with a shortlist of so many words where the plugin can do that."""
    if not has_shortlist():
        return TRAINING
    with_shortlist = Contender(
        "shortlist",
        f"WFE, shortlist {shortlist}",
        SHIPPED.task,
        SHIPPED.model,
        decoding=("--wfe-shortlist", str(shortlist)),
        only_decodes=True,
    )
    return (*TRAINING, with_shortlist)


def size_options(contender: Contender, sizes: Sizes) -> list[str]:
    made = ["--dropout", "0.3"]
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
    return config, task, task.build_model(config.model)


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
