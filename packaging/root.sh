#!/usr/bin/env bash
# Makes the root file system that preset portable compiles and links against: the C library of an old system, and static
# libraries, so that what is built runs on that system and on later ones, and needs nothing installed.
#
#   packaging/root.sh      into .venv/portable-root; does nothing when it is there
#
# glibc 2.31 and elfutils are Debian 11's; of glibc nothing is used that 2.28 lacks (tests/packages). The other libraries are
# Debian 12's, whose compiler is used: they were made for a later glibc, and a link fails if one asks for what this one lacks.
set -euo pipefail
shopt -s nullglob
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. cmake/debian_releases.sh

old=(libc6 libc6-dev linux-libc-dev libelf-dev libdw-dev libbz2-dev liblzma-dev zlib1g-dev libepoxy0 libbz2-1.0)
new=(libstdc++-12-dev gcc-12-base nlohmann-json3-dev libcli11-dev libxxhash-dev libzstd-dev libpugixml-dev libpugixml1v5
     libfmt-dev libfmt9 libimgui-dev libstb-dev libfreetype-dev libpng-dev libbrotli-dev libglfw3-dev libepoxy-dev libegl-dev
     libgl-dev fonts-inter fonts-jetbrains-mono)
# Made here: Debian 12 has no static one.
fmt=fmtlib
# GLFW that opens X11 and OpenGL when it starts: its library as its Python package carries it.
glfw_wheel="glfw==2.11.0 --hash=sha256:76484fae4a4ef0f778a05e02422ecbe6960ae23039087fe2e0ad9742ab8c7bbe"

root=.venv/portable-root
contents=$(cat packaging/root.sh packaging/older_libc.cpp cmake/debian_releases.sh "$(g++ -print-file-name=libstdc++.a)" | cksum)
[ "$(cat $root/complete 2>/dev/null)" != "$contents" ] || exit 0
echo "making $root"
rm -rf $root
mkdir -p $root
use_debian_releases "$PWD/.venv/debian-releases" bullseye bookworm
unpack_debian $root bullseye "${old[@]}"
unpack_debian $root bookworm "${new[@]}"

# Absolute links would lead out of it.
find $root -type l -lname '/*' -printf '%p\t%l\n' | while IFS=$'\t' read -r link target; do
  ln -sfn "$(realpath -ms --relative-to="$(dirname "$link")" "$root$target")" "$link"
done

libraries=$root/usr/lib/x86_64-linux-gnu
unpack_debian_source $root/src/fmt bookworm $fmt
for file in format os; do
  g++ -std=c++20 -O2 -fPIC -fvisibility=hidden --sysroot="$PWD/$root" -I$root/src/fmt/include -c "$root/src/fmt/src/$file.cc" -o "$root/src/$file.o"
done
ar rcs $libraries/libfmt.a $root/src/{format,os}.o

g++ -std=c++20 -O2 -fPIC -c packaging/older_libc.cpp -o $root/src/older_libc.o
for name in stdc++ gcc_eh; do
  cp "$(g++ -print-file-name=lib$name.a)" $libraries/
  ar rs $libraries/lib$name.a $root/src/older_libc.o 2>/dev/null
done

# Waits by the monotonic clock are of glibc 2.30; the C++ library's headers do without where they are told so.
sed -i -E '/define _GLIBCXX_USE_PTHREAD_(COND_CLOCKWAIT|MUTEX_CLOCKLOCK|RWLOCK_CLOCKLOCK)/d' $root/usr/include/x86_64-linux-gnu/c++/12/bits/c++config.h
# glibc 2.29 gave exp, exp2, log, log2 and pow new versions, which differ in errno only. Programs are linked with a list of
# libm's names in which these have their old ones.
nm -D --defined-only $root/lib/x86_64-linux-gnu/libm.so.6 | sed -n 's/.* [TWi] //p' >$root/src/libm_names
while IFS=@ read -r name version; do
  [ $version != GLIBC_2.29 ] || version=$(sed -n "s/^$name@\(GLIBC_2.2.5\)$/\1/p" $root/src/libm_names)
  echo "$version $name"
done < <(sed -n 's/@@/@/p' $root/src/libm_names) | sort -V >$root/src/libm_versions
awk '{ print "void " $2 "(void) {}" }' $root/src/libm_versions >$root/src/libm.c
awk '$1 != last { if (last) print "};"; print $1 " {"; last = $1 } { print "  " $2 ";" } END { print "};" }' $root/src/libm_versions >$root/src/libm.map
gcc -shared -nostdlib -fno-builtin -Wl,-soname,libm.so.6 -Wl,--version-script=$root/src/libm.map $root/src/libm.c -o $libraries/libm.so

mkdir -p $root/src/glfw
.venv/bin/python -m pip --quiet --disable-pip-version-check download --no-deps --only-binary :all: --require-hashes \
  --dest $root/src/glfw --requirement <(echo "$glfw_wheel")
.venv/bin/python -m zipfile -e $root/src/glfw/*.whl $root/src/glfw
cp $root/src/glfw/glfw/x11/libglfw.so $libraries/libglfw.so.3
ln -sfn libglfw.so.3 $libraries/libglfw.so

# only_static NAME OPTION...: whoever links it gets the static library, and what that needs.
only_static() {
  local name=$1 shared
  shift
  [ -e "$libraries/lib$name.a" ] || { echo "error: there is no lib$name.a" >&2; exit 1; }
  for shared in "$libraries/lib$name".so*; do
    rm "$shared"
    echo "INPUT(-l:lib$name.a $*)" >"$shared"
  done
}
for name in brotlicommon brotlidec brotlienc bz2 fmt imgui lzma pugixml stb xxhash z zstd; do only_static $name; done
only_static elf -l:libz.a
only_static dw -l:libelf.a -l:liblzma.a -l:libbz2.a -l:libz.a -ldl
only_static png16 -l:libz.a -lm
only_static png -l:libz.a -lm
only_static freetype -l:libpng16.a -l:libbrotlidec.a -l:libbrotlicommon.a -l:libz.a -lm
sed -i '/^Requires.private/d' $libraries/pkgconfig/epoxy.pc
echo "$contents" >$root/complete
