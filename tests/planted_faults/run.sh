#!/usr/bin/env bash
# Plants each fault of *.faults, one at a time, in a copy of its file and asks whether the tests named there notice.
# Only what the fault names is compiled again; the rest is a build of the sources as they are. See README.md.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

usage() { echo "usage: tests/planted_faults/run.sh [--list] [--only NAME]... [--jobs N] [--build FOLDER]"; exit 2; }
jobs=$(nproc) work=$root/build/planted_faults only=() list=
while [ $# -gt 0 ]; do
  case $1 in
    --list) list=yes ;;
    --only) only+=("${2:?--only needs a name}"); shift ;;
    --jobs) jobs=${2:?--jobs needs a number}; shift ;;
    --build) work=$(mkdir -p "${2:?--build needs a folder}" && cd "$2" && pwd); shift ;;
    *) usage ;;
  esac
  shift
done
fail() { printf '%s\n' "$*" >&2; exit 1; }

# --- The list ---------------------------------------------------------------------------------------------------------
names=()
declare -A why file compile with filter seeds
wanted() {
  [ ${#only[@]} -eq 0 ] && return
  local pattern
  for pattern in "${only[@]}"; do [[ $1 == $pattern ]] && return; done
  return 1
}
plants=$work/plants
rm -rf "$plants"
read_list() {
  # What a fault does not say, it has from the one before.
  local line name='' key value at= now_file= now_compile= now_with= now_filter= now_seeds=1
  while IFS= read -r line || [ -n "$line" ]; do
    key=${line%% *} value=${line#* }
    case $line in
      '#'*) continue ;;
      '') name= ;;  # ends a fault
      -*) printf '%s\n' "${line:1}" >>"$at/find" ;;
      +*) printf '%s\n' "${line:1}" >>"$at/put" ;;
      'fault '*)
        name=$value at=$plants/$name
        [ ! -e "$at" ] || fail "$1: $name is there twice"
        mkdir -p "$at" && : >"$at/find" && : >"$at/put"
        names+=("$name") ;;
      'why '*) why[$name]=$value ;;
      'file '* | 'compile '* | 'with '* | 'filter '* | 'seeds '*)
        printf -v "now_$key" %s "$value" ;;
      *) fail "$1: what is \"$line\"?" ;;
    esac
    [ -n "$name" ] || continue
    [ "$now_with" != - ] || now_with=
    file[$name]=$now_file compile[$name]=$now_compile with[$name]=$now_with filter[$name]=$now_filter
    seeds[$name]=$now_seeds
  done <"$1"
}
for faults in "$here"/*.faults; do read_list "$faults"; done

# The file with the fault, below tally/ as includes name it.
plant() {
  local to=$plants/$1/tally/${file[$1]}
  mkdir -p "${to%/*}"
  perl -e 'use strict; my ($from, $find, $put, $to, $name) = @ARGV;
    sub text { local $/; open my $in, "<", $_[0] or die "$name: no file $_[0]\n"; my $text = <$in>; $text //= ""; $text =~ s/\n\z//; return $text }
    my ($text, $old, $new) = (text($from) . "\n", text($find), text($put));
    die "$name: nothing to replace\n" if $old eq "";
    my $times = () = $text =~ /\Q$old\E/g;
    die "$name: what it replaces is $times times in $from; the list is stale\n" if $times != 1;
    $text =~ s/\Q$old\E/$new/;
    open my $out, ">", $to or die "$to: $!\n"; print $out $text;' \
    "$root/${file[$1]}" "$plants/$1/find" "$plants/$1/put" "$to" "$1"
}
chosen=() stale=0
for name in "${names[@]}"; do
  plant "$name" || stale=$((stale + 1))
  if wanted "$name"; then chosen+=("$name"); fi
done
[ $stale -eq 0 ] || fail "$stale faults cannot be planted"
[ ${#chosen[@]} -gt 0 ] || fail "no fault has such a name"
if [ -n "$list" ]; then
  for name in "${chosen[@]}"; do printf '%-34s %-30s %s\n' "$name" "${file[$name]}" "${why[$name]}"; done
  exit
fi

# --- Building and running ---------------------------------------------------------------------------------------------
build=$work/simt
object_of() {
  local in_tests=${1#tests/}
  case $1 in
    # Compiled once per instruction set; the one meant is that of every machine.
    ops/cpu/isa_*) echo "CMakeFiles/tally_baseline.dir/$1.o" ;;
    tests/*) echo "tests/CMakeFiles/tally_${in_tests%%/*}_tests.dir/$in_tests.o" ;;
    *) echo "CMakeFiles/tally.dir/$1.o" ;;
  esac
}
tests_in() { local source; for source in "$@"; do [[ $source != tests/* ]] || object_of "$source"; done; }
command_for() { ninja -C "$build" -t commands "$1" | tail -n 1; }

# The library and the test objects that the chosen faults name, from the sources as they are.
build() {
  local name objects=() log=$work/build.log launcher=()
  if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  for name in "${chosen[@]}"; do objects+=($(tests_in ${compile[$name]} ${with[$name]})); done
  printf 'Building ... '
  # Optimised a little only: most of the time goes into compiling.
  # Nor may a header that is precompiled hide the one with the fault.
  if ! { cmake -S "$root" --preset simt -B "$build" "${launcher[@]}" -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" \
           -DTALLY_HOST_TESTS=ON -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON &&
         ninja -C "$build" -j "$jobs" tally $(printf '%s\n' "${objects[@]}" | sort -u); } >"$log" 2>&1; then
    tail -n 40 "$log"
    fail "The build failed (all of it: $log)"
  fi
  echo "done"
}

# Includes look below FOLDER first: there is the one file with the fault.
compile_with() {  # FOLDER SOURCE OBJECT
  local object command source=$root/$2
  if [ -e "$1/tally/$2" ]; then source=$1/tally/$2; fi
  object=$(object_of "$2")
  command=$(command_for "$object")
  command=${command/ -I/ -I"'$1'" -I}
  command=${command/-MD -MT $object -MF $object.d -o $object/-w -o "'$3'"}
  # The CPU's templates take longest, and to run them is nothing. isa_*.cpp must be optimised, kernels have to be quick.
  case $2 in *.cu | */isa_*) ;; *) command=${command/ -c / -O0 -c } ;; esac
  (cd "$build" && eval "${command% -c *} -c '$source'")
}

