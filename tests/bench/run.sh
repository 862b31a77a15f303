#!/usr/bin/env bash
# Builds and runs the benchmarks; prints the tables of docs/measurements.md.
#
#   tests/bench/run.sh [BUILD] [--repeats N] [--disk FOLDER]
#
# BUILD is build/bench unless it is given. Best on a machine that does nothing else: of each figure the least and the
# median of N runs (10) are printed. Instructions are counted where valgrind is installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

build=build/bench
case "${1:-}" in
  ''|-*) ;;
  *) build=$1; shift ;;
esac
cmake --preset release -B "$build" -DBUILD_TESTING=ON >/dev/null
cmake --build "$build" --target bench >/dev/null
exec /usr/bin/python3 tests/bench/measure.py "$build" "$@"
