#!/usr/bin/env python3
"""Summarize articles with a model of Hugging Face's transformers, within word frequencies.

    summarize.py --model facebook/bart-large-cnn --articles articles.txt --bound rule > summaries.txt
    wfe-hf-train --model model --train train.article train.title --valid valid.article valid.title
    summarize.py --model model --articles articles.txt --bound estimate > summaries.txt

Any encoder-decoder will do, and any decoder-only model: the latter gets a prompt with the article in it.
"""

import argparse
import sys
from pathlib import Path

import torch

from wfe_plugin.cli.common import run
from wfe_plugin.huggingface import FrequencyHead, WFELogitsProcessor
from wfe_plugin.huggingface.texts import summarize
from wfe_plugin.huggingface.train import load_model


def by_rule(model, input_ids, source_mask=None, attention_mask=None) -> WFELogitsProcessor:
    """Without training: 2 nats off for each token that the article lacks, each token at most once."""
    return WFELogitsProcessor.from_source(model, input_ids, source_mask, out_of_source_penalty=2.0, word_cap=1)


def bounded_by(options, model):
    """What makes a processor from the model and its inputs."""
    if options.bound == "estimate":
        head = FrequencyHead.load(options.head or options.model, model)
        return head.processor, head.template
    return {"rule": by_rule, "none": None}[options.bound], options.template


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="directory, or name on the hub")
    parser.add_argument("--articles", required=True, type=Path, help="one per line")
    parser.add_argument("--bound", choices=["estimate", "rule", "none"], default="rule", help="default: %(default)s")
    parser.add_argument("--head", help="the estimate: a file of wfe-hf-train (default: beside the model)")
    parser.add_argument("--template", default="", help="prompt of a decoder-only model, with {source} for the article")
    parser.add_argument("--beam", type=int, default=5, help="default: %(default)s")
    parser.add_argument("--sample", action="store_true", help="draw summaries instead of searching for the best")
    parser.add_argument("--max-tokens", type=int, default=60, help="of a summary (default: %(default)s)")
    parser.add_argument("--max-source-tokens", type=int, default=1000, help="default: %(default)s")
    parser.add_argument("--batch-size", type=int, default=16, help="default: %(default)s")
    return parser


def write_summaries(options) -> None:
    model, tokenizer = load_model(options.model)
    processor_of, template = bounded_by(options, model)
    torch.manual_seed(1)
    search = dict(do_sample=True, num_beams=1) if options.sample else dict(num_beams=options.beam)
    articles = options.articles.read_text(encoding="utf-8").splitlines()
    found = summarize(
        model,
        tokenizer,
        articles,
        processor_of,
        options.batch_size,
        template,
        options.max_source_tokens,
        max_new_tokens=options.max_tokens,
        **search,
    )
    print(*(summary.replace("\n", " ") for summary in found), sep="\n")


def main(argv=None) -> int:
    options = build_parser().parse_args(argv)
    return run("summarize.py", lambda: write_summaries(options))


if __name__ == "__main__":
    sys.exit(main())
