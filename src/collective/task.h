// Operations as tasks of streams.
#pragma once
#include <memory>

#include "collective/communicator.h"

namespace updraft::collective {

/// Puts the operation on the stream (or into the graph that the stream records).
void submit_collective(std::shared_ptr<Communicator> communicator, Request request, Stream& stream);

}  // namespace updraft::collective