link() {  # PROGRAM OBJECT...
  local command word words=() all program=$1
  shift
  command=$(command_for tests/tally_ops_tests)  # ": && c++ ... && :"
  command=${command#: && }
  eval "all=(${command% && :})"
  for word in "${all[@]}"; do
    case $word in
      *.o | *examples_support.a) ;;
      -o) words+=("$@" -o) ;;
      tests/tally_ops_tests) words+=("$program") ;;
      *) words+=("$word") ;;
    esac
  done
  (cd "$build" && "${words[@]}")
}

run() {  # PROGRAM FILTER SEEDS LOG
  local seed
  for seed in $3; do
    # With one OS thread below the device a run repeats exactly.
    TALLY_SIMT_SEED=$seed TALLY_SIMT_THREADS=1 timeout -k 5 180 \
      "$1" --gtest_filter="$2" --gtest_fail_fast >"$4" 2>&1 || return $?
  done
}

# Objects of `compile` come first on the link line, so that their inline functions are the ones that are taken, and
# nothing of the library that they replace is pulled in.
attempt() {  # NAME
  local name=$1 at=$plants/$1 source objects=() code=0 started=$SECONDS by n=0
  for source in ${compile[$name]}; do
    objects+=("$at/$((n++)).o")
    compile_with "$at" "$source" "${objects[-1]}" >>"$at/log" 2>&1 ||
      { echo broken "does not compile: $at/log"; return; }
  done
  objects+=($(tests_in ${with[$name]}))
  link "$at/program" "${objects[@]}" >>"$at/log" 2>&1 || { echo broken "does not link: $at/log"; return; }
  run "$at/program" "${filter[$name]}" "${seeds[$name]}" "$at/log" || code=$?
  by=$(sed -nE 's/^\[ +FAILED +\] ([^ ,]*).*/\1/p' "$at/log" | head -n 1)
  [ -n "$by" ] || by=$(sed -nE 's/^\[ RUN +\] //p' "$at/log" | tail -n 1)
  case $code in
    0) echo SURVIVED "$((SECONDS - started)) s" ;;
    1) echo caught "${by:-$(tail -n 1 "$at/log")}, $((SECONDS - started)) s" ;;
    126 | 127) echo broken "does not start: $at/log" ;;
    124 | 137) echo caught "$by hangs" ;;
    *) echo caught "$by ends with $code, $((SECONDS - started)) s" ;;
  esac
  rm -f "$at"/*.o "$at/program"
}

# --- First without a fault, then each -----------------------------------------------------------------------------------
build

declare -A sound
for name in "${chosen[@]}"; do
  tests=$(tests_in ${compile[$name]} ${with[$name]} | sort -u)
  suite="$tests ${filter[$name]} ${seeds[$name]}"
  [ -z "${sound[$suite]:-}" ] || continue
  sound[$suite]=yes
  link "$work/program" $tests
  run "$work/program" "${filter[$name]}" "${seeds[$name]}" "$work/log" || { cat "$work/log"; fail "Fails without a fault: ${filter[$name]}"; }
  grep -qE '^\[=+\] Running [1-9]' "$work/log" || fail "No test is called ${filter[$name]}"
done
echo "Without a fault all tests pass. ${#chosen[@]} faults:"

report() {
  local verdict rest
  read -r verdict rest <<<"$(attempt "$1")"
  printf '%-9s %-34s %s\n' "$verdict" "$1" "$rest" | tee "$plants/$1/verdict"
}
for name in "${chosen[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || true; done
  report "$name" &
done
wait
count() { local name n=0; for name in "${chosen[@]}"; do if grep -q "^$1 " "$plants/$name/verdict"; then n=$((n + 1)); fi; done; echo $n; }
caught=$(count caught)
echo "$caught of ${#chosen[@]} faults caught, $(count SURVIVED) survived, $(count broken) broken, in $SECONDS s"
[ "$caught" -eq ${#chosen[@]} ]
