"""Texts in, tensors out, and back: what a model of transformers is given, and what it says."""

from collections.abc import Iterator, Sequence
from typing import Callable, Optional

import torch
from torch import Tensor

from wfe_plugin.errors import UserError
from wfe_plugin.huggingface.processor import WFELogitsProcessor

TEMPLATE = "{source}\nTL;DR:"
SOURCE = "{source}"


def model_inputs(
    model, tokenizer, sources: Sequence[str], template: str = "", max_tokens: Optional[int] = None
) -> dict[str, Tensor]:
    """What the model is given for a batch of articles.

    Args:
        template: the prompt of a decoder-only model, with `{source}` for the article
        max_tokens: of an article; what is beyond is cut off

    Returns:
        `input_ids` and `attention_mask`, (sentences, time), where the model is; and for a decoder-only model, which is
        padded on the left, `source_mask`: 1 at the tokens of the article
    """
    if model.config.is_encoder_decoder:
        cut = {} if max_tokens is None else dict(truncation=True, max_length=max_tokens)
        rows = {"input_ids": tokenizer(list(sources), **cut)["input_ids"]}
        left = False
    else:
        prompts = [prompt_tokens(tokenizer, source, template or TEMPLATE, max_tokens) for source in sources]
        rows = {"input_ids": [ids for ids, _ in prompts], "source_mask": [mask for _, mask in prompts]}
        left = True
    rows["attention_mask"] = [[1] * len(row) for row in rows["input_ids"]]
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
    fill = {"input_ids": pad}
    return {name: padded(values, fill.get(name, 0), left).to(model.device) for name, values in rows.items()}


def prompt_tokens(
    tokenizer, source: str, template: str, max_tokens: Optional[int] = None
) -> tuple[list[int], list[int]]:
    """The tokens of a prompt, and 1 at those of its article."""
    if not tokenizer.is_fast:
        raise UserError("only fast tokenizers know where the article is in the prompt; load one with use_fast=True")
    if template.count(SOURCE) != 1:
        raise UserError(f"the template {template!r} must contain {SOURCE} exactly once, for the article")
    if max_tokens is not None:
        article = tokenizer(source, add_special_tokens=False, return_offsets_mapping=True)
        source = source[: max((end for _, end in article["offset_mapping"][:max_tokens]), default=0)]
    before, after = template.split(SOURCE)
    tokens = tokenizer(before + source + after, return_offsets_mapping=True)
    start, stop = len(before), len(before) + len(source)
    is_article = [int(first < stop and last > start and last > first) for first, last in tokens["offset_mapping"]]
    return tokens["input_ids"], is_article


def summary_tokens(
    model, tokenizer, summaries: Sequence[str], template: str = "", max_tokens: Optional[int] = None
) -> list[list[int]]:
    """The summaries as the model would say them, without special tokens."""
    if not model.config.is_encoder_decoder and not (template or TEMPLATE)[-1].isspace():
        summaries = [" " + summary for summary in summaries]
    rows = tokenizer(text_target=list(summaries), add_special_tokens=False)["input_ids"]
    return [row[:max_tokens] for row in rows]


def padded(rows: Sequence[Sequence[int]], value: int, left: bool = False) -> Tensor:
    longest = max(map(len, rows))
    fillings = [[value] * (longest - len(row)) for row in rows]
    whole = [[*filling, *row] if left else [*row, *filling] for row, filling in zip(rows, fillings)]
    return torch.tensor(whole, dtype=torch.long)


def batches(items: Sequence, size: int) -> Iterator[Sequence]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def summarize(
    model,
    tokenizer,
    sources: Sequence[str],
    processor_of: Optional[Callable[..., WFELogitsProcessor]] = None,
    batch_size: int = 16,
    template: str = "",
    max_tokens: Optional[int] = None,
    **search,
) -> list[str]:
    """Summaries of articles.

    Args:
        processor_of: from the model and its inputs to a processor, such as `head.processor`; None: no bound
        search: for `model.generate`, such as `num_beams=5, max_new_tokens=60`
    """
    outputs = []
    for batch in batches(sources, batch_size):
        inputs = model_inputs(model, tokenizer, batch, template, max_tokens)
        if processor_of is not None:
            search["logits_processor"] = [processor_of(model, **inputs)]
        input_ids, mask = inputs["input_ids"], inputs["attention_mask"]
        pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
        found = model.generate(input_ids=input_ids, attention_mask=mask, pad_token_id=pad, **search)
        if not model.config.is_encoder_decoder:
            found = found[:, input_ids.size(1) :]
        outputs.extend(text.strip() for text in tokenizer.batch_decode(found, skip_special_tokens=True))
    return outputs
