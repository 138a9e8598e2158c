"""Values of fairseq's options of generation that could only fail later, or be ignored."""

import math

from wfe_plugin.option_values import require
from wfe_plugin.plain_errors import command


def refuse_impossible_values(args, words: int) -> None:
    """Raise if *args*, which may lack any of them, hold such a value.

    Args:
        words: of the vocabulary of summaries
    """
    beam = getattr(args, "beam", 5)
    require(beam >= 1, "--beam", beam, "1 or more")
    nbest = getattr(args, "nbest", 1)
    require(1 <= nbest <= beam, "--nbest", nbest, f"from 1 to --beam, {beam}")
    for option, default in (
        ("--lenpen", 1.0),
        ("--unkpen", 0.0),
        ("--temperature", 1.0),
        ("--diversity-rate", -1.0),
        ("--diverse-beam-strength", 0.5),
    ):
        value = getattr(args, option[2:].replace("-", "_"), default)
        require(math.isfinite(value), option, value, "a finite number")
    max_len_a = getattr(args, "max_len_a", 0)
    require(max_len_a >= 0, "--max-len-a", max_len_a, "0 or more")
    top_k = getattr(args, "sampling_topk", -1)
    most = f"from 1 to {words}, the words of the vocabulary, or -1 for all of them"
    require(top_k == -1 or 1 <= top_k <= words, "--sampling-topk", top_k, most)
    top_p = getattr(args, "sampling_topp", -1.0)
    require(top_p == -1 or 0 < top_p <= 1, "--sampling-topp", top_p, "above 0 and at most 1, or -1 for all words")
    groups = getattr(args, "diverse_beam_groups", -1)
    require(groups < 1 or beam % groups == 0, "--diverse-beam-groups", groups, f"a divisor of --beam, {beam}")
    prefix = getattr(args, "prefix_size", 0)
    require(prefix >= 0, "--prefix-size", prefix, "0 or more")
    for option in ("--retain-iter-history", "--print-step"):
        if getattr(args, option[2:].replace("-", "_"), False):
            raise ValueError(f"{option} is for models that refine an output again and again: leave it out")
    # fairseq-interactive prints all alignments as if they were hard ones; fairseq-generate knows both.
    if getattr(args, "print_alignment", None) == "soft" and command() == "fairseq-interactive":
        raise ValueError("--print-alignment soft: fairseq-interactive prints hard ones only; use fairseq-generate")
