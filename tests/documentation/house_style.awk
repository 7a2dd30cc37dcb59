# Doxygen's input filter: reads the headers as people read them. The comment at a header's top is about the file; a
# comment covers every declaration down to the next blank line; one behind a declaration is about that one.

function indent_of(line) { match(line, /^ */); return RLENGTH }

# Without a leading template <...>, whose brackets may nest.
function without_template(text,   depth, i, c) {
  sub(/^ */, "", text)
  while (text ~ /^template *</) {
    depth = 0
    for (i = 1; i <= length(text); ++i) {
      c = substr(text, i, 1)
      if (c == "<") ++depth
      if (c == ">" && --depth == 0) break
    }
    text = substr(text, i + 1)
    sub(/^ */, "", text)
  }
  return text
}

function braces(line,   opened, closed) {
  opened = gsub(/{/, "{", line)
  closed = gsub(/}/, "}", line)
  return opened - closed
}

FNR == 1 { head = 1; depth = 0; body = 0; begun = 0; doc[0] = ""; trailing = 0; fresh = 0 }

head && /^\/\// { print (FNR == 1 ? "/// \\file\n///" : "///") substr($0, 3); next }
head { head = 0 }

/^#/ { print; next }

# Inside a function: as it is.
body > 0 {
  body += braces($0)
  print
  if (body <= 0) { body = 0; begun = 0 }
  next
}

/^ *$/ { doc[depth] = ""; fresh = trailing = begun = 0; print; next }

/^ *\/\// {
  text = $0
  sub(/^ *\/\/\/?<? ?/, "", text)
  if (trailing && indent_of($0) > trailing) { print "///< " text; next }
  trailing = 0
  if (!fresh) doc[depth] = ""
  doc[depth] = doc[depth] "/// " text "\n"
  fresh = 1
  print "/// " text
  next
}

{
  line = $0
  trailing = 0
  sub(/ *\/\/ NOLINT.*$/, "", line)
  sub(/ *\/\/ namespace.*$/, "", line)
  if (match(line, / *\/\/\/?<? /)) {
    code = substr(line, 1, RSTART - 1)
    trailing = indent_of(line)
    line = code "  ///< " substr(line, RSTART + RLENGTH)
  } else {
    code = line
  }
  if (code ~ /= delete;/) next
  if (code ~ /^ *}/) {
    depth += braces(code)
    if (depth < 0) depth = 0
    print line
    begun = fresh = 0
    next
  }
  if (code ~ /^ *(public|private|protected):/) { doc[depth] = ""; print line; begun = fresh = 0; next }
  if (!begun) {
    declaration = ""
    if (!fresh && !trailing && doc[depth] != "") printf "%s", doc[depth]
  }
  begun = 1
  fresh = 0
  declaration = declaration " " code
  print line
  opened = braces(code)
  if (opened > 0) {
    if (without_template(declaration) ~ /^(inline +)?(class|struct|enum|union|namespace|extern) /) {
      depth += opened
      doc[depth] = ""
      begun = 0
    } else {
      body = opened
    }
  } else if (code ~ /[;}] *$/ || (code ~ /, *$/ && without_template(declaration) !~ /[(<]/)) {
    begun = 0
  }
}
