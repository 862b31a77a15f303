#!/usr/bin/env bash
# Installs what is missing, builds preset dev and the wheel, and tests everything: what CI runs, 35 to 55 minutes on two cores.
#
#   tests/run.sh                  every test once, every fuzz target over its seeds
#   tests/run.sh --long [PART]    repeats, sanitizers and long fuzzing, at all rank counts, preset release; see tests/long.sh
#
# Ends with ctest's own summary and what failed beside it; exit 1 if anything did or no test ran. What could not run is
# listed as skipped, and what failed beside others and passed alone is named.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1:-}" in
  '') ;;
  --long) shift; exec bash tests/long.sh "$@" ;;
  *) echo "error: unknown argument '$1'" >&2; echo "hint: tests/run.sh [--long [PART]]" >&2; exit 2 ;;
esac

step() { printf '\n== %s (%d s)\n' "$1" "$SECONDS"; }

step "dependencies"
bash cmake/install_dependencies.sh
bash tests/interpreters.sh build/dev/interpreters
# 5.4 GB, from the network while the processors build.
mkdir -p build/dev
bash tests/torch_cuda/environment.sh --wild --speechbrain >build/dev/pytorch-environment 2>&1 &
pytorch=$!

step "build: preset dev"
cmake --preset dev
cmake --build --preset dev --parallel "$(nproc)"

step "PyTorch's CUDA wheel"
wait $pytorch || echo "warning: it cannot be had: the tests of torch_cuda will be skipped" >&2
cat build/dev/pytorch-environment

step "the wheel, from preset portable"
bash packaging/build.sh
export DDPSCOPE_WHEEL=required  # a test without it fails

failed=()
results=build/dev/Testing/Temporary
step "tests"
rm -f "$results/LastTestsFailed.log"
ctest --preset dev --parallel 4 --timeout 300 || failed+=("tests")
cp "$results/LastTest.log" "$results/all.log"

# Jobs that are in each other's way on a busy machine may come too late for what a test waits for. A few that failed get a
# second try with the machine to themselves; what fails then too has failed, and what passes is named.
few=5 count=$(wc -l 2>/dev/null <"$results/LastTestsFailed.log" || echo 0)
if [ ${#failed[@]} -gt 0 ] && [ "$count" -gt 0 ] && [ "$count" -le $few ]; then
  names=$(cut -d: -f2 "$results/LastTestsFailed.log" | paste -sd ' ')
  step "once more, alone: $names"
  if ctest --preset dev --rerun-failed --parallel 1 --timeout 300; then
    failed=()
    printf 'warning: failed beside others, and passed alone: %s\n' "$names" >&2
  fi
fi

# ctest names the tests that were skipped whole; what a Python test skips, or fails as known, is only in its log.
skipped=$(grep -ahE '^(SKIPPED|XFAIL)' "$results/all.log" | sort | uniq -c || true)
[ -z "$skipped" ] || printf '\nskipped, or a known failure:\n%s\n' "$skipped"
if [ ${#failed[@]} -gt 0 ]; then
  printf 'failed: %s\n' "${failed[@]}" >&2
  exit 1
fi
