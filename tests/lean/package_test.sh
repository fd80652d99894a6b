#!/usr/bin/env bash
# Type-checks the modules and the programs of the Lean package, compiles them to C, and compares the C
# prototype of every extern with the shim's. Where a Lean toolchain is at hand, Lake builds and tests the
# package and its programs run.
# usage: package_test.sh COMPILER SOURCE BUILD CMAKE
# COMPILER is Lean's compiler (the wheel has no standard modules: tests/lean/prelude stands for them),
# SOURCE the repository, BUILD its build folder.
set -euo pipefail
export LC_ALL=C
compiler=$1 source=$2 build=$3 cmake=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LEAN_PATH=$work/olean

# compile ROOT MODULE
compile() {
  local file=${2//.//}
  mkdir -p "$(dirname "$work/olean/$file")" "$work/c"
  if ! "$compiler" -R "$1" -o "$work/olean/$file.olean" -c "$work/c/$2.c" "$1/$file.lean" \
    >"$work/messages" 2>&1 || [ -s "$work/messages" ]; then
    echo "$file.lean:" >&2
    cat "$work/messages" >&2
    exit 1
  fi
}
compile "$source/tests/lean/prelude" Init
for module in Buffer Kernels; do
  compile "$source/lean" TorchLean.Runtime.$module
done
compile "$source/lean" Tests
for program in Status Digits; do
  compile "$source/lean/examples" $program
done

# The Lake file names each C file of the shim.
for file in "$source"/lean/ffi/*.c; do
  grep -q "\"$(basename "$file" .c)\"" "$source/lean/lakefile.lean" ||
    { echo "lakefile.lean does not compile $file" >&2 && exit 1; }
done

# type name(types);  without spaces after commas
cat "$work"/c/TorchLean.Runtime.*.c | grep -E '^[a-z0-9_]+\*? torchlean_[a-z0-9_]+\(.*\);$' |
  sed 's/, /,/g' | sort -u >"$work/lean"
sed -n 's/^LEAN_EXPORT //p' "$source/lean/ffi/symbols.h" |
  sed -E 's/b?_?lean_obj_(arg|res)/lean_object*/g
          s/(lean_object\*|u?int[0-9]+_t|double) [a-z_0-9]+([,)])/\1\2/g
          s/, /,/g' | sort >"$work/shim"
if ! diff "$work/lean" "$work/shim"; then
  echo "the prototypes that Lean emits (<) are not those of the shim (>)" >&2
  exit 1
fi
echo "$(wc -l <"$work/lean") prototypes agree"

if ! command -v lake >/dev/null; then
  echo "torchlean: Lake itself was not run: no Lean toolchain on this machine"
  exit 0
fi
"$cmake" --install "$build" --prefix "$work/prefix" >/dev/null
cd "$work/prefix/share/torchlean/lean"
lake build status digits tests
TORCHLEAN_BACKEND=reference lake test
TORCHLEAN_BACKEND=reference .lake/build/bin/status
TORCHLEAN_BACKEND=reference .lake/build/bin/digits "$source/examples/digits/data/digits.txt"
