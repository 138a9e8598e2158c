#!/bin/sh
# Text pairs to binarised fairseq data: wfe-preprocess of this clone.
exec "$(dirname -- "$(readlink -f -- "$0")")/scripts/run_main.sh" wfe_plugin.cli.preprocess "$@"
