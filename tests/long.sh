#!/usr/bin/env bash
# The tests that take hours: tests/long.sh [PART], PART one of the functions part_* below.
#
# Without PART every part that has no result yet for this commit runs, so an interrupted run goes on where it was;
# a named part always runs. Results stand in docs/long-runs.md, a row a part.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

rounds=20
export DDPSCOPE_RANKS=all  # rank counts of each test; CI runs some (tests/python/rank_counts.py)
silent_seeds=17        # of every healthy twin of the trainer, at 2, 4 and 8 ranks each: 51 runs
silent_torch_seeds=10  # of every healthy PyTorch job
silent_wild_seeds=20   # of every healthy use of a released package
held_up_seeds=5
torch2_wheels=(torch==2.6.0 numpy==2.4.6 pytest==9.2.0 safetensors==0.4.5)
torch_cuda13=2.15.0  # as tests/torch_cuda/environment.sh has it
torch_cuda12=2.10.0
fuzz_seconds=1800
table=docs/long-runs.md
commit=$(git rev-parse --short=12 HEAD)$(git diff --quiet HEAD || echo '+')

# Every test, over and over; the rounds that passed are remembered.
part_repeat() {
  cmake --preset dev >/dev/null && cmake --build --preset dev --parallel "$(nproc)" || return 1
  local progress=build/long/repeat.$commit passed
  mkdir -p build/long
  while passed=$(wc -l 2>/dev/null <"$progress" || echo 0); [ "$passed" -lt "$rounds" ]; do
    ctest --preset dev --parallel 4 --timeout 300 --quiet --output-log build/long/repeat.log || return 1
    date -u +%FT%TZ >>"$progress"
  done
}

# Healthy jobs with other draws each time: nothing may be found.
part_silence() { silent e2e $silent_seeds; }
part_silence_torch() { silent torch $silent_torch_seeds; }
part_silence_wild() {
  bash tests/torch_cuda/environment.sh --frameworks --wild --speechbrain && silent wild $silent_wild_seeds
}

# silent FOLDER SEEDS: the healthy jobs of tests/FOLDER with each seed. Seeds that passed at this commit are remembered.
silent() {
  cmake --preset dev >/dev/null && cmake --build --preset dev --parallel "$(nproc)" || return 1
  local progress=build/long/silence.$1.$commit seed
  mkdir -p build/long
  touch "$progress"
  for seed in $(seq "$2"); do
    if grep -qx "$seed" "$progress"; then continue; fi
    DDPSCOPE_SEEDS=$seed ctest --preset dev -R "^$1\.healthy" --parallel 4 --output-on-failure || return 1
    echo "$seed" >>"$progress"
  done
}

# The same while processes of theirs are stopped for moments (tests/python/hold_ups.py).
part_hold_ups() {
  cmake --preset dev >/dev/null && cmake --build --preset dev --parallel "$(nproc)" || return 1
  bash tests/torch_cuda/environment.sh --frameworks --wild --speechbrain || return 1
  local seed
  for seed in $(seq $held_up_seeds); do
    DDPSCOPE_HOLD_UPS=$seed ctest --preset dev -R '^(torch\.healthy_order|wild\.healthy)' --timeout 1800 --output-on-failure || return 1
  done
}

# The PyTorch jobs that CI runs, with an older torch 2 of PyPI (5 GB with its CUDA libraries), whose store speaks another protocol
# and which has watchdog and heartbeat threads.
part_torch2() {
  cmake --preset dev >/dev/null && cmake --build --preset dev --parallel "$(nproc)" || return 1
  local python=build/long/torch2/bin/python
  [ -x $python ] || python3 -m venv build/long/torch2
  $python -m pip install --quiet --disable-pip-version-check "${torch2_wheels[@]}" || return 1
  DDPSCOPE_RANKS='' DDPSCOPE_TORCH=$PWD/$python DDPSCOPE_BUILD=$PWD/build/dev PYTHONPATH=$PWD/tests/python:$PWD/.venv/python \
    PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -m pytest -q -rsx -p no:cacheprovider tests/torch
}

# Released packages (tests/wild), and all of tests/torch_cuda, with 2 and 4 ranks and all of PyTorch's own distributed tests, on the
# newest wheel and on the last one for CUDA 12 (5 GB each). What CI runs of them also with Python 3.12, and with operators that
# need no compiler. Tests that passed are remembered.
part_torch_cuda() {
  cmake --preset dev >/dev/null && cmake --build --preset dev --parallel "$(nproc)" || return 1
  local python312 wheel failed=0
  python312=$(command -v /usr/bin/python3.12 "$HOME"/.pyenv/versions/3.12.*/bin/python3.12 | tail -1)
  [ -n "$python312" ] || echo "no Python 3.12 here: not tested" >&2
  bash tests/torch_cuda/environment.sh --frameworks --wild --speechbrain || return 1
  each_once wild wild || failed=1
  for wheel in "$torch_cuda13" "$torch_cuda12"; do
    bash tests/torch_cuda/environment.sh "$wheel" || return 1
    DDPSCOPE_PYTORCH=$wheel each_once "torch_cuda $wheel" torch_cuda || failed=1
  done
  if [ -n "$python312" ]; then
    bash tests/torch_cuda/environment.sh "$torch_cuda13" "$python312" || return 1
    DDPSCOPE_RANKS='' DDPSCOPE_PYTORCH="$torch_cuda13 $python312" each_once "torch_cuda Python 3.12" torch_cuda || failed=1
  fi
  DDPSCOPE_RANKS='' STANDIN_TORCH=python each_once "torch_cuda operators in Python" torch_cuda || failed=1
  return $failed
}

