"""Values of fairseq's options of generation that could only fail later, or be ignored."""

import math


def refuse_impossible_values(args) -> None:
    """Raise if *args*, which may lack any of them, hold such a value."""
    beam = getattr(args, "beam", 5)
    require("--beam", beam, beam >= 1, "1 or more")
    nbest = getattr(args, "nbest", 1)
    require("--nbest", nbest, 1 <= nbest <= beam, f"from 1 to --beam, {beam}")
    for option, default in (("--lenpen", 1.0), ("--unkpen", 0.0)):
        value = getattr(args, option[2:], default)
        require(option, value, math.isfinite(value), "a finite number")
    top_k = getattr(args, "sampling_topk", -1)
    require("--sampling-topk", top_k, top_k == -1 or top_k >= 1, "1 or more, or -1 for all words")
    top_p = getattr(args, "sampling_topp", -1.0)
    require("--sampling-topp", top_p, top_p == -1 or 0 < top_p <= 1, "above 0 and at most 1, or -1 for all words")
    groups = getattr(args, "diverse_beam_groups", -1)
    require("--diverse-beam-groups", groups, groups < 1 or beam % groups == 0, f"a divisor of --beam, {beam}")
    prefix = getattr(args, "prefix_size", 0)
    require("--prefix-size", prefix, prefix >= 0, "0 or more")


def require(option: str, value, holds: bool, allowed: str) -> None:
    if not holds:
        raise ValueError(f"{option} is {value}; it must be {allowed}")
