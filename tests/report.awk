# ctest's report, counted by test: an entry is a suite of GoogleTest, whose own lines say what became of each test in it,
# or one test. Prints "PASSED FAILED SKIPPED", then a line for each that failed.

function fail(what, number) { failed += number; bad += number; names = names what "\n" }
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
  running = ""
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
    else if (status == "notrun") skipped++
    else fail(entry, 1)
    next
  }
  if (running != "") { to_come--; fail(entry ": " running " did not come to its end", 1) }
  if (to_come > 0) fail(entry ": " to_come " more did not run", to_come)
  if (status == "fail" && !bad) fail(entry ": failed after its tests", 1)
}
END { printf "%d %d %d\n%s", passed, failed, skipped, names }
