# shellcheck shell=bash disable=SC2034
# What tools/quickstart and tools/test share; sourced under `set -euo pipefail`.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

say() { printf '== %s\n' "$*"; }
die() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

usage() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 2; }
# help: the comment at the head of the script.
help() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }

# The Debian and Ubuntu packages that a build with its tests needs.
packages=(g++ cmake ninja-build libspdlog-dev libfmt-dev nlohmann-json3-dev libcli11-dev
          libhwy-dev libopenblas-dev zlib1g-dev libzstd-dev libxxhash-dev libdw-dev catch2
          libvalijson-dev)

# install_missing PACKAGE…: installs those that are not there, as root or through sudo; asks nothing.
install_missing() {
  local missing=() package
  if ! command -v apt-get >/dev/null; then
    say "no apt-get here: expecting the counterparts of $*"
    return
  fi
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
      missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "installing ${missing[*]}"
  local as_root=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || die "needs root or sudo to install: ${missing[*]}"
    as_root=(sudo)
  fi
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
  "${apt[@]}" update </dev/null || die "apt-get update failed"
  "${apt[@]}" install -y --no-install-recommends "${missing[@]}" </dev/null >/dev/null ||
    die "apt-get could not install ${missing[*]}"
}

# configure PRESET [cmake arguments…]
configure() {
  local preset=$1 log
  shift
  if [ -e "$root/build" ] && [ ! -w "$root/build" ]; then
    die "$root/build belongs to $(stat -c %U "$root/build"), not to $(id -un): remove it or give it back"
  fi
  mkdir -p "$root/build"
  log=$root/build/$preset.configure.log
  (cd "$root" && cmake --preset "$preset" "$@") >"$log" 2>&1 || { cat "$log" >&2; die "configuring failed"; }
  sed -n 's/^-- forebay: /== /p' "$log"
}

# build PRESET TARGET…
build() {
  local preset=$1
  shift
  say "building $preset: $*"
  cmake --build "$root/build/$preset" --target "$@"
}
