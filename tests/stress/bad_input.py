"""Everything that a user can get wrong, for every command: each time a clear line, a failure, nothing half-written.

    python tests/stress/bad_input.py [--only PATTERN] [--real] [--verbose]

Commands are the functions of the scripts and of fairseq, each call in a forked process, which
saves loading torch and fairseq some hundred times; what they start are real processes. With
--real, the commands themselves are started. As root, full and read-only disks are mounted,
and unreadable files are tried without root's rights; otherwise these are left out.
"""

import argparse
import ctypes
import importlib
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[0:0] = [str(TESTS), str(TESTS.parent)]

from bad_input_cases import (
    FAIRSEQ,
    MODULES,
    Case,
    checkpoint_cases,
    data_cases,
    output_cases,
    text_cases,
)
from bad_input_options import option_cases
from bad_input_world import clear, make, make_world
from helpers import ROOT
from helpers.tiny_training import script_environment
from wfe_plugin.fairseq_fixes import error_line

MEMORY = 8 * 2**30  # bytes of a process: a case that goes wrong must not take the machine down


# Starting


def give_up_rights() -> None:
    """Root as any other user, here and in what is started from here: modes of files count (Linux)."""
    libc = ctypes.CDLL(None, use_errno=True)
    set_secure_bits, no_root = 28, 0b11
    version, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    if libc.prctl(set_secure_bits, no_root, 0, 0, 0) or libc.capset(version, none):
        raise OSError(ctypes.get_errno(), "cannot give up root's rights")


def call(command: str, arguments: list[str]) -> int:
    """In a process of its own: what the command would do."""
    sys.argv = [command, *arguments]
    try:
        if command in MODULES:
            return importlib.import_module(MODULES[command]).main(arguments) or 0
        sys.excepthook = sys.__excepthook__
        error_line.show_user_errors()
        return importlib.import_module("fairseq_cli." + command.split("-")[1]).cli_main() or 0
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1


def forked(case: Case, log: Path, directory: Path) -> int:
    sys.stdout.flush()
    with open(log, "wb") as output, tempfile.TemporaryFile() as given:
        given.write(case.stdin or b"")
        given.seek(0)
        pid = os.fork()
        if pid == 0:
            status = 99
            try:
                os.dup2(given.fileno(), 0)
                os.dup2(output.fileno(), 1)
                os.dup2(output.fileno(), 2)
                os.chdir(directory)
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
                if case.as_user:
                    give_up_rights()
                sys.stdin = open(0, encoding="utf-8", closefd=False)
                sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))
                status = call(case.command, [str(word) for word in case.arguments])
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(status)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def really(case: Case, log: Path, directory: Path) -> int:
    command = [Path(sys.executable).with_name(case.command)]
    environment = {**script_environment(), "PYTHONPATH": str(ROOT)}
    with open(log, "wb") as output:
        return subprocess.run(
            [str(word) for word in [*command, *case.arguments]], input=case.stdin or b"", stdout=output,
            stderr=subprocess.STDOUT, cwd=directory, env=environment, preexec_fn=give_up_rights if case.as_user else None,
        ).returncode  # fmt: skip


def left_behind(out: Path) -> list[str]:
    files = [out] if out.is_file() else [path for path in out.rglob("*") if path.is_file()]
    return [str(path) for path in files if not path.name.endswith((".log", ".tmp"))]


def faults(case: Case, status: int, told: str) -> list[str]:
    """What is wrong with how the command took it."""
    found = []
    if "Traceback (most recent" in told:
        found.append("a traceback")
    if case.mentions is None:
        return found + ([f"exit status {status}"] if status else [])
    if status == 0:
        found.append("accepted")
    if status < 0 or status == 99:
        found.append(f"ended by {status}")
    if case.mentions not in told:
        found.append(f"does not say {case.mentions!r}")
    if case.out and case.out.exists() and left_behind(case.out):
        found.append(f"left {left_behind(case.out)}")
    return found


@contextmanager
def disks(folder: Path):
    """folder/full, with next to no room, and folder/readonly; only root can make them."""
    mounted = []
    try:
        for name, arguments in {
            "full": ["-t", "tmpfs", "-o", "size=8k", "none"],
            "readonly": ["-t", "tmpfs", "-o", "ro", "none"],
        }.items():
            place = make(folder / name)
            if subprocess.run(["mount", *arguments, str(place)], stderr=subprocess.DEVNULL).returncode == 0:
                mounted.append(place)
        yield len(mounted) == 2
    finally:
        for place in mounted:
            subprocess.run(["umount", "--lazy", str(place)], check=True)  # a process may be about to leave it


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", default="", metavar="PATTERN", help="cases whose command and kind this regular expression finds"
    )
    parser.add_argument("--real", action="store_true", help="see above")
    parser.add_argument("--verbose", action="store_true", help="show all that is said")
    args = parser.parse_args()
    root = os.geteuid() == 0
    counts, failures = Counter(), []
    for module in (*MODULES.values(), *("fairseq_cli." + name.split("-")[1] for name in FAIRSEQ)):
        importlib.import_module(module)
    with tempfile.TemporaryDirectory(prefix="bad-input-") as name, disks(Path(name)) as have_disks:
        world = make_world(Path(name))
        log = world.folder / "log"
        groups = [text_cases, checkpoint_cases, data_cases, option_cases, output_cases]
        for case in (case for group in groups for case in group(world)):
            if not re.search(args.only, f"{case.command} {case.kind}"):
                continue
            if case.as_user and not root or not have_disks and case.kind in ("output full", "output read-only"):
                counts["left out: needs root"] += 1
                continue
            case.before()
            status = (really if args.real else forked)(case, log, world.folder)
            told = log.read_text(errors="replace")
            wrong = faults(case, status, told)
            if (world.folder / "VICTIM").exists():
                wrong.append("RAN THE CODE IN THE CHECKPOINT")
                (world.folder / "VICTIM").unlink()
            counts[case.command] += 1
            counts["all"] += 1
            if wrong:
                failures.append(f"{case.command}, {case.kind}")
                print(
                    f"FAILED {case.command}, {case.kind}: {'; '.join(wrong)}\n    "
                    + "\n    ".join(line[:400] for line in told.splitlines()[-12:]),
                    flush=True,
                )
            elif args.verbose:
                last = [line for line in told.splitlines() if line.strip()][-2:]
                print(
                    f"{case.command}, {case.kind}: status {status}\n    " + "\n    ".join(line[:400] for line in last),
                    flush=True,
                )
            for place in (world.open / "new", case.out):
                if place and place not in (world.file, world.data):
                    clear(place)
    for name, count in sorted(counts.items()):
        print(f"{count:5} {name}")
    print(f"{len(failures)} failed" + "".join(f"\n  {name}" for name in failures))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
