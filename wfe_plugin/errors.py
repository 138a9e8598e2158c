"""The one kind of error that is meant for users, and how it speaks of options."""

from collections.abc import Mapping


class UserError(ValueError, RuntimeError):
    """A mistake that the user can repair: the message says what is wrong and what to do.

    Raised where the mistake is known. Commands show it as one line; every other exception
    is a bug and keeps its traceback. (A RuntimeError as well: for all others that leave an
    epoch, fairseq-train writes a crash.pt as large as a checkpoint.)
    """


def option_of(name: str) -> str:
    """As the user writes it."""
    return "--" + name.replace("_", "-")


def check_ranges(options, ranges: Mapping[str, str]) -> None:
    """Raise UserError if an option is outside of its interval, infinite or not a number; None is always allowed.

    Args:
        options: holds the options as attributes
        ranges: intervals by name, for example `{"dropout": "[0, 1)", "layers": "[1, inf)"}`
    """
    for name, interval in ranges.items():
        value = getattr(options, name)
        least, most = map(float, interval[1:-1].split(","))
        above = value is None or (value >= least if interval[0] == "[" else value > least)
        below = value is None or (value <= most if interval[-1] == "]" else value < most)
        if not (above and below):
            raise UserError(f"{option_of(name)} is {value}; it must be {in_words(interval)}")


def in_words(interval: str) -> str:
    least, most = interval[1:-1].split(", ")
    if most == "inf":
        return f"{least} or more" if interval[0] == "[" else f"more than {least}"
    return f"from {least} to {most}" if interval[0] == "[" and interval[-1] == "]" else f"in {interval}"
