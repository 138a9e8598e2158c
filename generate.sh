#!/bin/sh
# A trained model and text to summaries: wfe-generate of this clone.
exec "$(dirname -- "$(readlink -f -- "$0")")/scripts/run_main.sh" wfe_plugin.cli.generate "$@"
