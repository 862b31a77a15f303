# Sourced: packages of other Debian releases than this machine's, downloaded from its own mirror, checked by Debian's
# keys, and unpacked, not installed.

# use_debian_releases POOL RELEASE...: makes them known to apt in POOL, which has nothing of this machine's state.
use_debian_releases() {
  local pool=$1 mirror key=/usr/share/keyrings/debian-archive-keyring.gpg release
  shift
  export APT_CONFIG=$pool/apt.conf
  [ "$(cat "$pool/ready" 2>/dev/null)" != "$*" ] || return 0
  mirror=$(env -u APT_CONFIG apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Codename: bookworm' | head -1)
  if [ -z "$mirror" ] || [ ! -e $key ]; then
    echo "error: other releases of Debian are downloaded with apt and the keys of Debian 12, which are not here" >&2
    return 1
  fi
  mkdir -p "$pool/lists/partial" "$pool/cache/archives/partial"
  for release; do printf 'deb%s [signed-by='"$key] $mirror $release main\n" '' -src; done >"$pool/sources.list"
  cat >"$APT_CONFIG" <<END
Dir::State "$pool";
Dir::State::status "/dev/null";
Dir::Cache "$pool/cache";
Dir::Etc::sourcelist "$pool/sources.list";
Dir::Etc::sourceparts "/dev/null";
APT::Sandbox::User "root";
Acquire::Languages "none";
END
  apt-get update -qq -o APT::Update::Error-Mode=any && echo "$*" >"$pool/ready"
}

# get_debian WORD...: apt-get, once more with new lists: packages of a list that is old may be gone.
get_debian() { apt-get "$@" 2>/dev/null || { apt-get update -qq && apt-get "$@"; }; }

# unpack_debian FOLDER RELEASE PACKAGE...: their files below FOLDER.
unpack_debian() {
  local folder=$1 release=$2 downloads package
  shift 2
  downloads=$(mktemp -d)
  (cd "$downloads" && get_debian download -qq "${@/%//$release}") || { rm -rf "$downloads"; return 1; }
  for package in "$downloads"/*.deb; do dpkg -x "$package" "$folder" || return 1; done
  rm -rf "$downloads"
}

# unpack_debian_source FOLDER RELEASE SOURCE: what its authors released, without Debian's patches.
unpack_debian_source() {
  local folder=$1 release=$2 source=$3
  mkdir -p "$folder"
  (cd "$folder" && get_debian source -qq --download-only "$source/$release") || return 1
  tar -C "$folder" --strip-components=1 -xf "$folder/${source}"_*.orig.tar.*z*
}
