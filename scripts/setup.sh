#!/usr/bin/env bash
# Install the plugin, and what it needs, into a Python environment. `make setup` calls this.
#
# Environment: VENV (default .venv), PYTHON (for a new VENV; default python3), CXX,
# EXTRAS (extras of setup.py, such as `test`), TORCH (arguments of `pip install`, where torch is missing).
set -euo pipefail
set -f # TORCH is split into words, never expanded into file names
CDPATH='' cd -- "$(dirname -- "$0")/.."

EXTRAS=${EXTRAS:-} TORCH=${TORCH:-} PYTHON=${PYTHON:-python3} VENV=${VENV:-.venv}
case $VENV in /*) ;; *) VENV=$PWD/$VENV ;; esac
python=$VENV/bin/python
stamp=$VENV/.wfe-setup
created=$VENV/.wfe-created # marks an environment that is ours to delete

say() { echo "setup: $*"; }
die() { echo "setup: $*" >&2; exit 1; }

# By content, so that a fresh checkout of the same files does not start it all again; with the
# path, because the installation points to this directory.
sum=$({ echo "$PWD"; cat setup.py pyproject.toml constraints.txt scripts/setup.sh; } | cksum)
if [ -x "$python" ] && grep -qsxF "[$EXTRAS] $sum" "$stamp"; then
    say "$VENV is up to date (to install again, delete $stamp)"
    exit 0
fi

# Run Python code in the environment. From inside it, so that nothing in the current directory
# can pass for an installed package.
probe() { (cd -- "$VENV" && "$python" -c "$1"); }
pip() { "$python" -m pip --disable-pip-version-check "$@"; }

# --- What is there? Everything that can stop us is checked before anything is downloaded.

new='' fairseq=none interpreter=$python
if [ ! -x "$python" ]; then
    [ -z "$(ls -A "$VENV" 2>/dev/null)" ] ||
        die "$VENV exists but is no Python environment: remove it or choose another with VENV=..."
    new=yes interpreter=$PYTHON
    command -v "$PYTHON" >/dev/null || die "'$PYTHON' not found: choose a Python 3.9 or newer with PYTHON=..."
fi

"$interpreter" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null ||
    die "Python 3.9 or newer is needed, but '$interpreter -V' says '$("$interpreter" -V 2>&1 | head -n 1)': choose another with PYTHON=..."

# The fairseq that setup.py asks for here: one that comes compiled, or one that is not.
wanted=$("$interpreter" -c 'import platform, sys
compiled = sys.platform == "linux" and platform.machine() == "x86_64" and sys.version_info[:2] in ((3, 11), (3, 12))
print("ve-fairseq" if compiled else "fairseq-fixed")')
if [ ! "$new" ]; then
    fairseq=$(WANTED=$wanted probe 'if True:
        import os
        from importlib import metadata, util
        try:
            metadata.version(os.environ["WANTED"])
            print("ours")
        except metadata.PackageNotFoundError:
            print("own" if util.find_spec("fairseq") else "none")' 2>/dev/null) || fairseq=none
fi

if [ "$fairseq" = none ] && [ "$wanted" = fairseq-fixed ]; then
    read -r compiler _ <<<"${CXX:-g++}" # CXX may hold options as well
    command -v "$compiler" >/dev/null ||
        die "C++ compiler '$compiler' not found, and fairseq must be compiled: install it (Debian, Ubuntu: apt install g++) or name another with CXX=..."
    "$interpreter" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' ||
        die "Python.h of $interpreter not found, and fairseq must be compiled: install it (Debian, Ubuntu: apt install python3-dev)"
    say "installing into $VENV: 3 to 5 minutes if the machine is idle, most of them compiling fairseq"
else
    say "installing into $VENV"
fi

tmp=$(mktemp -d)
trap 'rm -rf -- "$tmp"' EXIT
rm -f -- "$stamp"

# --- [1/3] The environment

if [ "$new" ]; then
    say "[1/3] creating the environment"
    "$PYTHON" -m venv "$VENV" || {
        rm -rf -- "$VENV"
        die "'$PYTHON -m venv' failed (Debian, Ubuntu: apt install python3-venv)"
    }
    touch -- "$created"
else
    say "[1/3] using the environment that is there"
fi
pip --version >/dev/null 2>&1 || "$python" -m ensurepip >/dev/null 2>&1 || die "no pip in $VENV"

# --- [2/3] torch, and what fairseq needs while it builds

# From here on, this line as a constraint keeps pip from exchanging the torch that is there.
torch_found() {
    probe 'import torch; from importlib import metadata; print("torch==" + metadata.version("torch"))' \
        >"$tmp/torch.txt" 2>"$tmp/error"
}

if torch_found; then
    say "[2/3] keeping $(cat "$tmp/torch.txt")${TORCH:+ (so TORCH is not used)}; build tools"
elif probe 'from importlib import util; raise SystemExit(not util.find_spec("torch"))'; then
    die "the torch in $VENV does not work; repair or uninstall it: $(tail -n 1 "$tmp/error")"
else
    say "[2/3] installing torch and build tools"
    if [ "$TORCH" ]; then
        # shellcheck disable=SC2086
        pip install $TORCH
    else
        pip install -c constraints.txt torch
    fi
    torch_found || die "torch was installed but does not work: $(tail -n 1 "$tmp/error")"
fi
# Before setuptools 64 an installation for development would be of the old kind.
pip install -q -c "$tmp/torch.txt" numpy cython wheel 'setuptools>=64'

# --- [3/3] The plugin and fairseq

# With CUDA_HOME set, fairseq-fixed tries to compile CUDA sources that it does not contain.
unset CUDA_HOME
# Without isolation fairseq is compiled against the torch that is there; with it, pip would first
# download another one, with gigabytes of CUDA.
if [ "$fairseq" = own ]; then
    say "[3/3] installing the plugin, keeping the fairseq that is there ('pip check' will miss $wanted)"
    pip install --no-build-isolation --no-deps -e .
    EXTRAS=$EXTRAS probe 'if True:
        import os
        from importlib import metadata
        for line in metadata.requires("wfe_plugin"):
            requirement, _, marker = line.partition(";")
            wanted = not marker or any(f"\"{e}\"" in marker for e in os.environ["EXTRAS"].split(",") if e)
            if wanted and not requirement.startswith(("fairseq", "ve-fairseq")):
                print(requirement)' >"$tmp/rest.txt"
    pip install --no-build-isolation -c "$tmp/torch.txt" -r "$tmp/rest.txt"
else
    say "[3/3] installing fairseq and the plugin"
    pip install --no-build-isolation -c "$tmp/torch.txt" -e ".${EXTRAS:+[$EXTRAS]}"
fi
probe 'import fairseq' >/dev/null 2>"$tmp/error" ||
    die "the fairseq in $VENV does not work; uninstall it and run this again: $(tail -n 1 "$tmp/error")"

# Installing the extras installed everything else too.
printf '%s\n' "[] $sum" "[$EXTRAS] $sum" >"$stamp"
perl -MXML::Parser -e1 2>/dev/null ||
    say "note: the Perl module XML::Parser is missing (Debian, Ubuntu: libxml-parser-perl); ROUGE is computed in Python instead of by ROUGE-1.5.5"
say "done: the programs are in $VENV/bin"
