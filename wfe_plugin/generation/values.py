"""Values of fairseq's options of generation that could only fail later, or be ignored."""

import math

from wfe_plugin.option_values import require


def refuse_impossible_values(args) -> None:
    """Raise if *args*, which may lack any of them, hold such a value."""
    beam = getattr(args, "beam", 5)
    require(beam >= 1, "--beam", beam, "1 or more")
    nbest = getattr(args, "nbest", 1)
    require(1 <= nbest <= beam, "--nbest", nbest, f"from 1 to --beam, {beam}")
    for option, default in (("--lenpen", 1.0), ("--unkpen", 0.0)):
        value = getattr(args, option[2:], default)
        require(math.isfinite(value), option, value, "a finite number")
    top_k = getattr(args, "sampling_topk", -1)
    require(top_k == -1 or top_k >= 1, "--sampling-topk", top_k, "1 or more, or -1 for all words")
    top_p = getattr(args, "sampling_topp", -1.0)
    require(top_p == -1 or 0 < top_p <= 1, "--sampling-topp", top_p, "above 0 and at most 1, or -1 for all words")
    groups = getattr(args, "diverse_beam_groups", -1)
    require(groups < 1 or beam % groups == 0, "--diverse-beam-groups", groups, f"a divisor of --beam, {beam}")
    prefix = getattr(args, "prefix_size", 0)
    require(prefix >= 0, "--prefix-size", prefix, "0 or more")
