#!/bin/sh
# Runs the compilation of a .cu file and keeps what ptxas says of its kernels in OBJECT.ptxas, under the object's checksum:
#   ptxas_report.sh COMMAND... -o OBJECT
# The console gets the rest. With ccache as COMMAND's first word a hit has its report too: it repeats what was said.
before=
for word; do
  [ "$before" != -o ] || object=$word
  before=$word
done
report=$object.ptxas
rm -f "$report"
"$@" -Xptxas -v 2>"$report.part"
status=$?
ptxas='^ptxas info |^ +[0-9]+ bytes stack frame'
grep -Ev "$ptxas" "$report.part" >&2
if [ $status -eq 0 ]; then
  { sha256sum <"$object"; grep -E "$ptxas" "$report.part"; } >"$report"
fi
rm -f "$report.part"
exit $status
