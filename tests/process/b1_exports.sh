#!/usr/bin/env bash
# B1: a backend exports torchlean_backend_entry and nothing else. usage: b1_exports.sh FOLDER
set -euo pipefail
count=0
for file in "$1"/*.so; do
  exported=$(nm -D --defined-only "$file" | awk '$2 != "A" { print $3 }')
  if [ "$exported" != torchlean_backend_entry ]; then
    echo "$file exports: $exported" >&2
    exit 1
  fi
  count=$((count + 1))
done
echo "$count backends export their entry only"
[ "$count" -gt 0 ]
