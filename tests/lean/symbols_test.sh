#!/bin/sh
# symbols.h is what make_symbols.awk makes of symbols.tsv.  symbols_test.sh <lean/ffi>
set -eu
awk -f "$1/make_symbols.awk" "$1/symbols.tsv" | diff "$1/symbols.h" -
