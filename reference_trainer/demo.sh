#!/usr/bin/env bash
# Shows ddpscope at work: trains healthy and with four planted bugs, and prints what ddpscope found in each run.
#
#   reference_trainer/demo.sh [--ranks N] [--out DIR]      4 ranks, ./ddpscope-demo; installed: ddpscope-demo
#
# Uses the build that DDPSCOPE_BUILD names, or the ddpscope beside it or on the PATH if reference_trainer lies there, too (an
# installed wheel or package, a build); else installs what is missing and builds preset release into build/release. No GPU needed.
# Keeps for each run NAME in DIR: NAME.trace/, NAME.json, NAME.txt (the reports), NAME.log (what the trainer printed) and
# NAME.job/ (what it wrote).
# Exit 0 if the healthy run has no finding and every bug is reported as exactly itself.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

faults=(skipped-barrier duplicate-checkpoint-write unsharded-sampler redundant-accumulation-sync)
ranks=4
out=$PWD/ddpscope-demo

usage() { echo "error: $1" >&2; echo "hint: $(basename "$0") [--ranks N] [--out DIR]" >&2; exit 2; }
while [ $# -gt 0 ]; do
  [ $# -ge 2 ] || usage "'$1' is unknown or needs a value"
  case "$1" in
    --ranks) [[ "$2" =~ ^[1-9][0-9]*$ ]] || usage "--ranks '$2' is not a number"; ranks=$2 ;;
    --out) out=$(realpath -m -- "$2") ;;
    *) usage "unknown option '$1'" ;;
  esac
  shift 2
done
mkdir -p "$out"
# On one machine communication costs next to nothing; this is a network between the ranks, so that its cost shows.
export STANDIN_LINK=${STANDIN_LINK:-50us,1GB/s}

installed=$(command -v "$(dirname -- "${BASH_SOURCE[0]}")/ddpscope" ddpscope | head -n 1) &&
  installed=$(dirname -- "$(realpath -- "$installed")")/reference_trainer
cd "$root"
if [ -n "${DDPSCOPE_BUILD:-}" ]; then
  bin=$DDPSCOPE_BUILD/bin
elif [ -f "$installed" ] && [ -x "$installed" ]; then
  bin=$(dirname -- "$installed")
  echo "using $bin/ddpscope: $("$bin/ddpscope" --version)"
else
  bin=$root/build/release/bin
  bash cmake/install_dependencies.sh
  echo "building preset release (log: $out/build.log)"
  { cmake --preset release && cmake --build --preset release --parallel "$(nproc)"; } >"$out/build.log" 2>&1 ||
    { tail -n 30 "$out/build.log"; echo "error: the build failed, see $out/build.log" >&2; exit 2; }
fi

# verify REPORT.json [SLUG]: exit 0 if the findings are exactly the expected one (or none) and it could be judged.
verify() {
  python3 - "$@" <<'PYTHON'
import json, sys

path, expected = sys.argv[1], sys.argv[2:]
report = json.load(open(path))
for entry in report["coverage"]:
    if set(expected) & set(entry["unjudged"]):
        print(f"  not judged: {entry['what']}: {entry['why']}")
sys.exit(sorted(finding["slug"] for finding in report["findings"]) != sorted(expected))
PYTHON
}

# demo NAME [FAULT]: one run, both reports, what was found; fails unless the findings are as expected.
demo() {
  local name=$1 fault=("${@:2}") trace=$out/$1.trace job=0 report=0
  printf '== %s, %d ranks\n' "$name" "$ranks"
  rm -rf -- "$trace" "$out/$name.job"
  timeout 300 "$bin/ddpscope" run --cpu -o "$trace" -- \
    "$bin/reference_trainer" --ranks "$ranks" --workdir "$out/$name.job" ${fault[0]:+--fault "${fault[0]}"} >"$out/$name.log" 2>&1 || job=$?
  if [ "$job" -ne 0 ]; then
    echo "  the job itself ended with exit code $job (log: $out/$name.log)"
    [ ${#fault[@]} -gt 0 ] || return 1
  fi
  "$bin/ddpscope" report "$trace" --format json -o "$out/$name.json" || report=$?
  [ "$report" -le 1 ] || return 1
  "$bin/ddpscope" report "$trace" --format text -o "$out/$name.txt" || report=$?
  [ "$report" -le 1 ] || return 1
  sed '/^what this trace cannot show/,$d; s/^\(.\)/  \1/' "$out/$name.txt"
  verify "$out/$name.json" "${fault[@]}"
}

wrong=()
echo  # each report ends with an empty line
demo healthy || wrong+=(healthy)
for fault in "${faults[@]}"; do
  demo "$fault" "$fault" || wrong+=("$fault")
done

printf 'traces, reports and logs: %s\n' "$out"
if [ ${#wrong[@]} -gt 0 ]; then
  echo "verdict: NOT as expected: ${wrong[*]}"
  exit 1
fi
echo "verdict: nothing found on the healthy run, each of the ${#faults[@]} bugs found as exactly itself"
