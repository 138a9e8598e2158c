"""What a calibration is for."""

import re

from wfe_plugin.errors import UserError
from wfe_plugin.evaluation.rouge_protocol import Protocol


def protocol_of(name: str) -> Protocol:
    """`f1`, or `recall-N`: recall within the first N bytes."""
    match = re.fullmatch(r"f1|recall-([1-9]\d*)", name)
    if not match:
        raise UserError(f"protocol {name!r}: choose f1, or recall-N for recall within N bytes, such as recall-75")
    if match[1]:
        return Protocol(name, f"recall at {match[1]} bytes", "recall", int(match[1]))
    return Protocol(name, "full-length F1", "f1", None)
