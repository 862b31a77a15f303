#!/usr/bin/env bash
# Brings versions of CPython that are not installed here, for tests/inject/traps/test_python.py: those of other Debian
# releases, unpacked below FOLDER and not installed. Does nothing for a version that is here already.
#
#   tests/interpreters.sh FOLDER                    3.9 of Debian 11, 3.13 of Debian 13, 3.14 and 3.15 of Debian's testing
#                                                   release, and Debian 11's own libc beside its 3.9
#   tests/interpreters.sh FOLDER --free-threaded    and a free-threaded 3.13, built from Debian 13's source (20 minutes)
#
# Exit 0 also if one cannot be had: its tests say that they were skipped.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/../cmake/debian_releases.sh"
folder=$(mkdir -p "$1" && cd "$1" && pwd)
pool=$folder/apt

is_here() { command -v "/usr/bin/python$1" >/dev/null || compgen -G "$HOME/.pyenv/versions/$1.*/bin/python$1" >/dev/null; }

private_apt() { use_debian_releases "$pool" bullseye trixie forky; }

# unpack NAME RELEASE PACKAGE...: into FOLDER/debian-NAME.
unpack() {
  local root=$folder/debian-$1
  shift
  [ ! -e "$root/ready" ] || return 0
  rm -rf "$root"
  mkdir -p "$root"
  unpack_debian "$root" "$@"
  touch "$root/ready"
}

of_debian_11() {
  ! is_here 3.9 || return 0
  private_apt
  unpack 3.9 bullseye {python3.9,libpython3.9}-minimal libpython3.9-{stdlib,dev} libffi7
}

# For tests/inject/test_old_libc.py: a system that is older than the one that the injector was built on.
debian_11() {
  private_apt
  unpack 11 bullseye libc6 libgcc-s1 libexpat1 zlib1g {python3.9,libpython3.9}-minimal libpython3.9-stdlib
}

# Its C library is newer than this machine's, so it brings that and its loader.
of_debian_13() {
  ! is_here 3.13 || return 0
  private_apt
  unpack 3.13 trixie {python3.13,libpython3.13}-minimal libpython3.13-{stdlib,dev} libc6 libexpat1 libffi8 zlib1g
}

of_debian_testing() {
  local version
  for version in 3.14 3.15; do
    is_here $version && continue
    private_apt
    unpack $version forky {python$version,libpython$version}-minimal libpython$version-{stdlib,dev} libc6 libexpat1 libffi8 zlib1g
  done
}

free_threaded() {
  local source=$folder/free-threaded
  [ ! -x "$source/python3.13t" ] || return 0
  private_apt
  rm -rf "$source"
  unpack_debian_source "$source" trixie python3.13
  mkdir -p "$source/build"
  (cd "$source/build" && ../configure -q --disable-gil --with-ensurepip=no && make -s -j"$(nproc)") >"$source/log" 2>&1
  ln -s build/python "$source/python3.13t"
}

wanted=(of_debian_11 debian_11 of_debian_13 of_debian_testing)
[ "${2:-}" != --free-threaded ] || wanted+=(free_threaded)
# In the background, where a command that fails ends it: bash looks past failures on the left of `||`.
for which in "${wanted[@]}"; do
  "$which" &
  wait $! || echo "interpreters: no Python ${which//_/ }" >&2
done
