#!/usr/bin/env bash
# Text pairs to binarised fairseq data. All the work is in wfe_plugin/pipeline/preprocess.py.
exec "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/scripts/run_main.sh" wfe_plugin.pipeline.preprocess "$@"
