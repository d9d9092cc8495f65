// Tensors of ONNX messages as constants.
#pragma once
#include <map>
#include <string>

#include "frontends/onnx/model.h"

namespace updraft::frontends {
class Where;
}

namespace updraft::onnx {

using frontends::Where;

struct TensorReader {
  graph::Bytes message;   ///< which constants share
  std::string directory;  ///< of files with weights

  TensorProto read(std::string_view text, const Where& where);
  /// Zeros but for the values that are there.
  TensorProto read_sparse(std::string_view text, const Where& where);

 private:
  struct External {
    std::string location;
    uint64_t offset = 0, length = 0;
    bool has_length = false;
  };
  graph::Bytes file(const External& external, const Where& where);

  std::map<std::string, graph::Bytes> files_;
};

}  // namespace updraft::onnx
