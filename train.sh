#!/bin/sh
# Prepared data to a trained model: wfe-train of this clone.
exec "$(dirname -- "$(readlink -f -- "$0")")/scripts/run_main.sh" wfe_plugin.cli.train "$@"
