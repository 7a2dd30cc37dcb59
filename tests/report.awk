# ctest's report, counted by test: an entry is a suite of GoogleTest, whose own lines say what became of each test in it,
# or one test. Prints "PASSED FAILED SKIPPED", then a line for each that failed and for each reason to skip.

function fail(what, number) { failed += number; bad += number; names = names what "\n" }
function because(reason) {
  if (!count[reason]++) reasons[++distinct] = reason
}
function ended() {
  sub(/.*\] /, "")
  running = ""
  to_come--
  return suite
}

/^\t*<testcase / {
  split($0, part, "\"")
  entry = part[2]
  status = /status="run"/ ? "run" : /status="fail"/ ? "fail" : "notrun"
  suite = to_come = bad = 0
  running = why = ""
}
reason_follows {  # where GoogleTest stands before it
  if (suite) because($0)
  else why = $0
}
{ reason_follows = /:[0-9]+: Skipped$/ }
/^\t*<system-out>/ {  # that of an entry that is one test: what it says first
  why = $0
  gsub(/^\t*<system-out>|: Skipped$|<\/system-out>$/, "", why)
}
/<skipped message=/ && !/"SKIP_/ { status = "fail" }  # could not be started
/^Note: Google Test filter = / { suite = 1 }
/\[==========\] Running [0-9]+ tests? from/ { sub(/.*Running /, ""); to_come = $1 }
/\[ RUN      \] / { running = $NF }
/\[       OK \] .* ms\)/ { passed += ended() }
/\[  SKIPPED \] .* ms\)/ { skipped += ended() }
/\[  FAILED  \] .* ms\)/ { if (ended()) fail(entry ": " $0, 1) }
/<\/testcase>/ {
  if (!suite) {
    if (status == "run") passed++
    else if (status == "notrun") { skipped++; because(why) }
    else fail(entry, 1)
    next
  }
  if (running != "") { to_come--; fail(entry ": " running " did not come to its end", 1) }
  if (to_come > 0) fail(entry ": " to_come " more did not run", to_come)
  if (status == "fail" && !bad) fail(entry ": failed after its tests", 1)
}
END {
  printf "%d %d %d\n%s", passed, failed, skipped, names
  for (i = 1; i <= distinct; ++i) printf "  skipped %d %s\n", count[reasons[i]], reasons[i]
}
