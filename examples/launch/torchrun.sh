#!/bin/sh
# One process for each device of this machine by torchrun:   launch/torchrun.sh 2 main.py --dist-url env:// …
set -eu
ranks=$1
shift
exec torchrun --standalone --nproc-per-node="$ranks" "$@"
