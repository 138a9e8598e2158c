"""Running commands of the plugin, several at once, with their output in log files."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import wfe_plugin
from wfe_plugin.errors import UserError
from wfe_plugin.whole_files import named

POLL_SECONDS = 0.5
PATIENCE_SECONDS = 20  # for a process that was asked to end


ROOT = Path(wfe_plugin.__file__).resolve().parent.parent  # what wfe_plugin is imported from
MODULES = {
    "wfe-preprocess": "wfe_plugin.cli.preprocess",
    "wfe-train": "wfe_plugin.cli.train",
    "worker": "wfe_plugin.experiment.worker",
}
# Not "python -m": that would import from the user's working directory before anything else.
START = (
    "import sys; sys.path[0] = sys.argv.pop(1); module = sys.argv.pop(1)\n"
    "from importlib import import_module; sys.exit(import_module(module).main())"
)


@dataclass(frozen=True)
class Command:
    """A command and the file that its output is added to."""

    name: str  # for people
    arguments: Sequence[str]  # as one would type it; the first is one of MODULES
    log: Path


def executable(name: str) -> list[str]:
    """How to start a command with the Python that is running, installed or not."""
    return [sys.executable, "-c", START, str(ROOT), MODULES[name]]


def as_text(arguments: Sequence[str]) -> str:
    """A command as one would type it."""
    return shlex.join(map(str, arguments))


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads_each(at_once: int, commands: int) -> int:
    """How many threads each command may have, so that those at once share the cores."""
    return max(1, cores() // max(1, min(at_once, commands)))


def run_all(
    commands: Sequence[Command],
    at_once: int = 1,
    finished: Callable[[Command, float], None] = lambda command, seconds: None,
    watch: Callable[[Command], None] = lambda command: None,
) -> None:
    """Run commands, some at once; `watch` is called again and again while one runs.

    The first that fails stops all, as does an interruption.
    """
    waiting = list(commands)
    running: dict[subprocess.Popen, tuple[Command, float]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                command = waiting.pop(0)
                running[start(command)] = command, time.monotonic()
            for process, (command, begun) in list(running.items()):
                status = process.poll()
                watch(command)
                if status is None:
                    continue
                del running[process]
                if status != 0:
                    raise UserError(failure(command, status))
                finished(command, time.monotonic() - begun)
            if running:
                time.sleep(POLL_SECONDS)
    finally:
        stop(list(running))


def start(command: Command) -> subprocess.Popen:
    command.log.parent.mkdir(parents=True, exist_ok=True)
    with named(command.log), open(command.log, "a", encoding="utf-8") as log:
        log.write(f"$ {as_text(command.arguments)}\n")
        log.flush()
        try:
            return subprocess.Popen(
                [*executable(command.arguments[0]), *map(str, command.arguments[1:])],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                # A group of its own, so that what a command started ends with it.
                start_new_session=True,
                close_fds=False,  # it holds the experiment's directory with us, see lock.py
            )
        except OSError as error:
            raise UserError(f"{command.arguments[0]}: cannot run ({error.strerror})") from None


def last_output(log: Path) -> str:
    """What the last command of a log has said so far."""
    text = "\n" + log.read_text(encoding="utf-8", errors="replace")
    return text.rpartition("\n$ ")[2].partition("\n")[2]


def failure(command: Command, status: int) -> str:
    said = "\n".join("  " + line for line in last_output(command.log).splitlines()[-15:])
    how = f"was ended by signal {-status}" if status < 0 else f"failed with status {status}"
    return f"{command.name} {how}; the end of {command.log}:\n{said}"


def stop(processes: Sequence[subprocess.Popen]) -> None:
    """Ask processes and what they started to end, and do not wait for ever."""
    for process in processes:
        signal_group(process, signal.SIGTERM)
    deadline = time.monotonic() + PATIENCE_SECONDS
    for process in processes:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            signal_group(process, signal.SIGKILL)
            process.wait()


def signal_group(process: subprocess.Popen, number: int) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass  # it has just ended by itself
