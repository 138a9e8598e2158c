#!/usr/bin/env bash
# A trained model and text to summaries. All the work is in wfe_plugin/pipeline/generate.py.
set -euo pipefail

here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")

# An active environment comes first, then the one that belongs to this clone.
python=python3
if [[ -z ${VIRTUAL_ENV:-} && -x $here/.venv/bin/python ]]; then
    python=$here/.venv/bin/python
fi

# Not "python -m": that would import from the user's working directory before anything else.
exec "$python" -c '
import sys
sys.path[0] = sys.argv.pop(1)
from wfe_plugin.pipeline.generate import main
sys.exit(main())
' "$here" "$@"
