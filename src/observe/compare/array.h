// An array of numbers from a file: a tensor of a dump, a npy, bin or pt file. Files are mapped, not read.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "observe/dump/dump_file.h"

namespace updraft::compare {

/// A file in memory.
class MappedFile {
 public:
  /// Throws Error 100003 with the reason.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

struct Array {
  int32_t type = 0;    ///< the dump protocol's number (dump::type_number)
  int32_t format = 2;  ///< aclFormat
  std::vector<int64_t> dims;
  std::vector<int64_t> original_dims;
  uint64_t address = 0;             ///< on the device, 0: not known
  std::span<const std::byte> data;  ///< in row-major order, of count() elements
  std::shared_ptr<const void> owner;

  int64_t count() const;
  /// The elements from `first` on as float32, as NumPy converts them.
  void to_floats(int64_t first, std::span<float> to) const;
};

/// A dump file: the tensors that the operator read, and that it wrote.
struct Dump {
  dump::FileHeader header;
  std::vector<Array> inputs, outputs;
};
Dump read_dump(const std::string& path);

/// A npy file of any version; big-endian and column-major arrays and structures are refused.
Array read_npy(const std::string& path);
/// A tensor that torch.save wrote to a pt file.
Array read_pt(const std::string& path);
/// A bin file of this tool or msaccucmp: NAME.SHAPE.TYPE.FORMAT.bin, such as conv.output.0.1_64_56_56.float32.NCHW.bin.
/// Other names: bytes.
Array read_bin(const std::string& path);
/// By the file's name: .npy, .pt or .pth, .bin.
Array read_array(const std::string& path);

/// The number of a NumPy type's name ("float16"), 0 where there is none.
int32_t type_of_name(std::string_view name);

/// Throws Error 100006: "FILE: why".
[[noreturn]] void damaged(const std::string& path, const std::string& why);

}  // namespace updraft::compare
