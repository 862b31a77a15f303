#!/usr/bin/env bash
# Makes the pictures of the README and docs/: runs the reference trainer with a fault each, on the CPU stand-ins,
# and has the viewer draw what was recorded. No display is needed.
#
#   docs/pictures/make.sh [BUILD]        BUILD: build folder, by default build/release
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
build=$(realpath "${1:-$here/../../build/release}")
cd "$here"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# picture NAME FAULT VIEWER-OPTION...    FAULT: -: the trace NAME is there already
picture() {
  local name=$1 fault=$2
  shift 2
  if [ "$fault" != - ] && [ ! -d "$work/$name" ]; then
    mkdir "$work/$name.job"
    (cd "$work/$name.job" && "$build/bin/ddpscope" run --cpu -o "$work/$name" -- "$build/bin/reference_trainer" --ranks 4 --fault "$fault") \
      > "$work/$name.log" 2>&1 || true  # some faults end the job
  fi
  "$build/bin/ddpscope" view "$work/$name" --screenshot "$name.png" --size 1600x900 "$@"
  echo "$name.png $(stat -c %s "$name.png")"
}

picture skipped-barrier skipped-barrier/preparation --goto skipped-barrier
picture duplicate-checkpoint-write duplicate-checkpoint-write/all --goto duplicate-checkpoint-write
picture unsharded-sampler unsharded-sampler/no-sampler --goto unsharded-sampler
picture redundant-accumulation-sync redundant-accumulation-sync/every-micro-batch --goto redundant-accumulation-sync
picture checkpoint-race checkpoint-race/rotation --goto checkpoint-race

# docs/tutorial.md: a PyTorch job, recorded where it lies.
mkdir "$work/job"
cp ../tutorial/recipe.py "$work/job"
(cd "$work/job" && "$build/bin/ddpscope" run -o "$work/tutorial" -- torchrun --nproc_per_node 2 -r 1 -t 1 recipe.py) > "$work/tutorial.log" 2>&1 || true
picture tutorial - --goto divergent-existence-check

# The report of the first of them, as a browser shows it.
report=$work/report.html
"$build/bin/ddpscope" report "$work/skipped-barrier" --format html -o "$report" || [ $? -eq 1 ]
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1200,1500 --screenshot=html-report.png "file://$report" 2> /dev/null
echo "html-report.png $(stat -c %s html-report.png)"
