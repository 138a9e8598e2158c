"""How train.sh trains: the options of fairseq-train that each preset stands for."""

from dataclasses import dataclass
from typing import List, Optional, Tuple


@dataclass(frozen=True)
class Phase:
    """Some epochs with one optimizer."""

    options: Tuple[str, ...]
    last_epoch: Optional[int] = None  # None: to the end


@dataclass(frozen=True)
class Preset:
    """A model and how it is trained."""

    description: str
    batch_size: int  # pairs in an update, over all processes together
    epochs: int
    patience: int  # epochs without a better validation score before training stops
    options: Tuple[str, ...]
    phases: Tuple[Phase, ...]

    def phase(self, epoch: int) -> Phase:
        """The phase that an epoch (from 1) belongs to."""
        return next(phase for phase in self.phases if phase.last_epoch is None or epoch <= phase.last_epoch)


def _sizes(embedding: int, hidden: int, layers: int) -> List[str]:
    return [
        option
        for side in ("encoder", "decoder")
        for name, value in (("embed-dim", embedding), ("hidden-size", hidden), ("layers", layers))
        for option in (f"--{side}-{name}", str(value))
    ]


PRESETS = {
    # Table 1 of the paper. It leaves the patience open; three epochs are ours.
    "paper": Preset(
        description="Table 1 of the paper: five epochs of Adam, then SGD; needs a GPU for a large data set",
        batch_size=256,
        epochs=15,
        patience=3,
        options=("--arch", "wfe_lstm", "--dropout", "0.3", *_sizes(embedding=200, hidden=400, layers=2)),
        phases=(
            Phase(("--optimizer", "torch_adam", "--lr", "0.001", "--clip-norm", "10"), last_epoch=5),
            Phase(("--optimizer", "sgd", "--lr", "0.01", "--clip-norm", "5")),
        ),
    ),
    "small": Preset(
        description="for a CPU or one GPU and some ten thousand pairs: one layer, H=160, D=128, Adam",
        batch_size=32,
        epochs=12,
        patience=3,
        options=("--arch", "wfe_lstm", "--dropout", "0.3", *_sizes(embedding=128, hidden=160, layers=1)),
        phases=(Phase(("--optimizer", "adam", "--lr", "0.002", "--clip-norm", "5")),),
    ),
}
