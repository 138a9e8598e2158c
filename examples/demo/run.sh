#!/usr/bin/env bash
# Train EncDec and EncDec+WFE on a synthetic corpus, decode both and compare them.
# `make demo` calls this with the environment's programs first on PATH.
set -euo pipefail

usage="usage: run.sh [--out DIR] [--epochs N] [--train-size N] [--seed N]
Everything is written into DIR (default: demo-out in the repository), which is
replaced. The defaults take three to five minutes on two idle cores."

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
plugin=$(cd "$here/../../wfe_plugin" && pwd)
out=$here/../../demo-out epochs=7 train_size=16000 seed=1

while [ $# -gt 0 ]; do
    case $1 in
        -h | --help) echo "$usage"; exit 0 ;;
        --out | --epochs | --train-size | --seed)
            [ $# -ge 2 ] || { echo "run.sh: $1 needs a value" >&2; exit 2; }
            name=${1#--}; printf -v "${name/-/_}" %s "$2"; shift 2 ;;
        *) echo "run.sh: unknown option $1" >&2; echo "$usage" >&2; exit 2 ;;
    esac
done
for number in "$epochs" "$train_size" "$seed"; do
    [[ $number =~ ^[0-9]+$ ]] || { echo "run.sh: '$number' is not a whole number" >&2; exit 2; }
done
if [ -e "$out" ] && [ -n "$(ls -A "$out")" ] && [ ! -f "$out/.wfe-demo" ]; then
    echo "run.sh: $out holds files that are not of this demo; choose another with --out" >&2
    exit 1
fi

say() { printf '\n== %s (%dm%02ds)\n' "$1" $((SECONDS / 60)) $((SECONDS % 60)); }

# Runs a command with its output in a file, and shows the end of it if it fails.
logged() {
    local log=$1; shift
    "$@" >"$log" 2>&1 || { echo "run.sh: failed; the end of $log:" >&2; tail -n 15 "$log" >&2; return 1; }
}

# Two trainings at once are fastest with one thread each.
export OMP_NUM_THREADS=1
rm -rf -- "$out"; mkdir -p -- "$out"; touch -- "$out/.wfe-demo"
cd -- "$out"

say "Making a SYNTHETIC news corpus of $train_size training pairs"
python "$here/make_corpus.py" --out text --seed "$seed" --train "$train_size" --valid 500 --test 1000
paste -d '\n' <(sed 's/^/  article: /; 2q' text/test.article) <(sed 's/^/  title:   /; 2q' text/test.title)

say "Binarising it with fairseq-preprocess"
logged preprocess.log fairseq-preprocess --source-lang article --target-lang title \
    --trainpref text/train --validpref text/valid --testpref text/test --destdir data
grep -ho '\[.*Dictionary: .*' preprocess.log | sort -u | sed 's/^/  /'

say "Training EncDec and EncDec+WFE side by side, $epochs epochs each"
train() { # name, further options
    local name=$1; shift
    logged "train-$name.log" fairseq-train data --user-dir "$plugin" --task summarization_wfe \
        --arch wfe_lstm_tiny --criterion nll_wfe --optimizer adam --lr 0.002 --clip-norm 10 \
        --batch-size 64 --max-epoch "$epochs" --seed "$seed" --best-checkpoint-metric nll_loss \
        --save-dir "$name" --no-epoch-checkpoints --no-save-optimizer-state \
        --no-progress-bar --log-interval 100 "$@"
}
# Prints a line for each epoch of each training, as they come.
follow() {
    touch train-encdec.log train-wfe.log
    tail -q -n +1 --pid="$1" -F train-encdec.log train-wfe.log 2>/dev/null |
        grep --line-buffered ' valid on ' |
        sed -u -n -E \
            -e 's/.*epoch 0*([0-9]+) .* nll_loss ([0-9.]+) \| wfe_loss ([0-9.]+) .*/  EncDec+WFE  epoch \1: validation NLL \2 bits a word, WFE loss \3/p; t' \
            -e 's/.*epoch 0*([0-9]+) .* nll_loss ([0-9.]+) .*/  EncDec      epoch \1: validation NLL \2 bits a word/p'
}
follow $$ & follower=$!
trap 'kill $follower 2>/dev/null || true' EXIT
train encdec --without-wfe & baseline=$!
train wfe & bounded=$!
trap 'kill $follower $baseline $bounded 2>/dev/null || true' EXIT INT TERM
status=0
wait $baseline || status=1
wait $bounded || status=1
[ $status -eq 0 ] || exit 1
sleep 1 # for the last line
trap 'kill $follower 2>/dev/null || true' EXIT

say "Decoding both with beam 5"
decode() { # name, decoding
    logged "decode-$1.log" fairseq-generate data --user-dir "$plugin" --task summarization_wfe \
        --wfe-decoding "$2" --path "$1/checkpoint_best.pt" --beam 5 --max-len-b 30 \
        --batch-size 64 --no-progress-bar
    sed -n 's/^H-\([0-9]*\)\t[^\t]*\t\(.*\)/\1\t\2/p' "decode-$1.log" | sort -n | cut -f 2 >"$1.txt"
}
decode encdec off & baseline=$!
decode wfe full & bounded=$!
wait $baseline; wait $bounded

python "$here/report.py" --articles text/test.article --references text/test.title \
    --baseline encdec.txt --wfe wfe.txt | tee report.txt
printf '\nDone in %dm%02ds. Models, outputs and this report are in %s\n' \
    $((SECONDS / 60)) $((SECONDS % 60)) "$PWD"
