"""``wfe-user-dir``: print the directory that fairseq's ``--user-dir`` wants."""

import argparse
import os

import wfe_plugin


def user_dir() -> str:
    # Symbolic links stay: fairseq compares this string with the package's own `__path__`.
    return os.path.dirname(os.path.abspath(wfe_plugin.__file__))


def main(argv=None) -> None:
    parser = argparse.ArgumentParser(
        prog="wfe-user-dir",
        description="Print the directory of the plugin, and nothing else.",
        epilog='Use: fairseq-train --user-dir "$(wfe-user-dir)" ...',
    )
    parser.parse_args(argv)
    print(user_dir())


if __name__ == "__main__":
    main()
