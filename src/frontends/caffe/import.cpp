#include "frontends/caffe/import.h"

#include <algorithm>
#include <charconv>
#include <compare>
#include <set>

#include "frontends/caffe/conversion.h"

namespace updraft::caffe {
namespace {

/// What a name stands for at some layer: the top of a layer before it.
struct Source {
  size_t layer, top;
  auto operator<=>(const Source&) const = default;
};

[[noreturn]] void refuse(const Layer& layer, const std::string& why) {
  throw Error(code::kAclnnParamInvalid, "{} ({}): {}", layer.name, layer.type, why);
}

class Importer {
 public:
  Importer(Net net, Weights weights, const ImportOptions& options)
      : net_(std::move(net)), weights_(std::move(weights)), options_(options) {}

  graph::Model run() {
    graph::Model model;
    model.name = "graph";
    model.graph = std::make_shared<graph::Graph>(model.name);
    graph::Builder build(*model.graph);
    resolve();
    const std::vector<Source> outputs = outputs_of_net();
    const std::vector<bool> needed = needed_for(outputs);
    inputs(build);
    for (size_t i = 0; i < net_.layers.size(); ++i)
      if (needed[i] && net_.layers[i].type != "Input") convert(i, build);
    std::vector<Endpoint> results;
    graph::Attribute::Texts names;
    for (const Source& output : outputs) {
      const Layer& layer = net_.layers[output.layer];
      results.push_back(given_[output.layer][output.top]);
      names.push_back(fmt::format("{}:{}:{}", layer.name, output.top, layer.tops[output.top]));
    }
    build.outputs(results);
    model.graph->attributes["output_names"] = names;
    return model;
  }

 private:
  /// Finds who gives each bottom. A layer may have a top of its bottom's name; later layers read that one.
  void resolve() {
    for (size_t i = 0; i < net_.layers.size(); ++i) {
      const Layer& layer = net_.layers[i];
      by_name_.emplace(layer.name, i);
      std::vector<Source>& bottoms = bottoms_.emplace_back();
      for (const std::string& bottom : layer.bottoms) {
        const auto found = blobs_.find(bottom);
        if (found == blobs_.end()) refuse(layer, fmt::format("bottom \"{}\" is given by no layer before it", bottom));
        bottoms.push_back(found->second);
        read_.insert(found->second);
      }
      for (size_t t = 0; t < layer.tops.size(); ++t) {
        const std::string& top = layer.tops[t];
        const bool in_place = t < layer.bottoms.size() && layer.bottoms[t] == top;
        if (!in_place && blobs_.contains(top))
          refuse(layer, fmt::format("top \"{}\" is given by a layer before it, too", top));
        blobs_[top] = {i, t};
      }
    }
  }

  std::vector<Source> outputs_of_net() const {
    std::vector<Source> outputs;
    for (const std::string& name : options_.output_nodes) outputs.push_back(output_named(name));
    if (!outputs.empty()) return outputs;
    for (size_t i = 0; i < net_.layers.size(); ++i)
      for (size_t t = 0; t < net_.layers[i].tops.size(); ++t)
        if (net_.layers[i].type != "Input" && !read_.contains({i, t})) outputs.push_back({i, t});
    if (outputs.empty()) throw Error(code::kAclnnParamInvalid, "the net has no outputs: every top is read by a layer");
    return outputs;
  }

  Source output_named(const std::string& name) const {
    std::string_view layer = name;
    size_t top = 0;
    // a number behind the last colon, or the one before
    for (size_t colon = name.rfind(':'); colon != std::string::npos && colon > 0; colon = name.rfind(':', colon - 1)) {
      const char *begin = name.data() + colon + 1,
                 *end = name.data() + std::min(name.find(':', colon + 1), name.size());
      const auto [at, error] = std::from_chars(begin, end, top);
      if (error == std::errc() && at == end) {
        layer = layer.substr(0, colon);
        break;
      }
      top = 0;
    }
    if (layer.size() == name.size())
      if (const auto blob = blobs_.find(name); blob != blobs_.end()) return blob->second;
    const auto found = by_name_.find(layer);
    if (found == by_name_.end() || top >= net_.layers[found->second].tops.size())
      throw Error(code::kAclnnParamInvalid, "output {} is asked for; no node and no tensor of the model has that name",
                  name);
    return {found->second, top};
  }

