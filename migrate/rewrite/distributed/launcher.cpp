// run_distributed_npu.sh: starts a converted script by torchrun.
#include "migrate/rewrite/distributed/conversion.h"

namespace updraft::migrate::rewrite {
namespace {

/// As one word of the shell.
std::string quoted(const std::string& word) {
  std::string text = "'";
  for (char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

constexpr const char* kScript = R"sh(#!/bin/bash
# Trains on the NPUs of this host, one process each.
#
#   bash run_distributed_npu.sh [arguments of the script]
#
# NPROC_PER_NODE            processes; else one for each card of ASCEND_RT_VISIBLE_DEVICES, else for each of the host
# MASTER_ADDR, MASTER_PORT  where the processes meet (127.0.0.1, 29500)
# NNODES, NODE_RANK         of several hosts; then MASTER_ADDR is the first host's
# BIND_CORES=1              binds each process to cores near its card (torch_npu's CPU_AFFINITY_CONF)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

count_cards() {
    if [ -n "${ASCEND_RT_VISIBLE_DEVICES:-}" ]; then
        echo "$ASCEND_RT_VISIBLE_DEVICES" | tr ',' '\n' | awk -F- '
            NF == 2 { n += $2 - $1 + 1 }
            NF == 1 && $1 != "" { n += 1 }
            END { print n + 0 }'
    elif command -v npu-smi > /dev/null; then
        { npu-smi info -l || true; } |
            awk -F: '/Chip Count/ { n += $2 } /Total Count/ { total = $2 } END { print (n ? n : total) + 0 }'
    else
        echo 0
    fi
}

processes="${NPROC_PER_NODE:-$(count_cards)}"
if [ "$processes" -lt 1 ]; then
    echo "run_distributed_npu.sh: no NPU was found by npu-smi info -l; set NPROC_PER_NODE to the number of processes" >&2
    exit 1
fi
if [ "${BIND_CORES:-0}" = 1 ]; then
    export CPU_AFFINITY_CONF="${CPU_AFFINITY_CONF:-1}"
fi
exec torchrun --nnodes "${NNODES:-1}" --node_rank "${NODE_RANK:-0}" --nproc_per_node "$processes" \
    --master_addr "${MASTER_ADDR:-127.0.0.1}" --master_port "${MASTER_PORT:-29500}" \
    )sh";

}  // namespace

std::string distributed_launcher(const std::string& main_file) { return kScript + quoted(main_file) + " \"$@\"\n"; }

}  // namespace updraft::migrate::rewrite
