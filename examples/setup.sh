# Sourced by examples/train.sh and tests/run.sh: what a fresh Debian machine needs before it can build.

# need PACKAGE...: names the Debian packages that are missing, then installs them; without the right to, says what to run.
need() {
  local package missing=()
  if ! command -v dpkg-query >/dev/null; then
    echo "This is no Debian system: be sure that it has the equivalent of: $*"
    return
  fi
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  echo "Missing Debian packages: ${missing[*]}"
  local as=()
  if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || { [ -t 0 ] && sudo -v; }; }; then
      as=(sudo)
    else
      echo "They need root to install. Run this, then start again:"
      echo "  apt-get update && apt-get install --no-install-recommends ${missing[*]}"
      exit 1
    fi
  fi
  echo "Installing them ..."
  local log
  log=$(mktemp)
  "${as[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq >"$log" 2>&1 || echo "(apt-get update failed; trying with the lists at hand)"
  "${as[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >>"$log" 2>&1 || {
    tail -n 20 "$log"
    echo "apt-get could not install: ${missing[*]}"
    rm -f "$log"
    exit 1
  }
  rm -f "$log"
}

build_packages=(g++ cmake ninja-build libeigen3-dev zlib1g-dev nlohmann-json3-dev libcli11-dev)

# configure PRESET: quiet unless it fails; prints the one line about CUDA, and how to do without where no GPU answers.
configure() {
  local log
  log=$(cmake --preset "$1" 2>&1) || { printf '%s\n' "$log"; exit 1; }
  printf '%s\n' "$log" | sed -n 's/^-- Tally: //p'
  if [[ $log == *"-- Tally: CUDA on"* ]] && ! nvidia-smi -L >/dev/null 2>&1; then
    echo "  but no GPU answers here: after cmake --preset $1 -DTALLY_CUDA=OFF this builds several times faster"
  fi
}

# build PRESET LOG [ARGUMENT...]: all it says goes to LOG; prints how far it is, now and then.
build() {
  local line said=$SECONDS
  cmake --build --preset "$1" "${@:3}" 2>&1 | while IFS= read -r line; do
    printf '%s\n' "$line" >&3
    if [ $((SECONDS - said)) -ge 20 ] && [[ $line =~ ^\[[0-9]+/[0-9]+\] ]]; then
      echo "  ${BASH_REMATCH[0]}"
      said=$SECONDS
    fi
  done 3>"$2"
}
