#!/usr/bin/env bash
# Collects what run.sh needs into one folder and archive for a machine that has a GPU and no compiler.
#
#   tests/gpu/pack.sh BUILD OUT     makes OUT/ddpscope-gpu and OUT/ddpscope-gpu.tar.gz, at most 60 MiB
#
# Binaries are stripped of debug information; libraries that are not glibc's come along, and CUDA's runtime and CUPTI, for
# machines that lack them. NCCL does not: it is larger than the rest together.
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: pack.sh BUILD OUT" >&2; exit 2; }
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "$1" && pwd)
mkdir -p "$2"
pack=$(cd "$2" && pwd)/ddpscope-gpu
most_kib=$((60 * 1024))

rm -rf "$pack" "$pack.tar.gz"
mkdir -p "$pack"/build/bin "$pack"/build/lib/{standin,bundled,cuda,tests} "$pack"/tests/{python,gpu,torch_cuda} "$pack"/docs

copy_stripped() { # FILE FOLDER
  cp -L "$1" "$2/" && strip --strip-debug "$2/$(basename "$1")"
}

for program in ddpscope reference_trainer cupti_standin_test gpu_guest; do copy_stripped "$build/bin/$program" "$pack/build/bin"; done
copy_stripped "$build/lib/libddpscope.so" "$pack/build/lib"
for name in libcuda.so.1 libcudart.so.1{2,3} libnccl.so.2 libcupti.so.1{2,3} libnvidia-ml.so.1; do copy_stripped "$build/lib/standin/$name" "$pack/build/lib/standin"; done
cp -r "$build/lib/standin/torch" "$pack/build/lib/standin/"

# What the programs need besides glibc and CUDA.
ldd "$pack"/build/bin/* "$pack"/build/lib/*.so | awk '$2 == "=>" && $3 ~ /^\// {print $1, $3}' | sort -u |
  grep -Ev '^(libc|libm|libdl|libpthread|librt|libcudart|libnccl|libcupti|libcuda|ld-linux[^ ]*)\.so' |
  while read -r name path; do cp -L "$path" "$pack/build/lib/bundled/$name"; done

for variable in CUDART_LIBRARY CUPTI_LIBRARY; do
  library=$(sed -n "s/^$variable:FILEPATH=//p" "$build/CMakeCache.txt")
  soname=$(objdump -p "$library" | awk '$1 == "SONAME" {print $2}')
  cp -L "$library" "$pack/build/lib/cuda/$soname"
done

DDPSCOPE_BUILD=$build python3 "$root/tests/gpu/without_buffers.py" "$pack/build/lib/tests" >/dev/null
strip --strip-debug "$pack"/build/lib/tests/*.so
cp "$root"/tests/python/records.py "$pack/tests/python/"
cp -r "$root"/tests/gpu/{run.sh,README.md,checks} "$pack/tests/gpu/"
cp -r "$root/tests/torch_cuda/jobs" "$pack/tests/torch_cuda/"
find "$pack" -name __pycache__ -prune -exec rm -rf {} +
cp "$root/docs/measurements.md" "$pack/docs/"
git -C "$root" log -1 --format=%h >"$pack/commit" 2>/dev/null || echo unknown >"$pack/commit"

tar -C "$(dirname "$pack")" -czf "$pack.tar.gz" ddpscope-gpu
size=$(du -k "$pack.tar.gz" | cut -f1)
echo "$pack.tar.gz: $size KiB, unpacked $(du -sk "$pack" | cut -f1) KiB"
[ "$size" -le "$most_kib" ] || { echo "error: more than $most_kib KiB" >&2; exit 1; }
