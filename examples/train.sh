#!/usr/bin/env bash
# Builds Release and trains the example classifier. All arguments go to the program (--help lists them).
# `--data fashion-mnist` installs Debian's dataset-fashion-mnist and trains on it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
caller=$OLDPWD
. examples/setup.sh

arguments=("$@")
for i in "${!arguments[@]}"; do
  case ${arguments[$i]} in
    fashion-mnist) [ "$i" -gt 0 ] && [ "${arguments[$((i - 1))]}" = --data ] || continue
      need dataset-fashion-mnist
      arguments[$i]=/usr/share/datasets/fashion-mnist ;;
    --data=fashion-mnist)
      need dataset-fashion-mnist
      arguments[$i]=--data=/usr/share/datasets/fashion-mnist ;;
  esac
done

need "${build_packages[@]}"
configure default
log=build/default/build.log
[ -x build/default/examples/train_classifier ] || echo "Building (the first time takes a few minutes) ..."
build default "$log" --target train_classifier || {
  grep -E -A12 'error|FAILED' "$log" | head -n 40
  echo "The build failed (all of it: $PWD/$log)"
  exit 1
}
program=$PWD/build/default/examples/train_classifier
cd "$caller"  # relative paths among the arguments are the caller's
exec "$program" "${arguments[@]}"
