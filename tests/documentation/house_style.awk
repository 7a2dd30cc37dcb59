# Doxygen's input filter: reads the headers as people read them. The comment at a header's top is about the file; a
# comment covers every declaration down to the next blank line; one behind a declaration is about that one; a field or an
# enumerator without a comment says by its name all there is; constructors, operator() and a module's visit are what the
# comment on their class is about.

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

function class_of(declaration) {
  if (declaration !~ /^(class|struct|enum|union) /) return ""
  sub(/^(class|struct|enum|union) +(class +)?/, "", declaration)
  match(declaration, /^[A-Za-z_0-9]+/)
  return substr(declaration, 1, RLENGTH)
}

function is_of_the_whole(code, name) {
  code = without_template(code)
  sub(/^requires.*\) /, "", code)
  while (sub(/^(explicit|constexpr|TALLY_HD|virtual) /, "", code)) continue
  return code ~ ("^" name "\\(") || code ~ /operator\(\)\(/ || code ~ /^void visit\(Visitor& visitor\)/ || code ~ /^~/
}

# "double left = 0, right = 0;" as two declarations, since a comment before it would be about the first alone.
function print_each(line, tail, about,   type, names, count, i) {
  type = line
  sub(/ [a-z_0-9A-Z]+( = [^,]*)?,.*/, "", type)
  sub(/;.*/, "", line)
  count = split(substr(line, length(type) + 2), names, /, /)
  for (i = 1; i <= count; ++i) printf "%s%s %s;%s\n", (i > 1 ? about : ""), type, names[i], tail
}

FNR == 1 { head = 1; depth = 0; body = 0; begun = 0; doc[0] = ""; trailing = 0; fresh = 0 }

# Indented text there is code or a table: four more spaces make it so for Markdown.
head && /^\/\// { print (FNR == 1 ? "/// \\file\n///" : "///") (/^\/\/  / ? "    " : "") substr($0, 3); next }
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
  code = $0
  tail = about = ""
  trailing = 0
  sub(/ *\/\/ NOLINT.*$/, "", code)
  sub(/ *\/\/ namespace.*$/, "", code)
  sub(/::inline TALLY_MATH_ISA/, "", code)  # a namespace an instruction set, which nobody names
  if (match(code, / *\/\/\/?<? /)) {
    tail = "  ///< " substr(code, RSTART + RLENGTH)
    code = substr(code, 1, RSTART - 1)
    trailing = indent_of(code) + 1
  }
  if (code ~ /= delete;/) next
  if (code ~ /^ *}/) {
    depth += braces(code)
    if (depth < 0) depth = 0
    print code
    begun = fresh = 0
    next
  }
  if (code ~ /^ *(public|private|protected):/) { doc[depth] = ""; print code; begun = fresh = 0; next }
  if (!begun) {
    declaration = ""
    if (tail == "") {
      about = doc[depth]
      if (about == "" && class[depth] != "") {
        if (is_of_the_whole(code, class[depth]))
          about = "/** What the comment on the whole is about. */\n"
        else if (code !~ /^[^=]*[()]/)
          about = "/** As named. */\n"
      }
      if (!fresh) printf "%s", about
    }
  }
  begun = 1
  fresh = 0
  declaration = declaration " " code
  if (code ~ /^ *[A-Za-z_:0-9 ]+ [a-z_0-9A-Z]+( = [^,(){}<>]*| = {})?(, [a-z_0-9A-Z]+( = [^,(){}<>]*| = {})?)+;/)
    print_each(code, tail, about)
  else if (code ~ /struct [A-Za-z]+ { .* };$/) {
    sub(/{ /, "{ /** As named. */ ", code)
    print code tail
  } else
    print code tail
  opened = braces(code)
  if (opened > 0) {
    if (without_template(declaration) ~ /^(inline +)?(class|struct|enum|union|namespace|extern) /) {
      depth += opened
      doc[depth] = ""
      class[depth] = class_of(without_template(declaration))
      begun = 0
    } else {
      body = opened
    }
  } else if (code ~ /[;}] *$/ || (code ~ /, *$/ && without_template(declaration) !~ /[(<]/)) {
    begun = 0
  }
}
