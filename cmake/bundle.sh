#!/bin/sh
# usage: bundle.sh LIBUPDRAFT LIBDNNL CC READELF - copies the libraries that libupdraft.so needs beside it, with what those
# need in turn, but for what every system (libgomp: every torch) has.
set -e
library=$1 dnnl=$2 cc=$3 readelf=$4
to=$(dirname "$library")

needed() { "$readelf" -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p'; }

bundle() {
  for name in $(needed "$1"); do
    case $name in
      ld-linux*|libc.so.*|libm.so.*|libdl.so.*|librt.so.*|libpthread.so.*|libgcc_s.so.*|libstdc++.so.*|libgomp.so.*) continue ;;
      libomp.so*|libasan.so*|libubsan.so*|libtsan.so*|libclang_rt*) continue ;;  # of other presets
      libdnnl.so.*) file=$dnnl ;;
      *) file=$("$cc" -print-file-name="$name") ;;
    esac
    case " $kept " in *" $name "*) continue ;; esac
    [ -f "$file" ] || { echo "bundle.sh: $1 needs $name, and the compiler finds none" >&2; exit 1; }
    kept="$kept $name"
    cp -uL "$file" "$to/$name"
    bundle "$file"
  done
}

kept=
bundle "$library"
for file in "$to"/lib*.so.*; do  # left by an earlier build
  case " $kept " in *" ${file##*/} "*) ;; *) rm -f "$file" ;; esac
done