# each_once NAME LABEL: the tests with LABEL that have not passed under NAME at this commit.
each_once() {
  local progress=build/long/$1.$commit label=$2 passed count
  progress=${progress// /.}
  mkdir -p "$(dirname "$progress")"
  touch "$progress"
  passed=$(sed 's/\./\\./g' "$progress" | paste -sd '|')
  count=$(ctest --preset dev -N -L "^$label\$" ${passed:+-E "^($passed)\$"} | sed -n 's/^Total Tests: //p')
  [ "$count" -gt 0 ] || return 0
  ctest --preset dev -L "^$label\$" ${passed:+-E "^($passed)\$"} --parallel 4 --output-on-failure |
    tee >(sed -nu 's/.* Test *#[0-9]*: \([^ ]*\) \.* *Passed .*/\1/p' >>"$progress")
}

# Every way to keep samples, with every way to start workers and every sampler; CI draws some of them.
part_samples() {
  cmake --preset dev >/dev/null && cmake --build --preset dev --parallel "$(nproc)" || return 1
  DDPSCOPE_PAIRS=all DDPSCOPE_BUILD=$PWD/build/dev PYTHONPATH=$PWD/tests/python PYTHONDONTWRITEBYTECODE=1 \
    /usr/bin/python3 -m pytest -q -rsx -p no:cacheprovider tests/torch/test_kept_clips.py
}

# A rank is missing in 100 jobs, and 100 healthy ones are slow: `ddpscope status` names it, and never says stuck.
part_status() {
  cmake --preset dev >/dev/null && cmake --build --preset dev --parallel "$(nproc)" --target ddpscope ddpscope_injector \
    standin_cudart standin_nccl reference_trainer tracegen || return 1
  DDPSCOPE_STALLS=100 DDPSCOPE_SLOW_JOBS=100 DDPSCOPE_BUILD=$PWD/build/dev PYTHONPATH=$PWD/tests/python \
    PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -m pytest -q -rsx -p no:cacheprovider tests/e2e/test_status.py
}

# What the README says under "Install", in a clone: preset release, which CI does not build, on NVIDIA's wheels though a
# toolkit may be here, and installed (tests/install).
part_install() {
  local clone=$PWD/build/long/install elsewhere
  rm -rf "$clone" && git clone --quiet . "$clone" || return 1
  (cd "$clone" && DDPSCOPE_FORCE_WHEELS=1 bash cmake/install_dependencies.sh && cmake --preset release >/dev/null &&
    cmake --build --preset release --parallel "$(nproc)") || return 1
  elsewhere=$(grep -E '^((CUDA|NCCL|CUPTI|NVML)_INCLUDE_DIR|(CUDART|NCCL|CUPTI)_LIBRARY|NVCC):' "$clone/build/release/CMakeCache.txt" |
    grep -v "=$clone/.venv/")
  [ -z "$elsewhere" ] || { echo "error: not of the wheels: $elsewhere" >&2; return 1; }
  DDPSCOPE_BUILD=$clone/build/release PYTHONPATH=$clone/tests/python PYTHONDONTWRITEBYTECODE=1 \
    /usr/bin/python3 -m pytest -q -rsx -p no:cacheprovider "$clone/tests/install"
}

# The packages made anew, in every root file system and with every Python that tests/packages knows, and with PyTorch.
part_packages() {
  bash tests/torch_cuda/environment.sh && bash packaging/build.sh || return 1
  DDPSCOPE_WHEEL=required DDPSCOPE_BUILD=$PWD/build/dev PYTHONPATH=$PWD/tests/python PYTHONDONTWRITEBYTECODE=1 \
    /usr/bin/python3 -m pytest -q -rsx -p no:cacheprovider tests/packages
}

part_asan() { sanitized asan; }
part_tsan() { sanitized tsan; }
part_fuzz() { bash tests/fuzz.sh "$fuzz_seconds"; }

# With the free-threaded build of CPython, which no distribution of Debian has.
part_python() {
  cmake --preset dev >/dev/null && cmake --build --preset dev --parallel "$(nproc)" || return 1
  bash tests/interpreters.sh build/dev/interpreters --free-threaded
  ctest --preset dev -R inject.python --timeout 600 || return 1
  [ -x build/dev/interpreters/free-threaded/python3.13t ]
}

sanitized() {
  cmake --preset "$1" >/dev/null && cmake --build --preset "$1" --parallel "$(nproc)" || return 1
  ctest --preset "$1" --parallel 4 --timeout 900
}

record() {
  mkdir -p docs
  [ -e $table ] || printf '# Last results of tests/run.sh --long\n\n| part | result | commit | date | minutes |\n|---|---|---|---|---|\n' >$table
  sed -i "/^| $1 |/d" $table
  echo "| $1 | $2 | $commit | $(date -u +%F) | $3 |" >>$table
}

parts=$(declare -F | sed -n 's/^declare -f part_//p')
if [ $# -gt 0 ]; then
  set -- "${1//-/_}"
  grep -qx -- "$1" <<<"$parts" || { echo "error: no part '$1'; parts: ${parts//$'\n'/ }" >&2; exit 2; }
  chosen=$1
else
  chosen=$parts
fi

bash cmake/install_dependencies.sh
failed=0
for part in $chosen; do
  if [ $# -eq 0 ] && grep -q "^| $part | passed | $commit |" $table 2>/dev/null; then
    echo "== $part: passed before at $commit"
    continue
  fi
  echo "== $part"
  started=$SECONDS result=passed
  "part_$part" || { result=FAILED; failed=1; }
  record "$part" "$result" $(((SECONDS - started + 59) / 60))
  echo "== $part: $result"
done
exit "$failed"
