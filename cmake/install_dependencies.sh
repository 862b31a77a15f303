#!/usr/bin/env bash
# Installs what the build and the tests need on Debian 12; does nothing when all of it is there.
#
# Debian's packages come from apt. Where no CUDA toolkit 13 with NCCL is found, NVIDIA's wheels are unpacked into
# .venv and .venv/cuda points at them; cmake/cuda.cmake looks there first. DDPSCOPE_FORCE_WHEELS=1 takes the wheels
# although a toolkit is installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

debian_packages=(
  # build
  g++ cmake ninja-build ccache pkgconf
  libfmt-dev nlohmann-json3-dev libcli11-dev libxxhash-dev libzstd-dev libdw-dev libelf-dev libpugixml-dev
  libglfw3-dev libimgui-dev libstb-dev libfreetype-dev libepoxy-dev zlib1g-dev
  libegl1 libgl1-mesa-dri fonts-inter fonts-jetbrains-mono fonts-dejavu-core
  # tests
  libgtest-dev libgmock-dev libbenchmark-dev valgrind python3 python3-numpy python3-pytest python3-torch
  python3-packaging python3-psutil python3-venv python3-yaml
  debootstrap rpm lintian buildah
  iproute2 bindfs fuse3 libfuse3-dev xvfb xdotool python3-xlib
  openmpi-bin libopenmpi-dev mpich libmpich-dev python3-mpi4py
  python3-jsonschema libxml2-utils cmark-gfm chromium dpkg-dev groff-base
  libjemalloc2 libmimalloc2.0 libtcmalloc-minimal4
  musl-tools libhwloc15 libnuma1 liblz4-1 libpam0g libjson-c5 libdbus-1-3
  # fuzz preset
  clang libclang-rt-dev
)
# Only for wheels.
wheel_packages=(python3-venv ca-certificates)

# cuda-crt and nvvm are what nvcc needs beside itself, cccl what its headers include, profiler-api the header of two
# more functions of the runtime. The NCCL wheel (190 MB) is taken whole: programs are linked against the library they
# would meet on a GPU machine, so a name that only a stand-in has cannot slip in.
nvidia_wheels=(
  nvidia-cuda-runtime==13.0.96
  nvidia-cuda-nvcc==13.0.88
  nvidia-cuda-crt==13.0.88
  nvidia-nvvm==13.0.88
  nvidia-cuda-cccl==13.0.85
  nvidia-cuda-profiler-api==13.0.85
  nvidia-cuda-cupti==13.0.85
  nvidia-nvtx==13.0.85
  nvidia-nccl-cu13==2.28.9
)

# What the tests' PyTorch jobs use beside Debian's packages; where it cannot be had, those jobs are skipped. accelerate: a
# version that takes Debian's PyTorch 1.13 and needs nothing but packages above.
python_wheels=(safetensors==0.4.5 accelerate==0.22.0)

# NVML's header, which an installed toolkit may lack, and Python's module for NVML, with which its stand-in is tested.
nvml_wheels=(nvidia-nvml-dev==13.0.87 nvidia-ml-py==13.580.82)

# Headers and runtime of CUDA 12, with which a test of the stand-ins is built; where they cannot be had, it is not.
cuda12_wheels=(nvidia-cuda-runtime-cu12==12.9.79)

# Schemas that reports are checked against, out of the sources that are published with them: OASIS' of SARIF, Jenkins' of JUnit.
# Unpacked into .venv/schemas; where they cannot be had, those tests fail. pip runs their build systems to know what they
# are: those come as wheels (--no-binary :all: would build each of them, and what builds it, for ten minutes).
schema_sources=(sarif-pydantic==0.6.2 pytest==8.4.2)
schemas=(sarif-schema-2.1.0.json junit-10.xsd)

# Kubernetes' own, by which a manifest of docs/ is checked. Likewise.
kubernetes_schemas=(kubernetes-validate==1.37.0 v1.33.0-local/_definitions.json v1.33.0-local/{job-batch,service}-v1.json)

# Unpacked into .venv/slurm and not installed: their installation would make users and enable services. The libraries
# that they need are among the packages above. Where they cannot be had, the tests with Slurm are skipped.
slurm_packages=(slurmctld slurmd slurm-client slurm-wlm-basic-plugins)

