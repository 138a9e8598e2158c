"""What the pipelines read from fairseq's checkpoints."""

import argparse
import hashlib
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from fairseq import checkpoint_utils

import wfe_plugin
from wfe_plugin.errors import UserError

BEST = "checkpoint_best.pt"
WEIGHTS = "weights:"  # how a digest of weights begins


class Epoch(NamedTuple):
    """A finished epoch whose checkpoint is there."""

    number: int
    path: Path
    score: float  # of validation; less is better
    clock: float  # fairseq's, in seconds: see `clock`


def load(path, for_fairseq: bool = False) -> dict:
    """A checkpoint as fairseq wrote it, on the CPU; or as its `load_model_ensemble` wants it."""
    wfe_plugin.register()  # lets torch load fairseq's checkpoints
    from wfe_plugin.fairseq_fixes import checkpoint_options, safe_loading

    try:
        refuse_changed_bytes(path)
        state = (
            checkpoint_utils.load_checkpoint_to_cpu(str(path)) if for_fairseq else torch.load(path, map_location="cpu")
        )
    except UserError:
        raise
    except Exception as error:  # the unpickler, the zip reader and torch have each their own
        raise UserError(f"{path}: not a checkpoint that can be loaded: {safe_loading.reason(error)}") from None
    known = isinstance(state, dict) and isinstance(state.get("cfg"), Mapping) and isinstance(state.get("model"), dict)
    if not known:
        raise UserError(f"{path}: holds no model of fairseq 0.12 (no 'model' or no 'cfg' in it)")
    checkpoint_options.check_options(state, path)
    return state


def refuse_changed_bytes(path) -> None:
    """torch does not look at the check sums that it writes, and would load damaged weights."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if archive.testzip() is not None:
                raise zipfile.BadZipFile


def finished_epochs(directory: Path) -> list[Epoch]:
    """The epochs of a training whose checkpoints are there, in order.

    The best one may be left under that name alone.
    """
    epochs = {}
    for path in sorted(directory.glob("checkpoint*.pt")):
        if not re.fullmatch(r"checkpoint(\d+|_best)\.pt", path.name):
            continue
        try:
            epoch = read_epoch(path)
        except UserError as error:
            if path.name == BEST:  # which is written anew in the end
                continue
            raise UserError(f"{error}. Remove this file, and the training continues from the others") from None
        epochs.setdefault(epoch.number, epoch)
    return [epochs[number] for number in sorted(epochs)]


def read_epoch(path: Path) -> Epoch:
    checkpoint = load(path)
    state = checkpoint.get("extra_state") or {}
    try:
        following = state["train_iterator"]["epoch"]
        return Epoch(int(following) - 1, path, float(state["val_loss"]), clock(checkpoint))
    except (KeyError, TypeError, ValueError):
        raise UserError(f"{path}: has no epoch or no validation score: was it made by wfe-train?") from None


def clock(checkpoint: dict) -> float:
    """Seconds that the model has been trained, with what it was trained before this training; 0 if not told."""
    return float((checkpoint.get("extra_state") or {}).get("previous_training_time", 0))


def weights_digest(checkpoint: dict) -> str:
    """Fingerprint of the weights and nothing else."""
    digest = hashlib.sha256()
    for name, value in sorted(checkpoint["model"].items()):
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
        digest.update(value.detach().contiguous().reshape(-1).view(torch.uint8).numpy())
    return WEIGHTS + digest.hexdigest()


def model_option(checkpoint: dict, name: str):
    """An option of the model, or None; models without a dataclass keep theirs in a Namespace."""
    options = checkpoint["cfg"]["model"]
    return getattr(options, name, None) if isinstance(options, argparse.Namespace) else options.get(name)


def set_model_option(checkpoint: dict, name: str, value) -> None:
    options = checkpoint["cfg"]["model"]
    if isinstance(options, argparse.Namespace):
        setattr(options, name, value)
    else:
        options[name] = value


def has_wfe(checkpoint: dict) -> bool:
    """Whether the model estimates word frequencies."""
    return any(name.startswith("wfe_head.") for name in checkpoint["model"])


def has_positions(checkpoint: dict) -> bool:
    """Whether the model has a table of as many positions as its options say: then they must stay.

    So it is with fairseq's own models, whose options are no dataclass, and with none of ours.
    """
    return isinstance(checkpoint["cfg"].get("model"), argparse.Namespace)
