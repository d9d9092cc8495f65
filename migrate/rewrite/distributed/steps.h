// The steps of the conversion, each in a file of its own.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "migrate/rewrite/distributed/program.h"

namespace updraft::migrate::rewrite::distributed {

/// Why a script is left alone: it is distributed already, or something else does it for it.
struct Distributed {
  Place where;
  std::string api;
};
std::optional<Distributed> distributed_already(const Program& program);

/// A model to be wrapped in DistributedDataParallel.
struct Model {
  Source* source = nullptr;
  std::string name;  ///< as the source writes it: model, self.model
  Variable variable;
  std::vector<NodeId> parallel;  ///< statements that wrap it in DataParallel, or calls that do so in passing
  NodeId last = kNone;           ///< the statement after which it is complete and on its device
};
std::vector<Model> models(Program& program, const std::string& name);
void wrap(Program& program, const Model& model);

/// Where the processes begin and end.
struct Entry {
  NodeId block = kNone;     ///< of `if __name__ == "__main__":`, or the module
  std::string local_rank;   ///< the variable's name
  std::uint32_t ready = 0;  ///< module-level code after this offset runs in a process group
};
Entry entry(Program& program, const std::vector<Model>& models);

/// Samplers of training loaders, and their epochs.
void loaders(Program& program);
/// What only one process may do: saving, progress. Module-level code of the entry counts from the offset `ready` on.
void outputs(Program& program, const std::vector<Model>& models, std::uint32_t ready);

/// Whether a loop's body trains: something in it is called .backward(), or it calls a function of the program that
/// does so.
bool trains(const Program& program, const Source& source, NodeId loop, int depth = 0);

}  // namespace updraft::migrate::rewrite::distributed
