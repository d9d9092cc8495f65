#!/bin/sh
# usage: implemented.sh NM OUT OBJECTS(;-separated) - writes the exported functions that the objects define.
nm=$1 out=$2
IFS=';'
set -- $3
unset IFS
"$nm" -P --defined-only "$@" 2>/dev/null | awk '$2 == "T" && $1 !~ /^_Z/ { print $1 }' | LC_ALL=C sort -u > "$out.new"
if cmp -s "$out.new" "$out"; then rm "$out.new"; touch "$out"; else mv "$out.new" "$out"; fi
