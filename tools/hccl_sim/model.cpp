#include "hccl_sim/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "collective/error.h"
#include "hccl_sim/cluster.h"

namespace hccl_sim {
namespace {

using nlohmann::json;
using updraft::Error;
namespace result = updraft::collective::result;

Model finish(Model model) {
  if (model.gradients.empty()) throw Error(result::kPara, "model {}: it has no gradients", model.name);
  std::stable_sort(model.gradients.begin(), model.gradients.end(),
                   [](const Gradient& a, const Gradient& b) { return a.ready < b.ready; });
  model.compute = std::max(model.compute, model.gradients.back().ready);
  return model;
}

double non_negative(const json& value, const std::string& what) {
  if (!value.is_number() || !(value.get<double>() >= 0) || !std::isfinite(value.get<double>()))
    throw Error(result::kPara, "model: {} must be a number of at least 0, got {}", what, value.dump());
  return value.get<double>();
}

}  // namespace

double Model::bytes() const {
  double sum = 0;
  for (const Gradient& g : gradients) sum += g.bytes;
  return sum;
}

Model parse_model(const json& description) {
  if (!description.is_object() || !description.contains("gradients") || !description.at("gradients").is_array())
    throw Error(result::kPara, "model: the description must be an object with a list \"gradients\"");
  Model model;
  model.name = description.value("name", json("model")).is_string() ? description.value("name", "model") : "model";
  model.forward = non_negative(description.value("forward_ms", json(0)), "forward_ms") * 1e-3;
  model.compute = model.forward + non_negative(description.value("backward_ms", json(0)), "backward_ms") * 1e-3;
  size_t index = 0;
  for (const json& g : description.at("gradients")) {
    const std::string where = fmt::format("gradients[{}]", index++);
    if (!g.is_object() || g.contains("bytes") == g.contains("elements") || !g.contains("ready_ms"))
      throw Error(result::kPara, "model: {} must have ready_ms and either bytes or elements, got {}", where, g.dump());
    Gradient gradient;
    if (g.contains("name") && g.at("name").is_string()) gradient.name = g.at("name").get<std::string>();
    gradient.bytes = g.contains("bytes") ? non_negative(g.at("bytes"), where + ".bytes")
                                         : 4 * non_negative(g.at("elements"), where + ".elements");
    gradient.ready = non_negative(g.at("ready_ms"), where + ".ready_ms") * 1e-3;
    model.gradients.push_back(std::move(gradient));
  }
  return finish(std::move(model));
}

Model parse_model_csv(const std::string& text, const std::string& name) {
  Model model;
  model.name = name;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (line.empty() || line.front() == '#') continue;
    std::vector<std::string> fields;
    std::istringstream parts(line);
    for (std::string field; std::getline(parts, field, ',');) fields.push_back(field);
    const auto value = [&](const std::string& field, double& to) {
      char* end = nullptr;
      to = std::strtod(field.c_str(), &end);
      while (end && *end == ' ') ++end;
      return end != field.c_str() && end && *end == 0 && std::isfinite(to) && to >= 0;
    };
    Gradient gradient;
    double ready = 0;
    if ((fields.size() != 2 && fields.size() != 3) || !value(fields[fields.size() - 2], gradient.bytes) ||
        !value(fields.back(), ready)) {
      if (model.gradients.empty() && number == 1) continue;  // the heading
      throw Error(result::kPara, "model {} line {}: wanted name,bytes,ready_ms, got \"{}\"", name, number, line);
    }
    if (fields.size() == 3) gradient.name = fields[0];
    gradient.ready = ready * 1e-3;
    model.gradients.push_back(std::move(gradient));
  }
  return finish(std::move(model));
}

Model read_model(const std::string& what) {
  if (what == "resnet50") return resnet50(35e-3, 70e-3);
  if (what.size() > 4 && what.substr(what.size() - 4) == ".csv") {
    std::ifstream file(what);
    if (!file)
      throw Error(result::kOpenFile, "--model {} cannot be read: wanted resnet50, or a .csv or .json file", what);
    std::ostringstream text;
    text << file.rdbuf();
    return parse_model_csv(text.str(), what);
  }
  return parse_model(read_json(what));
}

Model timed(Model model, double forward, double backward) {
  const double old_backward = model.compute - model.forward;
  if (forward < 0) forward = model.forward;
  if (backward < 0) backward = old_backward;
  const double factor = old_backward > 0 ? backward / old_backward : 0;
  for (Gradient& g : model.gradients) g.ready = forward + std::max(0.0, g.ready - model.forward) * factor;
  model.forward = forward;
  model.compute = forward + backward;
  return model;
}

Model resnet50(double forward, double backward) {
  struct Tensor {
    std::string name;
    double elements, work;  // multiplications of the layer, where the tensor is its weight
  };
  std::vector<Tensor> tensors;
  const auto convolution = [&](const std::string& name, int in, int out, int kernel, int side) {
    const double elements = 1.0 * in * out * kernel * kernel;
    tensors.push_back({name + ".weight", elements, elements * side * side});
    tensors.push_back({name + ".bn.weight", double(out), 0});
    tensors.push_back({name + ".bn.bias", double(out), 0});
  };
  convolution("conv1", 3, 64, 7, 112);
  const int blocks[] = {3, 4, 6, 3};
  int in = 64;
  for (int layer = 0; layer < 4; ++layer) {
    const int width = 64 << layer, side = 56 >> layer;
    for (int b = 0; b < blocks[layer]; ++b) {
      const std::string name = fmt::format("layer{}.{}", layer + 1, b);
      convolution(name + ".conv1", in, width, 1, b == 0 && layer > 0 ? 2 * side : side);
      convolution(name + ".conv2", width, width, 3, side);
      convolution(name + ".conv3", width, 4 * width, 1, side);
      if (b == 0) convolution(name + ".downsample", in, 4 * width, 1, side);
      in = 4 * width;
    }
  }
  tensors.push_back({"fc.weight", 2048.0 * 1000, 2048.0 * 1000});
  tensors.push_back({"fc.bias", 1000, 0});

  double work = 0, done = 0;
  for (const Tensor& t : tensors) work += t.work;
  Model model;
  model.name = "resnet50";
  model.forward = forward;
  model.compute = forward + backward;
  for (size_t i = tensors.size(); i-- > 0;) {
    done += tensors[i].work;
    model.gradients.push_back({tensors[i].name, 4 * tensors[i].elements, forward + backward * done / work});
  }
  return finish(std::move(model));
}

Model bucketised(const Model& model, double bytes, double first) {
  if (bytes <= 0) return model;
  Model result;
  result.name = model.name;
  result.compute = model.compute;
  result.forward = model.forward;
  Gradient bucket;
  for (const Gradient& g : model.gradients) {
    bucket.bytes += g.bytes;
    bucket.ready = g.ready;
    bucket.name = fmt::format("bucket {}", result.gradients.size());
    const double enough = result.gradients.empty() && first > 0 ? std::min(first, bytes) : bytes;
    if (bucket.bytes >= enough || &g == &model.gradients.back()) {
      result.gradients.push_back(bucket);
      bucket = {};
    }
  }
  return result;
}

}  // namespace hccl_sim
