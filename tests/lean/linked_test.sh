#!/usr/bin/env bash
# A program linked as a Lean executable is, against an installed tree: its libraries are core, shim,
# libgcc_s and Lean's own, none of a backend's and no C++ library; it runs after the tree was moved.
# usage: linked_test.sh CMAKE BUILD SOURCE LEAN-RUNTIME C-COMPILER
set -euo pipefail
export LC_ALL=C
cmake=$1 build=$2 source=$3 runtime=$4 compiler=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/first" >/dev/null
"$compiler" -std=c11 -fPIC -DTORCHLEAN_OWN_LEAN_ABI -I"$work/first/include" -I"$source/lean/ffi" \
  "$source/tests/lean/buffers_test.c" "$source/tests/lean/lean_process.c" -o "$work/first/bin/host" \
  -Wl,--no-as-needed -l:libgcc_s.so.1 -L"$work/first/lib" -ltorchlean_lean -ltorchlean_core \
  -L"$runtime" -lleanshared "-Wl,-rpath,\$ORIGIN/../lib" -Wl,-rpath,"$runtime"
mv "$work/first" "$work/moved"
cd / # the working directory must not matter

libraries=$(ldd "$work/moved/bin/host")
expect() {
  grep -q "$1.* => $2" <<<"$libraries" || { printf 'no %s in\n%s\n' "$1" "$libraries" >&2 && exit 1; }
}
expect libtorchlean_core "$work/moved/"
expect libtorchlean_lean "$work/moved/"
expect libgcc_s.so.1 /
expect libleanshared.so /
if grep -Ei 'stdc\+\+|libc\+\+|torch_|libc10|cuda|nvrtc|cublas|cudnn|not found' <<<"$libraries"; then
  echo "the program needs what it must not" >&2
  exit 1
fi
[ "$(readelf -dW "$work/moved/bin/host" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | head -1)" = \
  libgcc_s.so.1 ] || { echo "libgcc_s.so.1 is not the first library" >&2 && exit 1; }
TORCHLEAN_BACKEND=reference "$work/moved/bin/host" >"$work/output" ||
  { cat "$work/output" >&2 && exit 1; }
echo "$(grep -c '^ok' "$work/output") tests passed in the moved tree"
