#!/usr/bin/env bash
# Builds the fuzz targets with clang and runs each for the given seconds: tests/fuzz.sh SECONDS [TARGET...]
#
# A target is an executable of tests/fuzz, build/fuzz/bin/*fuzz*; its seeds are build/fuzz/seeds/<target>/, compiled
# from tests/fuzz/seeds, what it learned stays in build/fuzz/corpus/, and an input that crashes it is left in build/fuzz/crashes/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=$1
shift

if [ ! -e tests/fuzz/CMakeLists.txt ]; then
  echo "skipped: no fuzz target in tests/fuzz"
  exit 0
fi
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target tests/fuzz/all --parallel "$(nproc)"

targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  mapfile -t targets < <(find build/fuzz/bin -name '*fuzz*' -type f -executable -printf '%f\n' | sort)
fi
[ ${#targets[@]} -gt 0 ] || { echo "error: tests/fuzz built no target build/fuzz/bin/*fuzz*" >&2; exit 1; }

failed=0
for target in "${targets[@]}"; do
  corpus=build/fuzz/corpus/$target
  mkdir -p "$corpus" build/fuzz/crashes
  seeds=()
  [ ! -d "build/fuzz/seeds/$target" ] || seeds=("build/fuzz/seeds/$target")
  log=build/fuzz/$target.log
  if timeout $((seconds + 120)) "build/fuzz/bin/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
      -artifact_prefix="build/fuzz/crashes/$target-" "$corpus" "${seeds[@]}" >"$log" 2>&1; then
    echo "passed: $target: $(grep -a '^Done' "$log" || echo "see $log")"
  else
    failed=1
    echo "FAILED: $target; the input is in build/fuzz/crashes, the log in $log"
    tail -n 30 "$log"
  fi
done
exit "$failed"