  std::vector<bool> needed_for(const std::vector<Source>& outputs) const {
    std::vector<bool> needed(net_.layers.size(), options_.output_nodes.empty());
    for (const Source& output : outputs) needed[output.layer] = true;
    for (size_t i = needed.size(); i-- > 0;)
      if (needed[i])
        for (const Source& bottom : bottoms_[i]) needed[bottom.layer] = true;
    return needed;
  }

  void inputs(graph::Builder& build) {
    given_.resize(net_.layers.size());
    std::vector<std::string> names;
    for (size_t i = 0; i < net_.layers.size(); ++i) {
      const Layer& layer = net_.layers[i];
      for (size_t t = 0; layer.type == "Input" && t < layer.tops.size(); ++t) {
        const std::string& name = layer.tops.size() == 1 ? layer.name : layer.tops[t];
        graph::TensorDesc desc(DType::Float, layer.shapes[t]);
        // Nets are not made for one size: another shape is taken as it is.
        frontends::set_shape(options_, name, false, desc);
        if (!desc.rank_known())
          throw Error(code::kAclnnParamInvalid,
                      "input {} has no shape in the prototxt: give it (--input_shape=\"{}:1,3,224,224\")", name, name);
        if (desc.dims.size() == 4) desc.format = desc.origin_format = graph::Format::NCHW;
        given_[i].push_back(build.input(name, static_cast<int64_t>(names.size()), std::move(desc)));
        names.push_back(name);
      }
    }
    frontends::require_inputs(options_, std::vector<std::string_view>(names.begin(), names.end()));
  }

  void convert(size_t i, graph::Builder& build) {
    const Layer& layer = net_.layers[i];
    const Row* row = find_row(layer.type);
    if (!row) refuse(layer, refusal_of(layer.type));
    std::vector<Endpoint> bottoms;
    for (const Source& bottom : bottoms_[i]) bottoms.push_back(given_[bottom.layer][bottom.top]);
    const auto weights = weights_.layers.find(layer.name);
    const Blobs* blobs = weights == weights_.layers.end() ? nullptr : &weights->second;
    if (blobs && !blobs->empty() && by_name_.at(layer.name) != i)
      refuse(layer,
             "a layer before it has the same name, and weights are found by names: rename one of them in both files");
    try {
      Conversion c(layer, *row, blobs, build, std::move(bottoms));
      row->convert(c);
      c.check();
      given_[i] = c.given();
    } catch (const Error& e) {
      // Names such as "pool" are parts of other words, so only a sentence that begins with it names the layer.
      const std::string& text = e.text();
      if (text.starts_with(layer.name + " (") || text.starts_with(layer.name + "/"))
        frontends::throw_of_node(layer.name, layer.type, e);
      refuse(layer, text);
    }
  }

  const Net net_;
  const Weights weights_;
  const ImportOptions& options_;
  std::vector<std::vector<Source>> bottoms_;            ///< of each layer
  std::vector<std::vector<Endpoint>> given_;            ///< by each layer
  std::map<std::string, Source, std::less<>> blobs_;    ///< the latest of each name
  std::map<std::string, size_t, std::less<>> by_name_;  ///< layers; the first of each name
  std::set<Source> read_;
};

}  // namespace

graph::Model import(const graph::Bytes& prototxt, graph::Bytes caffemodel, const ImportOptions& options) {
  Net net = read_net(prototxt.text());
  return Importer(std::move(net), read_weights(std::move(caffemodel)), options).run();
}

}  // namespace updraft::caffe
