"""``wfe-user-dir``: print the directory that fairseq's ``--user-dir`` wants."""

import sys

from wfe_plugin.cli.common import Parser, run
from wfe_plugin.pipeline.child import user_dir


def build_parser() -> Parser:
    return Parser(
        "wfe-user-dir",
        description="Print the directory of the plugin, and nothing else.",
        epilog='Use: fairseq-train --user-dir "$(wfe-user-dir)" ...',
    )


def main(argv=None) -> int:
    build_parser().parse_args(argv)
    return run("wfe-user-dir", lambda: print(user_dir()))


if __name__ == "__main__":
    sys.exit(main())
