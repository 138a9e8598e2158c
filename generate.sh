#!/usr/bin/env bash
# A trained model and text to summaries. All the work is in wfe_plugin/pipeline/generate.py.
exec "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/scripts/run_main.sh" wfe_plugin.cli.generate "$@"
