"""The options of fairseq-train that each preset of wfe-train stands for."""

from dataclasses import dataclass
from typing import Optional

# The estimators by name, the default first; models/ has what they are.
ESTIMATORS = ("votes", "paper", "literal")
# Those that are trained together with the model and decode by Equation 4 as it is.
JOINT_ESTIMATORS = ("paper", "literal")


@dataclass(frozen=True)
class Stage:
    """Some epochs with one optimizer."""

    options: tuple[str, ...]
    last_epoch: Optional[int] = None  # None: to the end


def _adam(learning_rate: str, clip_norm: str = "5", *more: str, last_epoch: Optional[int] = None) -> Stage:
    """torch's fused Adam: fairseq's own takes 0.25 s per update at the paper's sizes, this one 0.05."""
    return Stage(("--optimizer", "torch_adam", "--lr", learning_rate, "--clip-norm", clip_norm, *more), last_epoch)


# An estimate is finished after few epochs: each has a smaller learning rate than the one before.
_FALLING = ("--lr-scheduler", "fixed", "--force-anneal", "2", "--lr-shrink", "0.6")


@dataclass(frozen=True)
class Preset:
    """A model and how it is trained."""

    description: str
    batch_size: int  # pairs per update, over all processes together
    epochs: int
    patience: int  # epochs without a better validation score before training stops
    options: tuple[str, ...]
    stages: tuple[Stage, ...]
    takes_wfe: bool = True  # whether its model can have an estimate
    trains_further: bool = False  # a trained model, which says what the options of the model are
    best_by: str = "nll"  # the validation score that chooses and stops, unless --best-by names another
    # How an estimate is trained on top of a finished model.
    estimate: Stage = _adam("0.002", "0.15", *_FALLING)
    estimate_epochs: int = 5
    estimate_patience: int = 2

    @property
    def can_copy(self) -> bool:
        """Whether its model can copy words of the source."""
        return "wfe_lstm" in self.options

    def wfe_options(self, estimator: Optional[str]) -> list[str]:
        """Which estimator the model has; None: it has none."""
        if not self.takes_wfe:
            return []
        return ["--wfe-estimator", estimator] if estimator else ["--without-wfe"]

    def stage(self, epoch: int) -> Stage:
        """The stage that an epoch (from 1) belongs to."""
        return next(stage for stage in self.stages if stage.last_epoch is None or epoch <= stage.last_epoch)


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
        description=f"{description}; otherwise as small",
        batch_size=32,
        epochs=12,
        patience=3,
        options=("--arch", architecture),
        stages=(_adam(learning_rate, "5", *more),),
        takes_wfe=takes_wfe,
    )


PRESETS = {
    # Table 1 of the paper. It leaves the patience open; three epochs are ours.
    "paper": Preset(
        description="Table 1 of the paper, for a GPU and millions of pairs: five epochs of Adam, then SGD",
        batch_size=256,
        epochs=15,
        patience=3,
        options=("--arch", "wfe_lstm", "--dropout", "0.3", *_sizes(embedding=200, hidden=400, layers=2)),
        stages=(
            _adam("0.001", "10", last_epoch=5),
            Stage(("--optimizer", "sgd", "--lr", "0.01", "--clip-norm", "5")),
        ),
        estimate=_adam("0.001", "0.15", *_FALLING),
        estimate_epochs=2,
        estimate_patience=1,
    ),
    "medium": Preset(
        description="for one GPU or a patient CPU and 50,000 to a million pairs: two layers, H=320, D=256, Adam",
        batch_size=64,
        epochs=8,
        patience=2,
        options=("--arch", "wfe_lstm", "--dropout", "0.2", *_sizes(embedding=256, hidden=320, layers=2)),
        stages=(_adam("0.001", "5", *_HALVING),),
        estimate=_adam("0.001", "0.15", *_FALLING),
        estimate_epochs=3,
        estimate_patience=1,
    ),
    "small": Preset(
        description="for a CPU or one GPU and up to 50,000 pairs: one layer, H=160, D=128, Adam",
        batch_size=32,
        epochs=12,
        patience=3,
        options=("--arch", "wfe_lstm", "--dropout", "0.3", *_sizes(embedding=128, hidden=160, layers=1)),
        stages=(_adam("0.002", "5", *_HALVING),),
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
        stages=(Stage(("--optimizer", "sgd", "--lr", "0.05", *_HALVING)),),
        takes_wfe=False,
    ),
    "ras-lstm": Preset(
        description="RAS-LSTM of Chopra et al. (2016): H=512, SGD",
        batch_size=32,
        epochs=15,
        patience=3,
        options=("--arch", "ras_lstm"),
        stages=(Stage(("--optimizer", "sgd", "--lr", "0.1", "--clip-norm", "10", *_HALVING)),),
        takes_wfe=False,
    ),
    "ras-elman": Preset(
        description="RAS-Elman of Chopra et al. (2016): H=512, SGD",
        batch_size=32,
        epochs=15,
        patience=3,
        options=("--arch", "ras_elman"),
        stages=(Stage(("--optimizer", "sgd", "--lr", "0.1", "--clip-norm", "10", *_HALVING)),),
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
        stages=(Stage(("--optimizer", "adadelta", "--adadelta-rho", "0.95", "--lr", "1", "--clip-norm", "10")),),
        takes_wfe=False,
    ),
    "abs-small": _small("ABS with H=160, D=128", "abs_small", "0.002"),
    "ras-lstm-small": _small("RAS-LSTM with H=160", "ras_lstm_small", "0.002"),
    "ras-elman-small": _small("RAS-Elman with H=160", "ras_elman_small", "0.002"),
    "lvt2k-small": _small("words-lvt2k-1sent with H=160, D=128", "lvt2k_small", "0.002"),
    "mrt": Preset(
        description="minimum risk training of the model that --from names, of any size; Adam",
        batch_size=32,
        epochs=3,
        patience=1,
        options=("--criterion", "mrt"),
        stages=(_adam("0.0002"),),
        trains_further=True,
        best_by="risk",
    ),
}

# Without --preset, the first one whose limit is above the number of training pairs.
LIMITS = {"small": 50_000, "medium": 1_000_000}


def preset_for(pairs: int) -> str:
    """The preset for a training set of that size."""
    return next((name for name, limit in LIMITS.items() if pairs < limit), "paper")
