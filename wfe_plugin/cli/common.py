"""What the commands share: a parser that helps with wrong options, and errors shown as one line."""

import argparse
import difflib
import importlib.util
import json
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Callable, NoReturn, Optional

import wfe_plugin
from wfe_plugin import standard_streams, whole_files
from wfe_plugin.errors import UserError
from wfe_plugin.pipeline.options import split_options

# Where options of fairseq's commands are defined: by fairseq, and by the plugin.
FAIRSEQ_OPTIONS = (
    "fairseq",
    *(f"wfe_plugin/{room}" for room in ("models", "generation", "criterions", "optim", "tasks")),
)


class Parser(argparse.ArgumentParser):
    """Has `--version`, and names the option that was probably meant.

    Args:
        fairseq: whether options of fairseq may follow after "--"; read them with :meth:`parse_both`
    """

    def __init__(self, prog: str, *, fairseq: bool = False, **settings):
        settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(prog=prog, allow_abbrev=False, **settings)
        self.fairseq = fairseq
        self.add_argument("--version", action="version", version=f"%(prog)s {wfe_plugin.__version__}")

    def parse_both(self, argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
        """Our options, and those after "--", which are fairseq's."""
        ours, fairseqs = split_options(list(argv))
        return self.parse_args(ours), fairseqs

    def check(self, validate: Callable[[], None]) -> None:
        """Show a UserError of the options as argparse shows its own."""
        try:
            validate()
        except UserError as error:
            self.error(str(error))

    def parse_known_args(self, args=None, namespace=None):
        args = sys.argv[1:] if args is None else list(args)
        if self._subparsers is None:  # else the chosen one looks at its own
            self.check_names(args)
        return super().parse_known_args(args, namespace)

    def check_names(self, args: Sequence[str]) -> None:
        """Before argparse, which would first complain about options that a mistyped one stands for."""
        known = self._option_string_actions
        for word in args:
            option = word.split("=")[0]
            if word == "--" or not re.match("--[a-z]", word) or option in known:
                continue
            if self.fairseq and is_of_fairseq(option):
                self.error(f"{option}: options of fairseq go after --")
            near = difflib.get_close_matches(option, known, n=1, cutoff=0.75)
            self.error(f"unknown option {option}" + (f"; did you mean {near[0]}?" if near else ""))


def add_input_fields(parser: argparse.ArgumentParser) -> None:
    """Options of what is summarized."""
    parser.add_argument("--text-field", default="", metavar="NAME", help="field of the text, if --input has JSON lines")
    parser.add_argument(
        "--budget",
        default="",
        metavar="BUDGETS",
        help="budgets of words, such as 'germany=0 pinochet=1 olympics=+' (never, at most once, must appear)",
    )
    parser.add_argument(
        "--budget-field", default="", metavar="NAME", help="field of budgets per text, if --input has JSON lines"
    )


def is_of_fairseq(option: str) -> bool:
    """Whether a command of fairseq has the option. Looks in the source: importing takes seconds."""
    name = option[2:].replace("-", "_")
    definition = re.compile(rf'"{option}"|^    {name}: .+= *field\(', re.MULTILINE)
    for place in FAIRSEQ_OPTIONS:
        package, _, room = place.partition("/")
        found = importlib.util.find_spec(package)
        for folder in found.submodule_search_locations if found else ():
            for path in Path(folder, room).rglob("*.py"):
                if "examples" not in path.parts and definition.search(path.read_text(encoding="utf-8")):
                    return True
    return False


def run(prog: str, work: Callable[[], None], interrupted: str = "") -> int:
    """Do the work of a command; the exit status.

    Import what is slow inside of `work`, so that an interrupt shows no traceback.

    Args:
        interrupted: what to say after "interrupted", for example how to continue
    """
    standard_streams.show_any_text()
    signal.signal(signal.SIGTERM, terminate)
    try:
        work()
    except (UserError, OSError) as error:
        print(f"{prog}: error: {in_words(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{prog}: interrupted" + (f"; {interrupted}" if interrupted else ""), file=sys.stderr)
        return 130
    return 0


def terminate(number: Optional[int] = None, frame=None) -> NoReturn:
    """A terminated command ends its children and cleans up like an interrupted one."""
    sys.exit(143)


def in_words(error: Exception) -> str:
    """Without Python's "[Errno 2]"."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


# Results as a table, and as JSON


def show(table: str, content: dict, target: Optional[str]) -> None:
    """Print the table, and write the content as JSON to *target*; with "-", only JSON, to standard output."""
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    with standard_streams.output() as output:
        if target == "-":
            # JSON is UTF-8, whatever the encoding of the terminal is.
            output.buffer.write(text.encode("utf-8", "backslashreplace"))
        else:
            print(table, file=output)
    if target and target != "-":
        path = Path(target)
        if path.exists() and not path.is_file():  # such as /dev/stderr
            path.write_text(text, encoding="utf-8")
        else:
            whole_files.write_text(path, text)
