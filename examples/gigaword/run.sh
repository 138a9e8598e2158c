#!/usr/bin/env bash
# The paper's experiment: EncDec and EncDec+WFE on Gigaword and DUC-2004, beams 1, 5 and 10.
# Interrupted, it continues where it was when the same command is given again.
set -euo pipefail

usage="usage: run.sh --text DIR --out DIR [options] [-- options of fairseq-train]
  --text DIR     the text, laid out as README.md says
  --out DIR      for data, models, summaries and scores
  --gpus N       GPUs for training (default: 1)
  --workers N    processes for preparing the text (default: 4)
  --seed N       default: 1
  --epochs N     at most so many (default: the paper's 15)
  --beams LIST   default: '1 5 10'"

here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
root=$here/../..
text='' out='' gpus=1 workers=4 seed=1 epochs=15 beams='1 5 10'

die() { echo "run.sh: $1" >&2; exit "${2:-1}"; }

while [ $# -gt 0 ]; do
    case $1 in
        -h | --help) echo "$usage"; exit 0 ;;
        --text | --out | --gpus | --workers | --seed | --epochs | --beams)
            [ $# -ge 2 ] || die "$1 needs a value" 2
            printf -v "${1#--}" %s "$2"; shift 2 ;;
        --) shift; break ;;
        *) echo "$usage" >&2; die "unknown option $1" 2 ;;
    esac
done
if [ -z "$text" ] || [ -z "$out" ]; then echo "$usage" >&2; die "--text and --out are needed" 2; fi
[ -n "${beams// /}" ] || die "--beams is empty" 2
for beam in $beams; do
    [[ $beam =~ ^[1-9][0-9]*$ ]] || die "--beams: '$beam' is not a whole number of at least 1" 2
done

giga=$text/Giga duc=$text/DUC2004
for file in "$text"/train/{train.article,train.title,valid.article.filter,valid.title.filter}.txt \
    "$giga"/{input,task1_ref0}.txt "$duc"/{input,task1_ref0,task1_ref1,task1_ref2,task1_ref3}.txt; do
    [ ! -f "$file.gz" ] || [ -f "$file" ] || die "$file.gz: please unpack it (gunzip)"
    [ -f "$file" ] || die "$file: no such file; README.md shows what is needed"
done

say() { printf '\n== %s\n' "$1"; }

say "Preparing the text"
# The vocabularies of Table 1, which counts three special symbols; fairseq has a fourth, for padding.
"$root/preprocess.sh" --gigaword --out "$out/data" --workers "$workers" \
    --train-files "$text"/train/{train.article,train.title}.txt \
    --valid-files "$text"/train/{valid.article.filter,valid.title.filter}.txt \
    --test-files "$giga"/{input,task1_ref0}.txt --test-files "$duc"/{input,task1_ref0}.txt \
    --source-vocab-size 119508 --target-vocab-size 68888 -- --padding-factor 1

for system in encdec wfe; do
    say "Training $system"
    baseline=()
    [ $system = wfe ] || baseline=(--baseline)
    "$root/train.sh" --data "$out/data" --out "$out/$system" --preset paper --seed "$seed" \
        --gpus "$gpus" --epochs "$epochs" "${baseline[@]}" -- "$@"
done

# Scores appear last, so a directory that has them is complete.
generate() { # directory, options
    local directory=$1; shift
    if [ ! "$directory/scores.json" -nt "$out/$system/checkpoint_best.pt" ]; then
        "$root/generate.sh" --model "$out/$system" --data "$out/data" --out "$directory" \
            --beam "$beam" "$@" -- --unnormalized
    fi
}
for system in encdec wfe; do
    for beam in $beams; do
        say "Summarising with $system, beam $beam"
        generate "$out/gigaword/$system-$beam" --split test --protocol gigaword
        generate "$out/duc2004/$system-$beam" --split test1 --protocol duc2004 \
            --references "$duc"/task1_ref{0,1,2,3}.txt
    done
done

say "Results"
python=python3
if [[ -z ${VIRTUAL_ENV:-} && -x $root/.venv/bin/python ]]; then python=$root/.venv/bin/python; fi
# shellcheck disable=SC2086
table=$("$python" "$here/table.py" "$out" $beams)
tee "$out/results.txt" <<<"$table"
