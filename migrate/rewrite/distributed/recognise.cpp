// Scripts that need no conversion.
#include <algorithm>
#include <array>

#include "migrate/rewrite/distributed/steps.h"
#include "migrate/rules/rule.h"

namespace updraft::migrate::rewrite::distributed {
namespace {

constexpr std::array<std::string_view, 12> kLast = {"init_process_group",
                                                    "DistributedDataParallel",
                                                    "DistributedSampler",
                                                    "FullyShardedDataParallel",
                                                    "fully_shard",
                                                    "Accelerator",
                                                    "initialize",
                                                    "Trainer",
                                                    "Seq2SeqTrainer",
                                                    "init",
                                                    "spawn",
                                                    "Fabric"};

/// SFTTrainer, EpochBasedRunner, Learner …
bool trainer(std::string_view name) noexcept {
  return name.ends_with("Trainer") || name.ends_with("Runner") || name.ends_with("Learner");
}

bool is_distributed(std::string_view api) noexcept {
  static constexpr std::array<std::string_view, 19> known = {"torch.distributed.init_process_group",
                                                             "torch.distributed.distributed_c10d.init_process_group",
                                                             "torch.nn.parallel.DistributedDataParallel",
                                                             "torch.nn.parallel.distributed.DistributedDataParallel",
                                                             "apex.parallel.DistributedDataParallel",
                                                             "torch.utils.data.distributed.DistributedSampler",
                                                             "torch.utils.data.DistributedSampler",
                                                             "torch.distributed.fsdp.FullyShardedDataParallel",
                                                             "torch.distributed.fsdp.fully_shard",
                                                             "accelerate.Accelerator",
                                                             "deepspeed.initialize",
                                                             "pytorch_lightning.Trainer",
                                                             "lightning.Trainer",
                                                             "lightning.pytorch.Trainer",
                                                             "lightning.fabric.Fabric",
                                                             "transformers.Trainer",
                                                             "transformers.Seq2SeqTrainer",
                                                             "horovod.torch.init",
                                                             "torch.multiprocessing.spawn"};
  if (std::find(known.begin(), known.end(), api) != known.end()) return true;
  // libraries whose trainers start and join the processes themselves
  const std::string_view last = api.substr(api.rfind('.') + 1);
  if (!trainer(last)) return false;
  for (std::string_view library :
       {"transformers", "trl", "pytorch_lightning", "lightning", "composer", "mmengine", "mmcv", "fastai",
        "sentence_transformers", "torchtune", "setfit", "colossalai", "accelerate"})
    if (rules::under(api, library)) return true;
  return false;
}

}  // namespace

std::optional<Distributed> distributed_already(const Program& program) {
  for (const auto& s : program.sources())
    for (NodeId call : s->calls) {
      const NodeId callee = s->tree().child(call, Field::Function);
      const bool attribute = s->tree().kind(callee) == Kind::Attribute;
      if (const std::string_view last = s->text_of(s->tree().child(callee, Field::Attribute));
          attribute && std::find(kLast.begin(), kLast.end(), last) == kLast.end() && !trainer(last))
        continue;
      const std::string api = s->callee(call);
      if (is_distributed(api)) return Distributed{{s.get(), call}, api};
      // class MyTrainer(transformers.Trainer)
      const Value v = s->module->value(callee);
      std::string base;
      if (v.own && v.what == What::Class && program.project().derives(v.name, [&](std::string_view name) {
            if (!is_distributed(name)) return false;
            base = name;
            return true;
          }))
        return Distributed{{s.get(), call}, base};
    }
  return std::nullopt;
}

bool trains(const Program& program, const Source& s, NodeId loop, int depth) {
  const syntax::Tree& tree = s.tree();
  for (NodeId id = loop; id < tree[loop].last; ++id) {
    if (tree.kind(id) != Kind::Call) continue;
    const NodeId callee = tree.child(id, Field::Function);
    if (tree.kind(callee) == Kind::Attribute && tree.text(tree.child(callee, Field::Attribute)) == "backward")
      return true;
    if (depth >= 4) continue;
    const Place other = program.definition(program.callee(s, id));
    if (other.source && !(other.source == &s && tree.inside(loop, other.node)) &&
        trains(program, *other.source, other.node, depth + 1))
      return true;
  }
  return false;
}

}  // namespace updraft::migrate::rewrite::distributed
