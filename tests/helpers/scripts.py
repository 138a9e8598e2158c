"""Python files that are no part of the package: examples and scripts."""

import importlib.util
import subprocess
import sys


def module_of(path):
    """The file as a module."""
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_script(path, *arguments):
    return subprocess.run([sys.executable, str(path), *map(str, arguments)], capture_output=True, text=True)
