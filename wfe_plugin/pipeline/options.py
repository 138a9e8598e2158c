"""What the command lines of the top-level scripts have in common."""

from collections.abc import Sequence

from wfe_plugin.errors import UserError

SHORT_FORMS = {"-s": "--source-lang", "-t": "--target-lang"}  # of fairseq's options; a value may follow at once


def positive(text: str) -> int:
    """For argparse: a whole number from 1."""
    value = int(text)
    if value < 1:
        raise ValueError
    return value


positive.__name__ = "positive number"  # what argparse calls it in its message


def positive_number(text: str) -> float:
    """For argparse: a number above 0, whole or not."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError
    return value


positive_number.__name__ = "positive number"


def seed(text: str) -> int:
    """For argparse: a seed that numpy takes, also with an epoch's number added."""
    value = int(text)
    if not 0 <= value < 2**31:
        raise ValueError
    return value


# Of fairseq's options, those that our scripts have under another name.
OWN_NAMES = {
    "--max-epoch": "--epochs",
    "--stop-time-hours": "--minutes",
    "--without-wfe": "--baseline",
    "--wfe-estimator": "--estimator",
    "--wfe-decoding": "--decoding",
    "--gen-subset": "--split",
}


def split_options(argv: list[str]) -> tuple[list[str], list[str]]:
    """Our options, and those after "--", which belong to the fairseq command."""
    if "--" not in argv:
        return argv, []
    cut = argv.index("--")
    return argv[:cut], argv[cut + 1 :]


def refuse_managed(extra: Sequence[str], managed: Sequence[str], script: str) -> None:
    """Refuse fairseq options that would pull the rug from under `script`."""
    for word in extra:
        name = word.split("=")[0]
        if SHORT_FORMS.get(word[:2]) in managed:
            name = SHORT_FORMS[word[:2]]
        # fairseq accepts abbreviations: "--max-ep" is "--max-epoch".
        if name in managed or len(name) > 4 and any(option.startswith(name) for option in managed):
            own = next((OWN_NAMES[option] for option in OWN_NAMES if option.startswith(name)), None)
            instead = f"give it {own}, before --" if own else f"see {script} --help"
            raise UserError(f"{name} after --: {script} sets this itself; {instead}")
