#!/usr/bin/env bash
# P7: no instruction newer than x86-64's baseline outside functions that are chosen at run time.
# usage: p7_instructions.sh OBJDUMP FILE...
#
# Chosen at run time are functions whose name, or namespace, says for which instructions they are:
# avx, fma, sse4, a target of Highway (N_AVX2 ...), a clone (.arch_x86_64_v3), libstdc++'s rdrand.
# tzcnt is no newer instruction where compilers put it: an older processor reads it as bsf.
set -euo pipefail
objdump=$1
shift
failed=0
for file in "$@"; do
  found=$("$objdump" -d --no-show-raw-insn "$file" | awk '
    /^[0-9a-f]+ <.*>:$/ {
      name = $0
      sub(/^[0-9a-f]+ </, "", name)
      sub(/>:$/, "", name)
      chosen = tolower(name) ~ /avx|fma|sse4|n_ssse3|n_sse|\.arch_x86_64_v|__x86_rd/
      functions++
      next
    }
    chosen || $1 !~ /^[0-9a-f]+:$/ { next }
    {
      instructions++
      # VEX and EVEX forms begin with v (verr and verw do not count); then what came after SSE2.
      newer = $2 ~ /^v/ && $2 !~ /^ver[rw]$/
      newer = newer || /%[yz]mm|%k[1-7]/
      newer = newer || $2 ~ /^(addsub|hadd|hsub|lddqu|movddup|movs[hl]dup)/
      newer = newer || $2 ~ /^(pabs|palignr|phadd|phsub|pmaddub|pmulhrs|pshufb|psign)/
      newer = newer || $2 ~ /^(blend|pblend|dpp|extractps|insertps|mpsadbw|packusdw|pmulld|pmuldq)/
      newer = newer || $2 ~ /^(pm(ax|in)(sb|uw|ud|sd)|pmov[sz]x|ptest|round[sp][sd]|movntdqa)/
      newer = newer || $2 ~ /^(pcmp(eqq|gtq|[ei]str)|pextr[bdq]|pinsr[bdq]|phminpos)/
      newer = newer || $2 ~ /^(crc32|popcnt|pclmul|aes|sha[0-9]|movbe|rdrand|rdseed)/
      newer = newer || $2 ~ /^(andn[lq]?$|bextr|bls|bzhi|mulx|pdep|pext|rorx|sarx|shlx|shrx|ad[co]x)/
      newer = newer || $2 ~ /^lzcnt/
      if (newer && !(name in seen)) {
        seen[name] = 1
        print "  " substr(name, 1, 120) ": " $2
      }
    }
    END { if (functions < 20 || instructions < 1000) print "  only " functions " functions read" }')
  if [ -n "$found" ]; then
    echo "$file has newer instructions:"
    echo "$found" | head -5
    failed=1
  fi
done
echo "$# files looked into"
[ "$#" -gt 0 ] && [ "$failed" = 0 ]
