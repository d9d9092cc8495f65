#!/usr/bin/env bash
# One process for each device of this machine, described by a rank table, each on cores of its own:
#
#   launch/rank_table.sh 2 python main.py --dist-url env:// …
#
# RANK_TABLE_FILE, where it is set, is the table to use; otherwise one for this machine is written. Outputs go to
# rank-0.log, rank-1.log, … in $LOG_DIR (default: the current folder). When a rank fails, the others are ended.
set -euo pipefail
ranks=$1
shift
logs=${LOG_DIR:-.}
mkdir -p "$logs"

if [[ -z ${RANK_TABLE_FILE:-} ]]; then
  export RANK_TABLE_FILE=$logs/rank_table_${ranks}p.json
  devices=""
  for ((rank = 0; rank < ranks; rank++)); do
    devices+="${devices:+,}
      {\"device_id\": \"$rank\", \"device_ip\": \"192.168.100.$((101 + rank))\", \"rank_id\": \"$rank\"}"
  done
  cat >"$RANK_TABLE_FILE" <<JSON
{
  "version": "1.0",
  "status": "completed",
  "server_count": "1",
  "server_list": [
    {"server_id": "127.0.0.1", "device": [$devices
    ]}
  ]
}
JSON
fi

# HCCL reads RANK_*; torch's env:// wants RANK, WORLD_SIZE and a place to meet
export RANK_SIZE=$ranks WORLD_SIZE=$ranks LOCAL_WORLD_SIZE=$ranks JOB_ID=${JOB_ID:-10086}
export MASTER_ADDR=${MASTER_ADDR:-127.0.0.1}
export MASTER_PORT=${MASTER_PORT:-$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')}

mapfile -t cores < <(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)), sep="\n")')
each=$((${#cores[@]} / ranks > 0 ? ${#cores[@]} / ranks : 1))

pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true' EXIT
for ((rank = 0; rank < ranks; rank++)); do
  mine=()
  for ((i = 0; i < each; i++)); do mine+=("${cores[(rank * each + i) % ${#cores[@]}]}"); done
  RANK_ID=$rank RANK=$rank LOCAL_RANK=$rank ASCEND_DEVICE_ID=$rank \
    taskset -c "$(IFS=,; echo "${mine[*]}")" "$@" >"$logs/rank-$rank.log" 2>&1 &
  pids+=($!)
done

status=0
for ((left = ranks; left > 0; left--)); do
  wait -n || { status=$?; break; }
done
((status == 0)) || echo "a rank ended with status $status; see $logs/rank-*.log" >&2
exit "$status"
