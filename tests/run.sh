#!/usr/bin/env bash
# Builds and runs every test: the default preset (with CUDA where a toolkit is found), then the CUDA half emulated on the
# CPU. With --all also the sanitizers, clang and the documentation. Closes with "N passed, N failed, N skipped".
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. examples/setup.sh

presets=(default simt)
packages=("${build_packages[@]}" libgtest-dev libgmock-dev libboost-context-dev clang-format doxygen git pkg-config)
case ${1:-} in
  "") ;;
  --all) presets+=(asan simt-asan tsan clang); packages+=(clang) ;;
  --preset) presets=("${2:?--preset needs a name}") ;;
  *) echo "usage: tests/run.sh [--all | --preset NAME]"; exit 2 ;;
esac
need "${packages[@]}"

passed=0 failed=0 skipped=0
for preset in "${presets[@]}"; do
  printf '\n== %s: ' "$preset"
  configure "$preset"
  log=build/$preset/build.log
  started=$SECONDS
  build "$preset" "$log" || { grep -E -A12 'error|FAILED' "$log" | head -n 80; echo "The build of $preset failed (all of it: $log)"; exit 1; }
  echo "built in $((SECONDS - started)) s"
  report=$PWD/build/$preset/tests.xml
  rm -f "$report"
  started=$SECONDS
  # ctest's own words name failures; a program that cannot list its tests fails here too. Counted is by test, which takes
  # all that the programs said.
  ctest --preset "$preset" --output-junit "$report" --test-output-size-passed 10000000 --test-output-size-failed 10000000 \
    >"build/$preset/test.log" 2>&1 || true
  [ -s "$report" ] || { tail -n 40 "build/$preset/test.log"; echo "The tests of $preset did not run"; exit 1; }
  { read -r good bad out; lines=$(cat); } < <(awk -f tests/report.awk "$report")
  [ $((good + bad + out)) -gt 0 ] || { echo "No test of $preset ran"; exit 1; }
  if [ "$bad" -gt 0 ]; then
    grep -vE '^ *[0-9]+/[0-9]+ Test.*(Passed|Skipped)|\(Skipped\)$|^ *Start +[0-9]+:|\[ +(OK|RUN|SKIPPED) +\]' "build/$preset/test.log" | tail -n 150
  fi
  [ -z "$lines" ] || printf '%s\n' "$lines"  # what failed, and why others were skipped
  echo "ran in $((SECONDS - started)) s: $good passed, $bad failed, $out skipped"
  passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + out))
done
echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
