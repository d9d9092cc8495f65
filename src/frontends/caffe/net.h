// Caffe's two files as they are read: the layers of a prototxt, and the weights of a caffemodel by the layers' names.
#pragma once
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/tensor.h"

namespace updraft::caffe {

/// A message of a prototxt. What is read of it is remembered, so that check() refuses what nobody asked for. Throws
/// 161002 that names the field where it holds something else than what is wanted.
class Message {
 public:
  using Json = nlohmann::ordered_json;

  /// One without fields.
  Message() = default;
  explicit Message(std::shared_ptr<const Json> document);

  bool has(std::string_view field) const { return find(field) != nullptr; }
  /// Whole numbers have 32 bits at most, as Caffe's have.
  int64_t integer(std::string_view field, std::optional<int64_t> other = {}) const;
  double real(std::string_view field, std::optional<double> other = {}) const;
  bool flag(std::string_view field, bool other) const;
  /// A text, or the name of an enumeration's value.
  std::string text(std::string_view field, std::optional<std::string> other = {}) const;
  /// Which of the words it is.
  size_t choice(std::string_view field, std::span<const std::string_view> words, size_t other) const;
  // Repeated fields; none are an empty list.
  std::vector<int64_t> integers(std::string_view field) const;
  std::vector<double> reals(std::string_view field) const;
  std::vector<std::string> texts(std::string_view field) const;
  /// `apart`: errors of these say the names of fields without this one's.
  std::vector<Message> messages(std::string_view field, bool apart = false) const;
  /// One without fields where it is absent.
  Message message(std::string_view field) const;
  /// The field is looked at somewhere else, or says nothing that matters.
  void ignore(std::string_view field) const;
  /// Throws for a field, or one of a message in it, that nobody asked for.
  void check() const;

 private:
  struct Read;
  Message(const Message& parent, const Json* json, std::string path);
  const Json* find(std::string_view field) const;
  const Json& single(std::string_view field) const;
  [[noreturn]] void refuse(std::string_view field, const Json& value, const char* wanted) const;

  std::shared_ptr<const Json> document_;
  std::shared_ptr<Read> read_;
  const Json* json_ = nullptr;
  std::string path_;  ///< "convolution_param."
};

struct Layer {
  std::string name, type;
  std::vector<std::string> bottoms, tops;
  Message message;
  std::vector<graph::Dims> shapes;  ///< of an input: of each top; {kUnknownRank}: the prototxt does not say it
};

struct Net {
  std::string name;
  std::vector<Layer> layers;  ///< those of a net that is tested, inputs first; types as Caffe names them today
};

/// Throws 161002 with the line, or with the layer.
Net read_net(std::string_view prototxt);

/// The weights of one layer.
using Blobs = std::vector<graph::Tensor>;

struct Weights {
  graph::Bytes bytes;  ///< the message, which everything else points into
  std::map<std::string_view, Blobs> layers;
};

/// Throws 161002 that says where the message is wrong.
Weights read_weights(graph::Bytes caffemodel);

}  // namespace updraft::caffe
