"""fairseq's commands as child processes that end with us and whose errors are shown."""

import os
import re
import signal
import subprocess
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Callable, Optional

from wfe_plugin.errors import UserError

OUT_OF_MEMORY = ": is there enough memory?"
ROOT = Path(os.path.abspath(__file__)).parents[2]  # what wfe_plugin is imported from


def user_dir() -> str:
    """For fairseq's --user-dir. Symbolic links stay: fairseq compares it with the package's own `__path__`."""
    return str(ROOT / "wfe_plugin")


def run(
    command: Sequence[str],
    name: str,
    on_line: Callable[[str], None],
    threads: Optional[int] = None,
    inherit: Sequence[int] = (),
) -> None:
    """Run a command to its end, handing each line of its output to `on_line`.

    However this function is left, the child has ended. `inherit` are file
    descriptors that stay open in the child.
    """
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"}
    if threads:
        environment["OMP_NUM_THREADS"] = str(threads)
    last_lines = deque(maxlen=100)
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        encoding="utf-8",
        errors="replace",
        pass_fds=inherit,
    ) as child:
        try:
            for line in child.stdout:
                last_lines.append(line)
                on_line(line.rstrip("\n"))
        except BaseException:
            child.terminate()
            raise
    if child.returncode:
        raise UserError(failure(name, child.returncode, "".join(last_lines)))


def failure(name: str, status: int, output: str) -> str:
    """What a failed command has said: in one line if there is one that is meant for users, else its last lines."""
    lines = output.rstrip().splitlines()
    how = f"was ended by signal {-status}" if status < 0 else f"failed (exit status {status})"
    if status == -signal.SIGKILL:  # of which it could not say anything
        return f"{name} {how}{OUT_OF_MEMORY}"
    meant = [line for line in lines if re.match(r"fairseq-\w+: error: ", line)]  # torchrun goes on after it
    if meant:
        return f"{name} {how}: {meant[-1].split(': error: ', 1)[1]}"
    ended = re.findall(r"Signal (\d+) \(SIG\w+\) received by PID", output)  # torchrun names the first one last
    if ended:
        why = OUT_OF_MEMORY if ended[-1] == "9" else ""
        return f"{name} {how}: one of its processes was ended by signal {ended[-1]}{why}"
    system = re.fullmatch(r"\w+Error: \[Errno \d+\] ([^:]+)(?:: '(.*)')?", lines[-1]) if lines else None
    if system:
        where = f"{system[2]}: " if system[2] else ""
        return f"{name} {how}: {where}{system[1]}"
    return "\n".join([f"{name} {how}:", *lines[-15:]])
