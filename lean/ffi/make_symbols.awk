# Writes symbols.h, the prototypes of the shim, from symbols.tsv:  awk -f make_symbols.awk symbols.tsv
# dLdy -> d_ldy
function snake(name,    out, i, letter) {
  for (i = 1; i <= length(name); ++i) {
    letter = substr(name, i, 1)
    out = out (letter ~ /[A-Z]/ ? "_" tolower(letter) : letter)
  }
  return out
}
BEGIN {
  FS = "\t"
  type["u8"] = "uint8_t"; type["u32"] = "uint32_t"; type["u64"] = "uint64_t"; type["f64"] = "double"
  print "/* clang-format off */"
  print "/* The prototypes of the Lean symbols, made from symbols.tsv by make_symbols.awk: do not edit."
  print " * Every file of the shim includes it, so that the compiler compares each function with the table. */"
  print "#ifndef TORCHLEAN_LEAN_SYMBOLS_H\n#define TORCHLEAN_LEAN_SYMBOLS_H\n"
  print "#include \"lean_abi.h\"\n"
  print "#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
}
/^#/ || $1 == "symbol" { next }
{
  # "(0 add, 1 sub)" after a parameter's name is a comment.
  parameters = $3
  gsub(/ *\([^)]*\)/, "", parameters)
  count = split(parameters, parameter, /, */)
  list = ""
  for (i = 1; i <= count; ++i) {
    name = parameter[i]
    sub(/.* /, "", name)
    kind = parameter[i]
    sub(/ [^ ]*$/, "", kind)
    list = list (i > 1 ? ", " : "") (kind in type ? type[kind] : "b_lean_obj_arg") " " snake(name)
  }
  result = ($4 == "pure" && $2 in type) ? type[$2] : "lean_obj_res"
  print "LEAN_EXPORT " result " " $1 "(" list ");"
}
END { print "\n#ifdef __cplusplus\n}\n#endif\n\n#endif" }
