#!/usr/bin/env bash
# Every row of the operation table has its line in docs/operations.md.
# usage: operations_documented.sh SOURCE
set -euo pipefail
missing=0 count=0
for name in $(sed -nE 's/^TL_OPERATION\((\w+),.*/\1/p' "$1/core/include/torchlean/operations.def"); do
  count=$((count + 1))
  grep -qE "\`$name[\`(]" "$1/docs/operations.md" || { echo "$name is not documented" >&2; missing=1; }
done
echo "$count operations looked up"
[ "$count" -gt 80 ] && [ "$missing" = 0 ]
