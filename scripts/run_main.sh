#!/usr/bin/env bash
# Run the `main` of one of the plugin's modules: run_main.sh MODULE [ARGUMENT...]
set -euo pipefail

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")

# An active environment comes first, then the one that belongs to this clone.
python=python3
if [[ -z ${VIRTUAL_ENV:-} && -x $root/.venv/bin/python ]]; then
    python=$root/.venv/bin/python
fi

# Not "python -m": that would import from the user's working directory before anything else.
exec "$python" -c '
import importlib, sys
sys.path[0] = sys.argv.pop(1)
sys.exit(importlib.import_module(sys.argv.pop(1)).main())
' "$root" "$@"
