#!/bin/sh
# Run a command of this clone: run_main.sh MODULE [ARGUMENT...]
root=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")

# An active environment comes first, then the one that belongs to this clone.
python=python3
if [ -z "${VIRTUAL_ENV:-}" ] && [ -x "$root/.venv/bin/python" ]; then
    python=$root/.venv/bin/python
fi
exec "$python" "$root/scripts/run_main.py" "$@"
