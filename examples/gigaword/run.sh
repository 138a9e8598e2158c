#!/usr/bin/env bash
# The paper's experiment on Gigaword and DUC-2004, beams 1, 5 and 10: EncDec, EncDec with a cap, the rule without
# training, the paper's EncDec+WFE, EncDec+copying, and the default of this project, which is `votes` on top of that. The
# rule and the default are calibrated for each protocol.
# Interrupted, it continues where it was when the same command is given again.
set -euo pipefail

usage="usage: run.sh --text DIR --out DIR [options] [-- options of fairseq-train]
  --text DIR     the text, laid out as README.md says
  --out DIR      for data, models, summaries and scores
  --gpus N       GPUs for training (default: 1)
  --workers N    processes for preparing the text (default: 4)
  --seed N       default: 1
  --epochs N     at most N (default: the paper's 15)
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

train() { # SYSTEM OPTION...; `options` are those of fairseq-train
    say "Training $1"
    "$root/train.sh" --data "$out/data" --out "$out/$1" --preset paper --seed "$seed" --gpus "$gpus" "${@:2}" \
        -- ${options[@]+"${options[@]}"}
}
options=("$@") cpu=()
case " $* " in *" --cpu "*) cpu=(--cpu) ;; esac
train encdec --baseline --epochs "$epochs"
train wfe --estimator paper --epochs "$epochs"
train copying --baseline --copying --epochs "$epochs"
options=(${cpu[@]+"${cpu[@]}"})
train votes --add-wfe "$out/copying" --no-calibration

# The validation set decides, by the protocol of the test set. The paper's search does not divide scores by lengths.
calibrate() { # MODEL [option]
    "$root/scripts/run_main.sh" wfe_plugin.cli.calibrate "$@" --protocol "$protocol" ${cpu[@]+"${cpu[@]}"} \
        -- --unnormalized
}
for protocol in f1 recall-75; do
    if [ ! -f "$out/rule-$protocol.txt" ]; then
        say "Calibrating for $protocol"
        mkdir -p -- "$out/votes-$protocol"
        cp -- "$out/votes/checkpoint_best.pt" "$out/votes-$protocol/"
        calibrate "$out/votes-$protocol"
        calibrate "$out/encdec" --rule | tee "$out/rule.log"
        tail -n 1 "$out/rule.log" >"$out/rule-$protocol.txt"
    fi
done

# Scores appear last, so a directory that has them is complete.
generate() { # SET PROTOCOL
    local set=$1 protocol=$2 rule
    read -ra rule <"$out/rule-$protocol.txt"
    decode encdec encdec
    decode cap encdec --word-cap 1
    decode rule encdec "${rule[@]}"
    decode wfe wfe
    decode copying copying
    decode votes "votes-$protocol"
}
decode() { # SYSTEM MODEL OPTION...; the rest are those of `generate`
    local directory=$out/$set/$1-$beam model=$2
    [ ! "$directory/scores.json" -nt "$out/$model/checkpoint_best.pt" ] || return 0
    say "$set: $1, beam $beam"
    "$root/generate.sh" --model "$out/$model" --data "$out/data" --out "$directory" --beam "$beam" \
        "${references[@]}" -- --unnormalized "${@:3}"
}
for beam in $beams; do
    references=(--split test --protocol gigaword)
    generate gigaword f1
    references=(--split test1 --protocol duc2004 --references "$duc"/task1_ref{0,1,2,3}.txt)
    generate duc2004 recall-75
done

say "Results"
python=python3
if [[ -z ${VIRTUAL_ENV:-} && -x $root/.venv/bin/python ]]; then python=$root/.venv/bin/python; fi
# shellcheck disable=SC2086
table=$("$python" "$here/table.py" "$out" $beams)
tee "$out/results.txt" <<<"$table"
