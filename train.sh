#!/usr/bin/env bash
# Binarised fairseq data to a trained model. All the work is in wfe_plugin/cli/train.py and wfe_plugin/pipeline/train.py.
exec "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/scripts/run_main.sh" wfe_plugin.cli.train "$@"
