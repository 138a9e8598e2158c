"""How train.sh trains: the options of fairseq-train that each preset stands for."""

from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Phase:
    """Some epochs with one optimizer."""

    options: tuple[str, ...]
    last_epoch: Optional[int] = None  # None: to the end


@dataclass(frozen=True)
class Preset:
    """A model and how it is trained."""

    description: str
    batch_size: int  # pairs in an update, over all processes together
    epochs: int
    patience: int  # epochs without a better validation score before training stops
    options: tuple[str, ...]
    phases: tuple[Phase, ...]
    takes_wfe: bool = True  # whether its model can have a WFE sub-model
    trains_further: bool = False  # a trained model, which says what the options of the model are
    best_by: str = "nll"  # which score of validation chooses and stops, unless train.sh is told otherwise

    def wfe_options(self, estimator: Optional[str]) -> list[str]:
        """What tells the model which WFE sub-model it is to have, or (None) that it has none."""
        if not self.takes_wfe:
            return []
        return ["--wfe-estimator", estimator] if estimator else ["--without-wfe"]

    def phase(self, epoch: int) -> Phase:
        """The phase that an epoch (from 1) belongs to."""
        return next(phase for phase in self.phases if phase.last_epoch is None or epoch <= phase.last_epoch)


def _sizes(embedding: int, hidden: int, layers: int) -> list[str]:
    return [
        option
        for side in ("encoder", "decoder")
        for name, value in (("embed-dim", embedding), ("hidden-size", hidden), ("layers", layers))
        for option in (f"--{side}-{name}", str(value))
    ]


# Half the learning rate after each epoch without a better validation score.
_HALVING = ("--lr-scheduler", "reduce_lr_on_plateau", "--lr-shrink", "0.5", "--lr-patience", "0")
# As Transformers are trained, with a shorter start, since small data have few updates.
_WARMING_UP = ("--adam-betas", "(0.9, 0.98)", "--lr-scheduler", "inverse_sqrt", "--warmup-updates", "500")


def _small(description: str, architecture: str, learning_rate: str, *more: str, takes_wfe: bool = False) -> Preset:
    """Another system with the sizes and the training of the preset `small`, as far as they apply."""
    return Preset(
        description=f"{description}, for a CPU or one GPU and some ten thousand pairs; Adam",
        batch_size=32,
        epochs=12,
        patience=3,
        options=("--arch", architecture),
        phases=(Phase(("--optimizer", "adam", "--lr", learning_rate, "--clip-norm", "5", *more)),),
        takes_wfe=takes_wfe,
    )


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
    "transformer-small": _small(
        "a Transformer with two layers, D=128, 4 heads", "wfe_transformer_small", "0.003", *_WARMING_UP, takes_wfe=True
    ),
    "fconv-small": _small("convolutions, three layers of 128", "wfe_fconv_small", "0.003", takes_wfe=True),
    # The other systems of the paper's Table 3. What their own papers leave open is ours: see their models.
    "abs": Preset(
        description="ABS of Rush et al. (2015), sizes and SGD as there",
        batch_size=64,
        epochs=15,
        patience=3,
        # Theirs is a mean over words.
        options=("--arch", "abs", "--average-over", "tokens"),
        phases=(Phase(("--optimizer", "sgd", "--lr", "0.05", *_HALVING)),),
        takes_wfe=False,
    ),
    "ras-lstm": Preset(
        description="RAS-LSTM of Chopra et al. (2016): H=512, SGD",
        batch_size=32,
        epochs=15,
        patience=3,
        options=("--arch", "ras_lstm"),
        phases=(Phase(("--optimizer", "sgd", "--lr", "0.1", "--clip-norm", "10", *_HALVING)),),
        takes_wfe=False,
    ),
    "ras-elman": Preset(
        description="RAS-Elman of Chopra et al. (2016): H=512, SGD",
        batch_size=32,
        epochs=15,
        patience=3,
        options=("--arch", "ras_elman"),
        phases=(Phase(("--optimizer", "sgd", "--lr", "0.1", "--clip-norm", "10", *_HALVING)),),
        takes_wfe=False,
    ),
    # Nallapati et al. name a learning rate of 0.001. In torch it multiplies Adadelta's own step sizes,
    # which would be a thousandth of what they are in the method's paper.
    "lvt5k": Preset(
        description="words-lvt5k-1sent of Nallapati et al. (2016), sizes and Adadelta as there",
        batch_size=50,
        epochs=15,
        patience=3,
        options=("--arch", "lvt5k"),
        phases=(Phase(("--optimizer", "adadelta", "--adadelta-rho", "0.95", "--lr", "1", "--clip-norm", "10")),),
        takes_wfe=False,
    ),
    "abs-small": _small("ABS with H=160, D=128", "abs_small", "0.002"),
    "ras-lstm-small": _small("RAS-LSTM with H=160", "ras_lstm_small", "0.002"),
    "ras-elman-small": _small("RAS-Elman with H=160", "ras_elman_small", "0.002"),
    "lvt2k-small": _small("words-lvt2k-1sent with H=160, D=128", "lvt2k_small", "0.002"),
    "mrt": Preset(
        description="minimum risk training, of a model of any size that --from names: Adam",
        batch_size=32,
        epochs=3,
        patience=1,
        options=("--criterion", "mrt"),
        phases=(Phase(("--optimizer", "adam", "--lr", "0.0002", "--clip-norm", "5")),),
        trains_further=True,
        best_by="risk",
    ),
}