# Unpacked into .venv/openblas and not installed: the package would become the BLAS of the whole machine. Where it cannot be
# had, the stand-in for cuBLAS is not built.
openblas_packages=(libopenblas-serial-dev)

fail() {
  printf 'error: %s\n' "$1" >&2
  [ $# -lt 2 ] || printf 'hint: %s\n' "$2" >&2
  exit 2
}

# A network may fail for a moment.
retried() {
  local pause
  for pause in 5 20; do
    if "$@"; then return; fi
    echo "warning: trying again in $pause s: $*" >&2
    sleep $pause
  done
  "$@"
}

pip() { retried .venv/bin/python -m pip --quiet --disable-pip-version-check "$@"; }

make_venv() {
  install_debian_packages "${wheel_packages[@]}"
  [ -x .venv/bin/python ] || /usr/bin/python3 -m venv .venv || fail "cannot create a virtual environment in $PWD/.venv"
}

missing_packages() {
  local package
  for package in "$@"; do
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || echo "$package"
  done
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    env DEBIAN_FRONTEND=noninteractive "$@"
  elif [ -t 0 ]; then
    sudo env DEBIAN_FRONTEND=noninteractive "$@"
  else
    sudo -n env DEBIAN_FRONTEND=noninteractive "$@"
  fi
}

install_debian_packages() {
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  local by_hand="as root: apt-get install ${missing[*]}"
  command -v apt-get >/dev/null || fail "missing packages and no apt-get here: ${missing[*]}" \
    "install their counterparts and build with cmake directly"
  [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null || fail "missing packages, and neither root nor sudo" "$by_hand"
  echo "installing Debian packages: ${missing[*]}"
  # A mirror of somebody else's that cannot be reached must not stop us: the install below tells what is missing.
  as_root apt-get update -qq || echo "warning: apt-get update failed, going on with the package lists at hand" >&2
  as_root apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 "${missing[@]}" >/dev/null ||
    fail "apt-get could not install: ${missing[*]}" "$by_hand"
}

# The folder of an installed toolkit 13 beside which NCCL's header and library are found, or nothing.
installed_toolkit() {
  local root
  for root in "${DDPSCOPE_CUDA_ROOT:-}" "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /opt/cuda; do
    [ -n "$root" ] && [ -x "$root/bin/nvcc" ] || continue
    "$root/bin/nvcc" --version | grep -q 'release 13\.' || continue
    has_file "$root" include/nccl.h || continue
    has_file "$root" lib/libnccl.so.2 lib64/libnccl.so.2 lib/x86_64-linux-gnu/libnccl.so.2 || continue
    echo "$root"
    return
  done
}

# has_file ROOT PATH...: one of the paths exists under ROOT or where distributions put it.
has_file() {
  local prefix path
  for prefix in "$1" /usr/local /usr; do
    for path in "${@:2}"; do
      [ ! -e "$prefix/$path" ] || return 0
    done
  done
  return 1
}

# Lays the wheels out like a toolkit: .venv/cuda/{bin,include,lib,nvvm}, NCCL among the rest.
install_nvidia_wheels() {
  local stamp=.venv/nvidia-wheels
  [ "$(cat $stamp 2>/dev/null)" != "${nvidia_wheels[*]}" ] || return 0
  echo "installing NVIDIA's wheels into .venv: ${nvidia_wheels[*]}"
  make_venv
  pip install --no-deps "${nvidia_wheels[@]}" ||
    fail "pip could not install NVIDIA's wheels" "install CUDA Toolkit 13 and NCCL, then set CUDA_HOME to its folder"
  local site
  site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  site=${site#"$PWD/.venv/"}
  ln -sfn "$site/nvidia/cu13" .venv/cuda
  (cd .venv/cuda/include && ln -sf ../../nccl/include/* .)
  (cd .venv/cuda/lib && ln -sf ../../nccl/lib/libnccl.so.2 .)
  [ -x .venv/cuda/bin/nvcc ] && [ -e .venv/cuda/include/nccl.h ] && [ -e .venv/cuda/lib/libnccl.so.2 ] ||
    fail "NVIDIA's wheels are not laid out as expected under .venv/$site/nvidia"
  echo "${nvidia_wheels[*]}" > $stamp
}

# install_wheels FOLDER CONSEQUENCE WHEEL...: into .venv/FOLDER, apart from each other's and from Debian's packages.
install_wheels() {
  local folder=.venv/$1 consequence=$2
  shift 2
  [ "$(cat "$folder/installed" 2>/dev/null)" != "$*" ] || return 0
  echo "installing into $folder: $*"
  make_venv
  if pip install --no-deps --upgrade --target "$folder" "$@"; then
    echo "$*" > "$folder/installed"
  else
    echo "warning: pip could not install $*: $consequence" >&2
  fi
}

unpack_schemas() {
  local folder=.venv/schemas schema archive
  [ "$(cat $folder/unpacked 2>/dev/null)" != "${schema_sources[*]}" ] || return 0
  echo "unpacking into $folder: ${schemas[*]}"
  make_venv
  rm -rf $folder
  mkdir -p $folder/sources
  if pip download --no-deps --dest $folder/sources --no-binary "$(IFS=,; echo "${schema_sources[*]%%=*}")" \
    "${schema_sources[@]}"; then
    for archive in $folder/sources/*.tar.gz; do
      for schema in "${schemas[@]}"; do
        tar -xzf "$archive" -C $folder --wildcards --transform='s,.*/,,' "*/$schema" 2>/dev/null || true
      done
    done
    for schema in "${schemas[@]}"; do [ -s "$folder/$schema" ] || fail "there is no $schema in ${schema_sources[*]}"; done
    echo "${schema_sources[*]}" > $folder/unpacked
  else
    echo "warning: pip could not download ${schema_sources[*]}: the tests of report formats will fail" >&2
  fi
  rm -rf $folder/sources
}

# unpack_kubernetes WHEEL FILE...: into .venv/kubernetes.
unpack_kubernetes() {
  local folder=.venv/kubernetes
  [ "$(cat $folder/unpacked 2>/dev/null)" != "$*" ] || return 0
  echo "unpacking into $folder: ${*:2}"
  make_venv
  rm -rf $folder
  mkdir -p $folder/download
  if pip download --no-deps --dest $folder/download "$1"; then
    .venv/bin/python - $folder "${@:2}" <<'PYTHON'
import pathlib, sys, zipfile

folder = pathlib.Path(sys.argv[1])
(wheel,) = (folder / "download").glob("*.whl")
with zipfile.ZipFile(wheel) as archive:
    for name in sys.argv[2:]:
        (folder / pathlib.Path(name).name).write_bytes(archive.read(f"kubernetes_validate/kubernetes-json-schema/{name}"))
PYTHON
    echo "$*" > $folder/unpacked
  else
    echo "warning: pip could not download $1: the test of a manifest will fail" >&2
  fi
  rm -rf $folder/download
}

download_packages() { apt-get download -qq "$@" 2>/dev/null || { as_root apt-get update -qq && apt-get download -qq "$@"; }; }

# unpack_packages FOLDER CONSEQUENCE PACKAGE...: each package's files below .venv/FOLDER.
unpack_packages() {
  local folder=.venv/$1 consequence=$2 package
  shift 2
  [ "$(cat "$folder/unpacked" 2>/dev/null)" != "$*" ] || return 0
  echo "unpacking into $folder: $*"
  rm -rf "$folder"
  mkdir -p "$folder/packages"
  if (cd "$folder/packages" && download_packages "$@") >/dev/null 2>&1; then
    for package in "$folder"/packages/*.deb; do dpkg-deb -x "$package" "$folder"; done
    echo "$*" > "$folder/unpacked"
  else
    echo "warning: apt-get could not download $*: $consequence" >&2
  fi
  rm -rf "$folder/packages"
}

install_debian_packages "${debian_packages[@]}"
if [ "${DDPSCOPE_FORCE_WHEELS:-0}" = 1 ] || [ -z "$(installed_toolkit)" ]; then
  install_nvidia_wheels
fi
# The tests put this folder behind Debian's packages on PYTHONPATH.
install_wheels python "the tests that need it will be skipped" "${python_wheels[@]}"
install_wheels nvml "the build needs a toolkit with nvml.h" "${nvml_wheels[@]}"
install_wheels cuda12 "a test of the stand-ins will not be built" "${cuda12_wheels[@]}"
unpack_schemas
unpack_kubernetes "${kubernetes_schemas[@]}"
unpack_packages slurm "the tests with Slurm will be skipped" "${slurm_packages[@]}"
unpack_packages openblas "the stand-in for cuBLAS will not be built" "${openblas_packages[@]}"
