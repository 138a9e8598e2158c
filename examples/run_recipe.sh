#!/usr/bin/env bash
# What the recipes' run.sh share: text by prepare.py, then an experiment to its report. CPU only.
# run_recipe.sh FOLDER OPTION "HELP ON OPTION" [ARGUMENT...]; OPTION names the data at hand.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
name=$1 option=$2 help=$3
shift 3
usage="usage: run.sh [--out DIR] [$option DIR] [--config NAME] [-- wfe-experiment options]
  --out DIR      directory for everything (default: $name-out in the current one)
  $(printf %-13s "$option DIR")  $help, instead of downloading
  --config NAME  what to do with the text: experiment (default), the standard systems; compare,
                 also other ways to avoid repetition; table3, the systems that the paper compares
                 itself with, and other models; shifted (Reuters only), the standard systems on
                 topics that training has never seen; or a configuration file of your own
Interrupted, it continues where it was. The report is DIR/results/experiment.html, or named
after the other configuration; those of table3 and shifted are DIR/table3/table3.html and
DIR/shifted/shifted.html. With the same --out, compare uses the models of experiment."
out=$name-out config=experiment prepare=()

while [ $# -gt 0 ]; do
    case $1 in
        -h | --help) echo "$usage"; exit 0 ;;
        --) shift; break ;;
        --out | --config | "$option")
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
case $config in
    */* | *.*) ;; # a file
    *) config=$here/$name/$config.ini ;;
esac
[ -f "$config" ] || { echo "run.sh: $config: no such file" >&2; exit 1; }

# Where the configuration looks for the text, and how it wants it.
text=$(sed -n 's|^train = \(.*\)/train$|\1|p' "$config") options=()
text=${text:-text}
case $text in */*) text=text ;; esac # the user's own
read -ra options <<<"$(sed -n 's/^# Text by prepare\.py //p' "$config")"

mkdir -p -- "$out/$text"
out=$(cd -- "$out" && pwd)
echo '*' >"$out/.gitignore" # results are nobody's source
# The last file that prepare.py writes; what is downloaded on another day may be other text.
if [ ! -f "$out/$text/test.title" ]; then
    python3 "$here/$name/prepare.py" --out "$out/$text" ${prepare[@]+"${prepare[@]}"} ${options[@]+"${options[@]}"}
elif [ ${#prepare[@]} -gt 0 ]; then
    echo "run.sh: $out/$text: the text is there already, so that $option is not used; remove it to prepare it anew" >&2
fi
# Beside its results, since paths in a configuration start from where it is.
[ "$config" -ef "$out/$(basename -- "$config")" ] || cp -- "$config" "$out/"
exec "$here/../scripts/run_main.sh" wfe_plugin.cli.experiment "$out/$(basename -- "$config")" "$@"
