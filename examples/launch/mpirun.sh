#!/bin/sh
# One process for each device by Open MPI:   launch/mpirun.sh 2 python main.py --dist-url env:// …
# MPI only starts the processes and tells them their ranks; what they exchange goes through HCCL.
set -eu
ranks=$1
shift
: "${MASTER_ADDR:=127.0.0.1}"
: "${MASTER_PORT:=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')}"
export MASTER_ADDR MASTER_PORT
# shellcheck disable=SC2016
exec mpirun ${MPIRUN_OPTIONS:-} -np "$ranks" -x MASTER_ADDR -x MASTER_PORT sh -c '
  export RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE
  export LOCAL_RANK=$OMPI_COMM_WORLD_LOCAL_RANK LOCAL_WORLD_SIZE=$OMPI_COMM_WORLD_LOCAL_SIZE
  exec "$@"' sh "$@"
