"""Options of training that make no sense, each refused by the dataclass that holds it. (Of decoding: generation/.)"""

import math
from argparse import Namespace

import pytest

from wfe_plugin.criterions.mrt import MRTConfig
from wfe_plugin.criterions.nll_unlikelihood import NLLWithUnlikelihoodConfig
from wfe_plugin.criterions.nll_wfe import NLLWithWFEConfig
from wfe_plugin.errors import UserError, check_ranges, option_of
from wfe_plugin.models.table3.abs import ABSConfig
from wfe_plugin.models.table3.lvt import LVTConfig
from wfe_plugin.models.table3.ras import RASConfig
from wfe_plugin.models.wfe_lstm import WFELSTMConfig
from wfe_plugin.models.wfe_model import WFEConfig

CASES = [
    (WFEConfig, dict(wfe_estimator="none"), "choose one of paper, "),
    (WFEConfig, dict(without_wfe=True, wfe_only=True), "--without-wfe and --wfe-only"),
    (WFEConfig, dict(without_wfe=True, wfe_detached=True), "--without-wfe and --wfe-detached"),
    (WFEConfig, dict(without_wfe=True, wfe_new_head=True), "--without-wfe and --wfe-new-head"),
    (WFELSTMConfig, dict(without_wfe=True, wfe_only=True), "--without-wfe and --wfe-only"),
    (WFELSTMConfig, dict(dropout=1.0), "--dropout is 1.0; it must be in [0, 1)"),
    (WFELSTMConfig, dict(dropout=math.nan), "--dropout is nan"),
    *(
        (WFELSTMConfig, {name: 0}, f"{option_of(name)} is 0; it must be 1 or more")
        for name in ("encoder_embed_dim", "encoder_hidden_size", "encoder_layers")
    ),
    *(
        (WFELSTMConfig, {name: -1}, f"{option_of(name)} is -1; it must be 1 or more")
        for name in ("decoder_embed_dim", "decoder_hidden_size", "decoder_layers")
    ),
    (ABSConfig, dict(dropout=-0.1), "--dropout is -0.1"),
    (ABSConfig, dict(context_size=0), "--context-size is 0; it must be 1 or more"),
    (ABSConfig, dict(smoothing_window=-1), "--smoothing-window is -1; it must be 0 or more"),
    (RASConfig, dict(hidden_size=0), "--hidden-size is 0"),
    (RASConfig, dict(kernel_size=4), "--kernel-size is 4; it must be odd"),
    (LVTConfig, dict(restricted_vocabulary=0), "--restricted-vocabulary is 0"),
    *(
        (NLLWithWFEConfig, {name: value}, f"{option_of(name)} is {value}; it must be")
        for name in ("wfe_weight", "wfe_over_cost", "wfe_under_cost", "wfe_epsilon", "wfe_power", "label_smoothing")
        for value in (-1.0, math.nan, math.inf)
    ),
    (NLLWithWFEConfig, dict(wfe_power=0.9), "it must be 1 or more"),
    (NLLWithUnlikelihoodConfig, dict(unlikelihood_weight=-1.0), "--unlikelihood-weight is -1.0; it must be 0 or more"),
    (NLLWithUnlikelihoodConfig, dict(wfe_weight=-1.0), "--wfe-weight is -1.0"),
    (MRTConfig, dict(mrt_size=0), "--mrt-size is 0; it must be 1 or more"),
    (MRTConfig, dict(mrt_alpha=0.0), "--mrt-alpha is 0.0; it must be more than 0"),
    (MRTConfig, dict(mrt_nll_weight=-1.0), "--mrt-nll-weight is -1.0"),
    (MRTConfig, dict(mrt_max_length=0), "--mrt-max-length is 0"),
    (MRTConfig, dict(label_smoothing=1.0), "--label-smoothing is 1.0"),
]


@pytest.mark.parametrize("config, options, said", CASES)
def test_refused(config, options, said):
    with pytest.raises(UserError) as refused:
        config(**options).validate()
    assert said in str(refused.value)


@pytest.mark.parametrize("config", sorted({case[0] for case in CASES}, key=str))
def test_the_defaults_are_accepted(config):
    config().validate()


@pytest.mark.parametrize(
    "interval, inside, outside",
    [
        ("[0, 1)", (0, 0.5, None), (-0.1, 1, math.nan, math.inf)),
        ("(0, inf)", (1e-9, 1e9), (0, -1, math.inf)),
        ("[1, 10]", (1, 10), (0.9, 10.1)),
    ],
)
def test_intervals(interval, inside, outside):
    for value in inside:
        check_ranges(Namespace(x_y=value), {"x_y": interval})
    for value in outside:
        with pytest.raises(UserError, match=f"--x-y is {value}; it must be"):
            check_ranges(Namespace(x_y=value), {"x_y": interval})
