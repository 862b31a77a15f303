#!/usr/bin/env bash
# Makes a virtual environment with PyTorch's official CUDA wheel, and prints its path.
#
#   tests/torch_cuda/environment.sh [OPTION] [TORCH_VERSION] [PYTHON]    2.15.0 and /usr/bin/python3 without arguments
#     --find          install nothing: exit 1 where the environment is not there
#     --frameworks    one more environment on top of it, with Lightning, accelerate and transformers
#
# An environment takes 5.4 GB and 3 minutes. All checkouts share it: ~/.cache/ddpscope/pytorch/torch-VERSION-cpXY, or below
# DDPSCOPE_PYTORCH_ENVIRONMENTS. The file `complete` in it lists its packages; where that file is missing or lists others,
# an installation was interrupted, or is old, and is made anew.
set -euo pipefail

find_only=no frameworks=no
while [[ "${1:-}" = --* ]]; do
  case $1 in
    --find) find_only=yes ;;
    --frameworks) frameworks=yes ;;
    *) echo "error: unknown option '$1'" >&2; exit 2 ;;
  esac
  shift
done
version=${1:-2.15.0}
python=${2:-/usr/bin/python3}
packages=("torch==$version" numpy==2.4.6 expecttest==0.3.0 safetensors==0.8.0 pytest==9.2.0 psutil==7.2.2)
framework_packages=(lightning==2.6.6 accelerate==1.15.0 transformers==5.23.0)

root=${DDPSCOPE_PYTORCH_ENVIRONMENTS:-${XDG_CACHE_HOME:-$HOME/.cache}/ddpscope/pytorch}
tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])') || { echo "error: no Python $python" >&2; exit 2; }
environment=$root/torch-$version-$tag

# A network may fail for a moment.
retried() {
  local pause
  for pause in 5 20; do
    if "$@"; then return; fi
    echo "warning: trying again in $pause s: $*" >&2
    sleep "$pause"
  done
  "$@"
}

is_complete() { [ "$(cat "$1/complete" 2>/dev/null)" = "${*:2}" ]; }

# make FOLDER BASE PACKAGE...: BASE is an environment whose packages are seen, too, or empty.
make() {
  local folder=$1 base=$2
  shift 2
  ! is_complete "$folder" "$@" || return 0
  if [ $find_only = yes ]; then return 1; fi
  mkdir -p "$root"
  # Several checkouts may ask at once; the first one installs.
  exec 9>"$folder.lock"
  flock -w 1800 9 || { echo "error: another installation of $folder does not end" >&2; return 1; }
  if ! is_complete "$folder" "$@"; then
    echo "installing into $folder: $*" >&2
    install "$folder" "$base" "$@" >&2 || return 1
  fi
  exec 9>&-
}

install() {
  local folder=$1 base=$2
  shift 2
  rm -rf "$folder"
  "$python" -m venv "$folder" || return 1
  [ -z "$base" ] || echo "$base/lib/python${tag:2:1}.${tag:3}/site-packages" >"$folder/lib/python${tag:2:1}.${tag:3}/site-packages/base.pth"
  retried "$folder/bin/python" -m pip --quiet --disable-pip-version-check install "$@" || return 1
  echo "$*" >"$folder/complete"
}

make "$environment" "" "${packages[@]}" || exit 1
if [ $frameworks = yes ]; then
  make "$environment-frameworks" "$environment" "${framework_packages[@]}" || exit 1
  environment+=-frameworks
fi
echo "$environment"
