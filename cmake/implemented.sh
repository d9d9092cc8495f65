#!/bin/sh
# usage: implemented.sh READELF OUT OBJECTS(;-separated) - writes what the objects define for others: TYPE BYTES NAME, functions
# (FUNC) and objects (OBJECT) of C and C++. Hidden names stay inside. Weak ones (inline functions, templates) do not count,
# because a weak name of libupdraft.so is a stub, but for vtables and typeinfo, which compilers never make otherwise.
readelf=$1 out=$2
IFS=';'
set -- $3
unset IFS
"$readelf" -sW "$@" 2>/dev/null |
  awk '$6 == "DEFAULT" && $7 != "UND" && ($4 == "FUNC" || $4 == "OBJECT") &&
       ($5 == "GLOBAL" || $5 == "WEAK" && $8 ~ /^_ZT[VIS]/) { print $4, $3, $8 }' |
  LC_ALL=C sort -u > "$out.new"
if cmp -s "$out.new" "$out"; then rm "$out.new"; touch "$out"; else mv "$out.new" "$out"; fi
