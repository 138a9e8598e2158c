"""A UserError is shown as one line, also by fairseq's commands.

They know nothing of our errors and would show a traceback. Only in fairseq's own programs: others, and our
commands, show errors in their own way.
"""

import sys
from pathlib import Path
from typing import Optional

from wfe_plugin.errors import UserError


def program() -> Optional[str]:
    """Which of fairseq's commands this is; None in other programs."""
    path = Path(sys.argv[0] if sys.argv else "")
    if path.name.startswith("fairseq-"):
        return path.name
    return f"fairseq-{path.stem}" if path.parent.name == "fairseq_cli" else None


def user_error(error: Optional[BaseException]) -> Optional[UserError]:
    """The error if it is meant for users, or the one that fairseq hides behind a bare Exception of its own."""
    while type(error) is Exception:
        error = error.__cause__ or error.__context__
    return error if isinstance(error, UserError) else None


def show_user_errors() -> None:
    name, before = program(), sys.excepthook
    if name is None:
        return

    def show(kind, error, trace) -> None:
        found = user_error(error)
        if found is None:
            before(kind, error, trace)
        else:
            print(f"{name}: error: {found}", file=sys.stderr)

    sys.excepthook = show
