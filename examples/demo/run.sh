#!/usr/bin/env bash
# Train on a synthetic corpus, decode in four ways, compare them and explain a summary.
# `make demo` calls this with the environment's programs first on PATH.
set -euo pipefail

usage="usage: run.sh [--out DIR] [--epochs N] [--train-size N] [--seed N]
Everything is written into DIR (default: demo-out in the repository), which is
replaced. The defaults take about ten minutes on two idle cores."

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=$here/../../demo-out epochs=12 train_size=12000 seed=1

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

# Two trainings at once are fastest with one thread each. The same kernels on all processors with AVX2:
# others add up in another order, and a training soon amplifies the last digit.
export OMP_NUM_THREADS=1 ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 MKL_CBWR=AVX2
rm -rf -- "$out"; mkdir -p -- "$out"; touch -- "$out/.wfe-demo"
cd -- "$out"

say "Making a SYNTHETIC news corpus of $train_size training pairs"
python "$here/make_corpus.py" --out text --seed "$seed" --train "$train_size" --valid 400 --test 500
paste -d '\n' <(sed 's/^/  article: /; 2q' text/test.article) <(sed 's/^/  title:   /; 2q' text/test.title)

say "Preparing it: wfe-preprocess"
logged preprocess.log wfe-preprocess --train text/train --valid text/valid --test text/test --out data
grep -o '\[.*types' preprocess.log | sed 's/^/  /'

say "Training three models on two cores, at most $epochs epochs each: wfe-train"
train() { # name, further options
    local name=$1; shift
    { wfe-train --data data --out "$name" --preset small --epochs "$epochs" --threads 1 --seed "$seed" "$@" 2>&1 ||
        { touch failed; tail -n 5 "$name/train.log" 2>/dev/null; }; } | sed -u "s/^train: /  $name: /"
}
# The model of the default learns to copy within few epochs; plain attention needs twelve of these.
few=$((epochs < 4 ? epochs : 4)) most=$((epochs < 8 ? epochs : 8))
train encdec --baseline & first=$!
{ train default --epochs $few --estimate-epochs 3 --no-calibration; train paper --estimator paper --epochs $most; } & second=$!
trap 'kill $first $second 2>/dev/null || true' EXIT INT TERM
wait $first; wait $second
trap - EXIT INT TERM
[ ! -e failed ] || exit 1

# wfe-train does the same, within a tenth of its own time; without a limit it ends alike on all machines.
say "Calibrating how the default decodes: wfe-calibrate"
logged calibrate.log wfe-calibrate default --pairs 200 --threads 1
tail -n 1 calibrate.log | sed 's/^calibrate: /  /'

say "Decoding the test set in four ways, beam 5: wfe-generate"
decode() { # name, model, further options
    local name=$1 model=$2; shift 2
    logged "decode-$name.log" wfe-generate --model "$model" --data data --out "$name.out" --threads 1 "$@"
}
decode encdec encdec -- --max-len-b 30 & first=$!
decode rule encdec -- --max-len-b 30 --out-of-source-penalty 2 --word-cap 1 & second=$!
wait $first; wait $second
decode paper paper -- --max-len-b 30 & first=$!
decode default default -- --max-len-b 30 & second=$!
wait $first; wait $second

python "$here/report.py" --articles text/test.article --references text/test.title --explain explain.txt \
    --systems EncDec=encdec.out/summaries.txt "rule=rule.out/summaries.txt" \
    "paper=paper.out/summaries.txt" "default=default.out/summaries.txt" | tee report.txt
logged explain.log wfe-explain --model default --input explain.txt --html explanation.html
printf '\nWhy the default says what it says of the first example: %s/explanation.html\n' "$PWD"
printf 'To try your own words: wfe-explain --model %s/default --serve\n' "$PWD"
printf 'Done in %dm%02ds. Models, outputs and this report (report.txt) are in %s\n' \
    $((SECONDS / 60)) $((SECONDS % 60)) "$PWD"
