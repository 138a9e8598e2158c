"""fairseq's own option for TensorBoard, through wfe-train: an event file is read back."""

import struct

from tensorboardX.proto.event_pb2 import Event

from helpers.tiny_training import TINY, options
from wfe_plugin.cli import train


def events(path):
    """The records of an event file: length, its check sum, content, its check sum."""
    content = path.read_bytes()
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        yield Event.FromString(content[12 : 12 + length])
        content = content[16 + length :]


def test_losses_are_in_the_event_files(data, tmp_path):
    board = ["--tensorboard-logdir", str(tmp_path / "board")]
    arguments = options(data, tmp_path / "model", "--baseline", "--epochs", "1", preset="small")
    assert train.main([*arguments, "--", "--cpu", *TINY, *board]) == 0
    (path,) = (tmp_path / "board" / "valid").glob("events.out.tfevents.*")
    values = {value.tag: value.simple_value for event in events(path) for value in event.summary.value}
    assert values["nll_loss"] > 0
    assert any((tmp_path / "board" / "train_inner").glob("events.out.tfevents.*"))
