#!/usr/bin/env bash
# Installs a build, moves the tree, and builds and runs a program against it (rule L2).
# usage: install_test.sh CMAKE BUILD
set -euo pipefail
cmake=$1 build=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/moved"

echo "a program found through CMake"
"$cmake" -S "$here/consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/moved" >/dev/null
"$cmake" --build "$work/build" >/dev/null
cd / # the working directory must not matter
TORCHLEAN_BACKEND=reference "$work/build/consumer" | grep -x 54.5981 >/dev/null

echo "a program found through pkg-config"
export PKG_CONFIG_PATH=$work/moved/lib/pkgconfig
c++ -std=c++20 "$here/consumer/main.cpp" -o "$work/plain" $(pkg-config --cflags --libs torchlean) \
  -Wl,-rpath,"$(pkg-config --variable=libdir torchlean)"
TORCHLEAN_BACKEND=reference "$work/plain" | grep -x 54.5981 >/dev/null

echo "the tools of the moved tree use its own core and backends"
"$work/moved/bin/torchlean" env >/dev/null
TORCHLEAN_BACKEND=reference "$work/moved/bin/torchlean" status |
  grep "$work/moved/lib/torchlean/backends/torchlean_reference.so" >/dev/null
TORCHLEAN_BACKEND=reference "$work/moved/bin/torchlean-digits" | grep accuracy >/dev/null ||
  { echo "digits does not run from the moved tree" >&2 && exit 1; }

echo "the null backend makes a program exit 1 with the reason"
if TORCHLEAN_BACKEND=null "$work/plain" 2>"$work/err"; then exit 1; fi
grep -q "the null backend was asked for" "$work/err"
