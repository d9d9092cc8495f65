// What a model's training step gives to the collectives: gradients and when they are ready.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace hccl_sim {

struct Gradient {
  std::string name;
  double bytes = 0;
  double ready = 0;  ///< seconds since the step began
};

struct Model {
  std::string name;
  double compute = 0;  ///< seconds of forward and backward without communication; at least the last gradient's time
  std::vector<Gradient> gradients;  ///< in the order in which they are ready
  double forward = 0;               ///< seconds of the computation before any gradient is worked on
  double bytes() const;
};

/// {"name", "forward_ms", "backward_ms", "gradients": [{"name", "bytes" or "elements" (fp32), "ready_ms"}]};
/// ready_ms counts from the beginning of the step. Throws updraft::Error.
Model parse_model(const nlohmann::json& description);
/// Lines of name,bytes,ready_ms (or bytes,ready_ms), with or without a heading. Throws updraft::Error.
Model parse_model_csv(const std::string& text, const std::string& name);
/// "resnet50", or a file: .csv, else JSON. Throws updraft::Error.
Model read_model(const std::string& what);
/// The same model on a card that needs `forward` and `backward` seconds: the gradients' times are brought to the new
/// ones in proportion. Negative: as it is.
Model timed(Model model, double forward, double backward);
/// ResNet-50 for ImageNet: 161 tensors, 25,557,032 parameters in fp32. The gradients' times share `backward` out by the
/// layers' multiplications, the last layer first.
Model resnet50(double forward, double backward);

/// Gradients put together in the order in which they are ready, as DistributedDataParallel does: a bucket is closed by
/// the gradient that fills it to `bytes` (the first bucket: to `first`), and is ready with its last gradient. 0: as
/// they are.
Model bucketised(const Model& model, double bytes, double first);

}  // namespace hccl_sim
