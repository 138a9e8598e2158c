"""What fairseq forgets of a training when it is started again, beside what train_process.py is told."""

from functools import wraps
from typing import Callable

from fairseq.optim.lr_scheduler.reduce_lr_on_plateau import ReduceLROnPlateauLRSchedule


def with_last_score(load_checkpoint: Callable) -> Callable:
    """fairseq's function of that name; the last epoch's score also reaches the schedule of learning rates.

    fairseq writes a checkpoint first, and then shows the score to the schedule. So one that
    halves the rate after a bad epoch would not do so when the training continues from there.
    """

    @wraps(load_checkpoint)
    def loading(cfg, trainer, **kwargs):
        state, epochs = load_checkpoint(cfg, trainer, **kwargs)
        new = cfg.finetune_from_model or cfg.reset_optimizer or cfg.reset_lr_scheduler
        if state is not None and not new:
            trainer.lr_step(epochs.epoch - 1, state["val_loss"])
        return state, epochs

    return loading


def keep_bad_epochs() -> None:
    """With --lr-patience, the rate shrinks after some bad epochs, which fairseq counts but does not save."""
    schedule = ReduceLROnPlateauLRSchedule
    fairseqs_state, fairseqs_load = schedule.state_dict, schedule.load_state_dict

    def state_dict(self) -> dict:
        return {**fairseqs_state(self), "num_bad_epochs": self.lr_scheduler.num_bad_epochs}

    def load_state_dict(self, state: dict) -> None:
        fairseqs_load(self, state)
        self.lr_scheduler.num_bad_epochs = state.get("num_bad_epochs", 0)

    schedule.state_dict, schedule.load_state_dict = state_dict, load_state_dict
