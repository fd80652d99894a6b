#!/bin/sh
# Rule P1: core and Lean shim name libc and the loader only (the shim the core, too), export our symbols
# only, and leave nothing undefined but what those give and, in the shim, Lean's runtime.
# The core exports what its header declares, and what the frozen one did (rule L8).
#   p1_dynamic_section.sh <core> <shared shim> <symbols.tsv> <runtime.h> <frozen runtime.h>
set -eu
export LC_ALL=C
core=$1 shim=$2 table=$3 header=$4 frozen=$5
failed=0

# complain <what> <lines>: a nonempty list is a failure.
complain() {
  if [ -n "$2" ]; then
    echo "$1:"
    echo "$2" | sed 's/^/  /'
    failed=1
  fi
}

needed() { readelf -dW "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }
# Names without versions; A is the name of a version node.
exported() { nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }'; }
# Strong ones; versioned ones come from libc, which `needed` has shown to be the only such library.
undefined() { nm -D --undefined-only "$1" | awk '$1 == "U" && $2 !~ /@/ { print $2 }'; }

system='libc\.so\.[0-9]+|ld-linux[-a-z0-9_]*\.so\.[0-9]+'
complain "$core needs" "$(needed "$core" | grep -Evx "$system" || true)"
complain "$shim needs" "$(needed "$shim" | grep -Evx "$system|libtorchlean_core\.so[.0-9]*" || true)"

complain "$core exports" "$(exported "$core" | grep -v '^tl_' || true)"
# differ <expected> <found>: the lines that one of them lacks.
differ() {
  list=$(mktemp)
  echo "$1" >"$list"
  echo "$2" | diff "$list" - || true
  rm -f "$list"
}
# The functions that a header declares: the name before the first parenthesis after TL_API.
declared() {
  tr '\n' ' ' <"$1" | grep -o 'TL_API[^(;]*(' | sed 's/ *($//; s/.*[ *]//' | grep '^tl_' | sort
}
complain "$core exports (< declared, > found)" "$(
  differ "$(declared "$header")" "$(exported "$core" | sort)"
)"
complain "$core lacks of what it had once" "$(
  differ "$(declared "$frozen")" "$(exported "$core" | sort)" | grep '^<' || true
)"
expected=$(awk -F'\t' '!/^#/ && $1 != "symbol" { print $1 }' "$table" | sort)
complain "$shim exports (< expected, > found)" "$(
  differ "$expected" "$(exported "$shim" | sort)"
)"

complain "$core leaves undefined" "$(undefined "$core")"
complain "$shim leaves undefined" "$(undefined "$shim" | grep -Ev '^(lean|tl)_' || true)"
exit $failed
