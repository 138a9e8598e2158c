#!/usr/bin/env bash
# Debian, package description to synopsis: text, both systems, two seeds, three beams, report. CPU only.
set -euo pipefail

usage="usage: run.sh [--out DIR] [--lists DIR] [--config FILE] [-- wfe-experiment options]
  --out DIR      directory for everything (default: debian-out in the current one)
  --lists DIR    apt's package lists, instead of downloading
  --config FILE  another experiment on the same text (default: experiment.ini)
Interrupted, it continues where it was. The report is DIR/results/experiment.html, or named
after the other configuration."

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
root=$(cd -- "$here/../.." && pwd)
out=debian-out config=$here/experiment.ini prepare=()

while [ $# -gt 0 ]; do
    case $1 in
        -h | --help) echo "$usage"; exit 0 ;;
        --) shift; break ;;
        --out | --lists | --config)
            [ $# -ge 2 ] || { echo "run.sh: $1 needs a value" >&2; exit 2; }
            case $1 in
                --out) out=$2 ;;
                --config) config=$2 ;;
                *) prepare=("$1" "$2") ;;
            esac
            shift 2 ;;
        *) echo "run.sh: unknown option $1" >&2; echo "$usage" >&2; exit 2 ;;
    esac
done
[ -f "$config" ] || { echo "run.sh: $config: no such file" >&2; exit 1; }

# An active environment comes first, then the one that belongs to this clone.
python=python3
if [[ -z ${VIRTUAL_ENV:-} && -x $root/.venv/bin/python ]]; then
    python=$root/.venv/bin/python
fi

mkdir -p -- "$out/text"
out=$(cd -- "$out" && pwd)
echo '*' >"$out/.gitignore" # results are nobody's source
# The last file that prepare.py writes; lists of another day would be other text.
[ -f "$out/text/test.title" ] ||
    "$python" "$here/prepare.py" --out "$out/text" ${prepare[@]+"${prepare[@]}"}
# Beside its results, since paths in a configuration start from where it is.
cp -- "$config" "$out/"
# Not "python -m": that would import from the user's working directory before anything else.
exec "$python" -c '
import sys
sys.path[0] = sys.argv.pop(1)
from wfe_plugin.cli.experiment import main
sys.exit(main())
' "$root" "$out/$(basename -- "$config")" "$@"
