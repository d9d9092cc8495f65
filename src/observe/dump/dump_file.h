// Dump files: a length of 8 bytes, a message of that length (DumpData of the public protocol) that says what tensors
// there are, then the tensors' bytes, outputs of no gap after inputs.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"

namespace updraft::dump {

/// A tensor of a dump file.
struct FileTensor {
  int32_t type = 0;    ///< number of the protocol: 1 float, 2 float16, 3 int8 … (type_number())
  int32_t format = 2;  ///< aclFormat; 2 is ND
  std::vector<int64_t> dims;
  std::vector<int64_t> original_dims;
  int32_t sub_format = 0;
  uint64_t size = 0;          ///< bytes
  uint64_t address = 0;       ///< on the device; 0: not known
  std::string original_name;  ///< of outputs: the operator of the network that it stands for
  int32_t original_index = 0;
};

/// What is told of an operator.
struct FileHeader {
  std::string version = "2.0";
  uint64_t time = 0;  ///< of the dump, in microseconds since 1970
  std::string op_name;
  std::vector<FileTensor> inputs, outputs;
  std::vector<uint64_t> buffers, spaces;  ///< sizes of what else follows the tensors
};

/// The protocol's number of a type, 0 (undefined) where it has none.
int32_t type_number(DType type);
/// The type of a number of the protocol, Undefined where it is none that this library computes with.
DType type_of_number(int32_t number);
/// "float32", "bfloat16", … as comparisons print it; "NaN" where there is none.
std::string_view type_name(int32_t number);
/// Bytes an element, 0 where it has no whole ones.
size_t type_size(int32_t number);

/// What stands in front of the tensors: length and message.
std::string write_header(const FileHeader& header);

/// Reads the beginning of a file of `file_size` bytes, of which `bytes` are there: at least the header. `data` is set
/// to where the first tensor begins. Throws Error 100006 with what is wrong.
FileHeader read_header(std::span<const std::byte> bytes, uint64_t file_size, uint64_t* data);

/// The header as JSON with the protocol's field names and numbers of types and formats.
std::string header_to_json(const FileHeader& header);

}  // namespace updraft::dump
