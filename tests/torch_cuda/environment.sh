#!/usr/bin/env bash
# Makes a virtual environment with PyTorch's official CUDA wheel, and prints its path.
#
#   tests/torch_cuda/environment.sh [OPTION] [TORCH_VERSION] [PYTHON]    2.15.0 and /usr/bin/python3 without arguments
#     --find          install nothing: exit 1 where the environment is not there
#     --frameworks    one more environment on top of it, with Lightning, accelerate and transformers
#     --wild          likewise, with the packages of tests/wild
#     --speechbrain   likewise, with what SpeechBrain needs, and its versions, each in packages/speechbrain-VERSION/site-packages
#
# An environment takes 5.4 GB and 3 minutes. All checkouts share it: ~/.cache/ddpscope/pytorch/torch-VERSION-cpXY, or below
# DDPSCOPE_PYTORCH_ENVIRONMENTS. The file `complete` in it lists its packages; where that file is missing or lists others,
# an installation was interrupted, or is old, and is made anew.
set -euo pipefail

find_only=no on_top=()
while [[ "${1:-}" = --* ]]; do
  case $1 in
    --find) find_only=yes ;;
    --frameworks | --wild | --speechbrain) on_top+=("${1#--}") ;;
    *) echo "error: unknown option '$1'" >&2; exit 2 ;;
  esac
  shift
done
version=${1:-2.15.0}
python=${2:-/usr/bin/python3}
packages=("torch==$version" numpy==2.4.6 expecttest==0.3.0 safetensors==0.8.0 pytest==9.2.0 psutil==7.2.2)
frameworks=(lightning==2.6.6 accelerate==1.15.0 transformers==5.23.0)
wild=(coqui-tts-trainer==0.4.0 lightning==2.6.6 hydra-core==1.3.2)
speechbrain=(scipy==1.17.1 sentencepiece==0.2.3 HyperPyYAML==1.2.3 joblib==1.6.0 huggingface_hub==2.4.0 soundfile==0.14.0
             requests==2.34.2 torchaudio==2.11.1 apart:speechbrain==0.5.16 apart:speechbrain==1.0.0
             apart:speechbrain==1.0.1 apart:speechbrain==1.0.2 apart:speechbrain==1.1.2)

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

# make FOLDER BASE PACKAGE...: BASE is an environment whose packages are seen, too, or empty. apart:PACKAGE gets its own
# folder below FOLDER/packages, without its dependencies.
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

get() { "$1/bin/python" -m pip --quiet --disable-pip-version-check install "${@:2}"; }

install() {
  local folder=$1 base=$2
  shift 2
  rm -rf "$folder"
  "$python" -m venv "$folder" || return 1
  [ -z "$base" ] || echo "$base/lib/python${tag:2:1}.${tag:3}/site-packages" >"$folder/lib/python${tag:2:1}.${tag:3}/site-packages/base.pth"
  local package together=()
  for package; do
    case $package in
      apart:*)
        package=${package#apart:}
        retried get "$folder" --no-deps --target "$folder/packages/${package/==/-}/site-packages" "$package" || return 1 ;;
      *) together+=("$package") ;;
    esac
  done
  retried get "$folder" "${together[@]}" || return 1
  echo "$*" >"$folder/complete"
}

make "$environment" "" "${packages[@]}" || exit 1
base=$environment
for name in "${on_top[@]}"; do
  declare -n more=$name
  environment=$base-$name
  make "$environment" "$base" "${more[@]}" || exit 1
done
echo "$environment"
