#!/bin/sh
# usage: implemented.sh READELF OUT OBJECTS(;-separated) - writes what the objects define for others: TYPE BYTES NAME, functions
# (FUNC) and objects (OBJECT) of C and C++. Hidden names stay inside; weak ones (inline functions, templates, vtables of
# classes without a key function) do not count, because a weak name of libupdraft.so is a stub.
readelf=$1 out=$2
IFS=';'
set -- $3
unset IFS
"$readelf" -sW "$@" 2>/dev/null |
  awk '$5 == "GLOBAL" && $6 == "DEFAULT" && $7 != "UND" && ($4 == "FUNC" || $4 == "OBJECT") { print $4, $3, $8 }' |
  LC_ALL=C sort -u > "$out.new"
if cmp -s "$out.new" "$out"; then rm "$out.new"; touch "$out"; else mv "$out.new" "$out"; fi
