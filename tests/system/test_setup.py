"""Tests of the Makefile, scripts/setup.sh and wfe-user-dir. Nothing is installed or downloaded."""

import os
import platform
import shutil
import subprocess
import sys

import pytest

from helpers import ROOT

COMPILED = sys.platform == "linux" and platform.machine() == "x86_64" and sys.version_info[:2] in ((3, 11), (3, 12))
# The fairseq that setup.py asks for.
OURS = ("fairseq", "ve_fairseq", "0.12.3") if COMPILED else ("fairseq", "fairseq_fixed", "0.12.3.1")

# Takes the place of an environment's Python. It writes the commands for pip to a log; "installing"
# copies what is on the shelf. Other commands run in the real Python, which (-S) sees no installed
# package but the fakes in `site`.
FAKE_PYTHON = """#!/bin/sh
here='{here}'
if [ "$1 $2" = "-m pip" ]; then
    shift 3
    echo "$*" >>"$here/pip.log"
    for arg; do case $arg in */rest.txt) cat "$arg" >>"$here/rest.log" ;; esac; done
    if [ "$1" = install ]; then cp -R "$here/shelf/." "$here/site"; fi
    exit 0
fi
PYTHONPATH="$here/site" exec '{python}' -S "$@"
"""


def run(*command, cwd=ROOT, **environment):
    """Run `command` without the variables that an enclosing `make test` may have set."""
    inherited = {name: os.environ[name] for name in ("HOME", "PATH", "TMPDIR") if name in os.environ}
    return subprocess.run(
        [str(word) for word in command],
        cwd=str(cwd),
        env={**inherited, **{name: str(value) for name, value in environment.items()}},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


def setup(**environment):
    return run("bash", ROOT / "scripts" / "setup.sh", **environment)


def put(directory, module, distribution, version, code="", requires=()):
    """Write a fake installed package."""
    (directory / module).mkdir()
    (directory / module / "__init__.py").write_text(code)
    info = directory / f"{distribution}-{version}.dist-info"
    info.mkdir()
    lines = ["Metadata-Version: 2.1", f"Name: {distribution}", f"Version: {version}"]
    lines += [f"Requires-Dist: {line}" for line in requires]
    (info / "METADATA").write_text("\n".join(lines) + "\n")


class FakeEnvironment:
    def __init__(self, path):
        self.path, self.site, self.shelf = path, path / "site", path / "shelf"
        for directory in (path / "bin", self.site, self.shelf):
            directory.mkdir(parents=True)
        python = path / "bin" / "python"
        python.write_text(FAKE_PYTHON.format(here=path, python=sys.executable))
        python.chmod(0o755)

    def installs(self):
        log = self.path / "pip.log"
        lines = log.read_text().splitlines() if log.exists() else []
        return [line for line in lines if line.startswith("install")]


@pytest.fixture
def environment(tmp_path):
    return FakeEnvironment(tmp_path / "with space")


def assert_one_line(result, *words):
    """The run failed, and all it said was one line that has all `words`."""
    assert result.returncode != 0
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1, result.stderr
    for word in words:
        assert word in result.stderr


# ---- wfe-user-dir


def test_user_dir_prints_only_the_package_directory():
    script = "import sys; from wfe_plugin.cli.user_dir import main; sys.exit(main())"  # as pip writes it
    result = run(sys.executable, "-c", script)
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"{ROOT / 'wfe_plugin'}\n"
    assert (ROOT / "wfe_plugin" / "__init__.py").is_file()


# ---- Makefile


def test_help_is_the_default_and_lists_every_target():
    result = run("make")
    assert result.returncode == 0, result.stderr
    listed = {line.split()[0] for line in result.stdout.splitlines() if line.startswith("  ")}
    assert {"help", "setup", "demo", "test", "bench", "clean", "distclean"} <= listed
    assert {"VENV", "PYTHON", "TORCH", "PYTEST_ARGS", "QUICK", "BENCH_ARGS"} <= listed
    phony = [line for line in (ROOT / "Makefile").read_text().splitlines() if line.startswith(".PHONY:")]
    assert set(phony[0].split()[1:]) <= listed


@pytest.mark.parametrize("ours", [True, False])
def test_distclean_deletes_only_an_environment_of_its_own(tmp_path, ours):
    shutil.copy(str(ROOT / "Makefile"), str(tmp_path))
    for name in ("benchmarks", "scripts", "tests", "wfe_plugin", "env with space"):
        (tmp_path / name).mkdir()
    if ours:
        (tmp_path / "env with space" / ".wfe-created").touch()
    result = run("make", "distclean", "VENV=env with space", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "env with space").exists() == (not ours)


# ---- scripts/setup.sh: what stops it


def path_of_tools(directory, *names):
    directory.mkdir()
    for name in names:
        (directory / name).symlink_to(shutil.which(name))
    return directory


@pytest.mark.parametrize("variables, compiler", [({}, "'g++'"), ({"CXX": "no-such-c++ -O1"}, "'no-such-c++'")])
def test_missing_compiler(tmp_path, variables, compiler):
    """On a machine for which fairseq does not come compiled."""
    other = tmp_path / "python"
    said = "import platform; platform.machine = lambda: 'other'"
    other.write_text(f'#!/bin/sh\n[ "$1" = -c ] && exec {sys.executable} -c "{said}\n$2"\nexec {sys.executable} "$@"\n')
    other.chmod(0o755)
    tools = path_of_tools(tmp_path / "bin", "bash", "cat", "cksum", "dirname", "grep", "ls")
    result = setup(PATH=tools, PYTHON=other, VENV=tmp_path / "env", **variables)
    assert_one_line(result, compiler, "CXX=")
    assert not (tmp_path / "env").exists()


def test_compiler_not_needed_where_fairseq_is(environment):
    put(environment.site, "torch", "torch", "2.13.0")
    put(environment.site, *OURS)
    assert setup(VENV=environment.path, CXX="no-such-c++").returncode == 0


def test_python_too_old(tmp_path):
    old = tmp_path / "python3.8"
    old.write_text('#!/bin/sh\n[ "$1" = -V ] && echo "Python 3.8.18" && exit\nexit 1\n')
    old.chmod(0o755)
    assert_one_line(setup(PYTHON=old, VENV=tmp_path / "env"), "3.9 or newer", "Python 3.8.18", "PYTHON=")


def test_python_missing(tmp_path):
    assert_one_line(setup(PYTHON="no-such-python", VENV=tmp_path / "env"), "no-such-python", "PYTHON=")


def test_directory_that_is_no_environment(tmp_path):
    (tmp_path / "thesis.tex").touch()
    assert_one_line(setup(VENV=tmp_path), str(tmp_path), "VENV=")
    assert (tmp_path / "thesis.tex").exists()


def test_torch_that_does_not_work_is_not_replaced(environment):
    put(environment.site, "torch", "torch", "2.5.1", code="raise ImportError('libcudart missing')")
    put(environment.site, *OURS)
    result = setup(VENV=environment.path)
    assert result.returncode != 0
    assert "libcudart missing" in result.stderr and len(result.stderr.splitlines()) == 1
    assert environment.installs() == []


# ---- scripts/setup.sh: what it installs


def test_existing_torch_is_kept(environment):
    put(environment.site, "torch", "torch", "2.5.1+cu121")
    put(environment.site, *OURS)
    result = setup(VENV=environment.path, TORCH="torch==2.13.0")
    assert result.returncode == 0, result.stderr
    assert "keeping torch==2.5.1+cu121" in result.stdout
    installs = environment.installs()
    assert len(installs) == 2  # build tools; the plugin
    for line in installs:
        words = line.split()
        assert not any(word.startswith("torch") for word in words)
        assert words[words.index("-c") + 1].endswith("/torch.txt")  # the version that is there


@pytest.mark.skipif(not COMPILED, reason="fairseq does not come compiled for this Python")
def test_another_fairseq_of_ours_is_kept(environment):
    """Both would be in the same files."""
    put(environment.site, "torch", "torch", "2.13.0")
    put(environment.site, "fairseq", "fairseq_fixed", "0.12.3.1")
    put(environment.shelf, "wfe_plugin", "wfe_plugin", "0", requires=["fairseq-fixed; x", "ve-fairseq; y", "rest>=1"])
    result = setup(VENV=environment.path)
    assert result.returncode == 0, result.stderr
    assert "keeping the fairseq that is there" in result.stdout
    assert (environment.path / "rest.log").read_text().split() == ["rest>=1"]


@pytest.mark.parametrize("asked", ["", "torch==2.7.1 --index-url somewhere"])
def test_missing_torch_is_installed_as_pinned_or_as_asked(environment, asked):
    put(environment.site, *OURS)
    put(environment.shelf, "torch", "torch", "2.13.0")
    result = setup(VENV=environment.path, TORCH=asked)
    assert result.returncode == 0, result.stderr
    assert environment.installs()[0] == "install " + (asked or "-c constraints.txt torch")


def test_existing_fairseq_of_another_kind_is_kept(environment):
    put(environment.site, "torch", "torch", "2.13.0")
    put(environment.site, "fairseq", "fairseq", "1.0.0a0")
    requires = ["fairseq-fixed==0.12.3.1", "torch>=1.13", "rest>=1", 'tester; extra == "test"', 'no; extra == "dev"']
    put(environment.shelf, "wfe_plugin", "wfe_plugin", "0", requires=requires)
    result = setup(VENV=environment.path, EXTRAS="test")
    assert result.returncode == 0, result.stderr
    assert "--no-deps" in environment.installs()[1]
    assert (environment.path / "rest.log").read_text().split() == ["torch>=1.13", "rest>=1", "tester"]


def test_second_run_does_nothing_until_more_is_wanted(environment):
    put(environment.site, "torch", "torch", "2.13.0")
    put(environment.site, *OURS)
    assert setup(VENV=environment.path).returncode == 0
    done = environment.installs()
    second = setup(VENV=environment.path)
    assert second.returncode == 0 and "up to date" in second.stdout
    assert environment.installs() == done
    assert setup(VENV=environment.path, EXTRAS="test").returncode == 0
    assert environment.installs()[-1].endswith("-e .[test]")
    done = environment.installs()
    assert "up to date" in setup(VENV=environment.path).stdout  # the extras include the rest
    assert environment.installs() == done
