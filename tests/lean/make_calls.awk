# Writes a function for each row of symbols.tsv that calls the symbol with values of its types, and the
# table of them:  awk -f make_calls.awk symbols.tsv
BEGIN {
  FS = "\t"
  print "/* Made from symbols.tsv by make_calls.awk. */"
}
/^#/ || $1 == "symbol" { next }
{
  # "(0 add, 1 sub)" after a parameter's name is a comment.
  parameters = $3
  gsub(/ *\([^)]*\)/, "", parameters)
  count = split(parameters, parameter, /, */)
  list = ""
  for (i = 1; i <= count; ++i) {
    kind = parameter[i]
    sub(/ [^ ]*$/, "", kind)
    member = kind ~ /^[uf][0-9]+$/ ? kind : "object"
    list = list (i > 1 ? ", " : "") "in[" (i - 1) "]." member
  }
  result = ($4 == "pure" && $2 ~ /^[uf][0-9]+$/) ? $2 : "object"
  printf "static Value call_%d(const Value *in) {\n", NR
  printf "  return (Value){.%s = %s(%s)};\n}\n", result, $1, list
  rows = rows sprintf("    {\"%s\", \"%s\", \"%s\", %s, call_%d},\n", $1, $2, parameters,
                      $4 == "io" ? "true" : "false", NR)
}
END { printf "\nstatic const Symbol symbols[] = {\n%s};\n", rows }
