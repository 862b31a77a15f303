#!/usr/bin/env bash
# Checks ddpscope on this machine's GPU, or with --standins on the CPU stand-ins: see README.md beside this.
#
#   tests/gpu/run.sh [BUILD] [--standins] [--only NAME,...] [--out FOLDER] [--seconds N] [--page FILE]
#
# Needs Python 3.8 or newer and, for a GPU, NVIDIA's driver. Exit code 1: a check failed; 2: nothing has run.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${DDPSCOPE_GPU_PYTHON:-python3}  # PyTorch is looked for in this one, too
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null; then
  echo "error: $python is not Python 3.8 or newer" >&2
  echo "hint: DDPSCOPE_GPU_PYTHON=PATH names another one" >&2
  exit 2
fi
exec env PYTHONDONTWRITEBYTECODE=1 "$python" "$here/checks/main.py" "$@"
