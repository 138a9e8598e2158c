#!/usr/bin/env bash
# Reuters-21578, first sentence to headline: text, standard systems, three seeds, three beams, report. CPU only.
exec "$(dirname -- "${BASH_SOURCE[0]}")/../run_recipe.sh" reuters21578 --stories "the JSON files of the npm package" "$@"
