#!/bin/sh
# usage: bundle.sh LIB64 LIBDNNL CC - copies the libraries that libupdraft.so needs beside it.
set -e
to=$1 dnnl=$2 cc=$3
real=$(readlink -f "$dnnl")
cp -u "$real" "$to/libdnnl.so.3"
for name in libsleefgnuabi.so.3 libsleef.so.3 libfmt.so.9; do
  file=$("$cc" -print-file-name="$name")
  [ -f "$file" ] && cp -uL "$file" "$to/$name" || true
done
