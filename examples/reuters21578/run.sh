#!/usr/bin/env bash
# Reuters-21578, first sentence to headline: text, both systems, two seeds, three beams, report. CPU only.
exec "$(dirname -- "${BASH_SOURCE[0]}")/../run_recipe.sh" reuters21578 --stories "the JSON files of the npm package" "$@"
