"""Training for so many minutes, in whole epochs: wfe-train --minutes."""

from functools import wraps
from typing import Callable, NamedTuple, Optional


class TimeLimit(NamedTuple):
    """What a training may take. An epoch that would not end in time is not begun, but for the first.

    fairseq's clock also counts what the model was trained before this training began: `before`.
    """

    seconds: Optional[float]  # None: as long as it likes
    before: float = 0.0

    def is_reached(self, clock: float, epochs: int) -> bool:
        """Whether another epoch, as long as those so far were on average, would be too much."""
        if self.seconds is None or not epochs:
            return False
        return (clock - self.before) * (epochs + 1) / epochs > self.seconds


def stops_at(limit: TimeLimit, validate_and_save: Callable) -> Callable:
    """fairseq-train's function of that name, which says whether training is to stop, with a limit."""

    @wraps(validate_and_save)
    def limited(cfg, trainer, task, epoch_itr, valid_subsets, end_of_epoch):
        losses, stop = validate_and_save(cfg, trainer, task, epoch_itr, valid_subsets, end_of_epoch)
        if end_of_epoch:
            stop = stop or limit.is_reached(trainer.cumulative_training_time(), epoch_itr.epoch)
        return losses, stop

    return limited
