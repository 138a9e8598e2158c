#!/usr/bin/env bash
# Debian, package description to synopsis: text, standard systems, three seeds, three beams, report. CPU only.
exec "$(dirname -- "${BASH_SOURCE[0]}")/../run_recipe.sh" debian --lists "apt's package lists" "$@"
