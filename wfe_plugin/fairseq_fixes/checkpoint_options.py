"""Checkpoints whose options hold code are refused.

fairseq calls `eval` on some options when it builds a task or a model, for example on the layers of
`fconv` and the attention of `lstm`. With a checkpoint, they come from wherever the file does. They are
checked where it is loaded: before the task, which a checkpoint may name as well, and the model are built.
"""

import argparse
from collections.abc import Iterator, Mapping

from fairseq import checkpoint_utils
from omegaconf import DictConfig, OmegaConf

from wfe_plugin.errors import UserError
from wfe_plugin.fairseq_fixes.literals import read_literal
from wfe_plugin.fairseq_fixes.safe_loading import reason

# All options that fairseq evaluates; a test looks for others in its source.
EVALUATED = frozenset(
    """
    adafactor_eps adam_betas adamax_betas adaptive_input_cutoff adaptive_softmax_cutoff character_filters
    conv_aggregator_layers conv_feature_layers decoder_attention decoder_layers downsample encoder_attention
    encoder_layers feature_encoder_spec gated_attention lamb_betas left_pad_source left_pad_target
    override_encoder_layers pipeline_balance pipeline_decoder_balance pipeline_decoder_devices pipeline_devices
    pipeline_encoder_balance pipeline_encoder_devices pretrained project_input self_attention wer_args
    xformers_att_config encoder_xformers_att_config decoder_xformers_att_config
    """.split()
)

_load = checkpoint_utils.load_checkpoint_to_cpu


def refuse_code_in_checkpoints() -> None:
    """From here on, for all that fairseq loads."""
    checkpoint_utils.load_checkpoint_to_cpu = load_checkpoint_to_cpu


def load_checkpoint_to_cpu(path, *args, **kwargs):
    """In the place of fairseq's."""
    try:
        state = _load(path, *args, **kwargs)
    except Exception as error:  # the unpickler, the zip reader and torch have each their own
        raise UserError(f"{path}: the checkpoint cannot be loaded: {reason(error)}") from error
    check_options(state, path)
    return state


def check_options(state: Mapping, path) -> None:
    """Raise UserError if fairseq would run one of the options in a checkpoint."""
    for part in ("args", "cfg"):
        for name, value in options_in(state.get(part)):
            if name in EVALUATED and isinstance(value, str):
                try:
                    read_literal(value)
                except ValueError as error:
                    raise UserError(f"{path}: refused, nothing was run: its option {name} {error}") from None


def options_in(section) -> Iterator[tuple[str, object]]:
    """Names and values, however deep."""
    if isinstance(section, DictConfig):
        section = OmegaConf.to_container(section)
    if isinstance(section, argparse.Namespace):
        section = vars(section)
    if isinstance(section, Mapping):
        for name, value in section.items():
            yield name, value
            yield from options_in(value)
