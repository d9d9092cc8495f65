#include "observe/compare/array.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <complex>
#include <cstring>

#include "base/error.h"

namespace updraft::compare {
namespace {

template <class T>
void convert(const std::byte* from, std::span<float> to) {
  for (size_t i = 0; i < to.size(); ++i) {
    T x;
    std::memcpy(&x, from + i * sizeof x, sizeof x);
    to[i] = static_cast<float>(x);
  }
}

/// What a file says of its shape: no element twice, nothing beyond the file.
void check_size(const std::string& path, const Array& array) {
  size_t want = dump::type_size(array.type);
  for (int64_t d : array.dims)
    if (d < 0 || __builtin_mul_overflow(want, static_cast<size_t>(d), &want)) damaged(path, "its shape is no shape");
  if (want > array.data.size())
    damaged(path, fmt::format("its shape wants {} bytes and there are {}", want, array.data.size()));
}

/// The text between `before` and `after`, from a npy header.
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  const size_t at = text.find(before);
  if (at == std::string_view::npos) return {};
  const size_t begin = at + before.size(), end = text.find(after, begin);
  return end == std::string_view::npos ? std::string_view() : text.substr(begin, end - begin);
}

std::vector<int64_t> numbers_of(std::string_view text) {
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < text.size();) {
    int64_t n = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), n);
    if (error != std::errc()) {
      ++i;
      continue;
    }
    numbers.push_back(n);
    i = static_cast<size_t>(end - text.data());
  }
  return numbers;
}

int32_t type_of_npy(std::string_view descr) {
  struct Row {
    const char* name;
    int32_t type;
  };
  constexpr Row kRows[] = {{"f4", 1}, {"f2", 2}, {"i1", 3},  {"u1", 4},  {"i2", 5},  {"u2", 6},  {"i4", 7},
                           {"i8", 8}, {"u4", 9}, {"u8", 10}, {"b1", 11}, {"f8", 12}, {"c8", 16}, {"c16", 17}};
  for (const Row& row : kRows)
    if (descr == row.name) return row.type;
  return 0;
}

}  // namespace

void damaged(const std::string& path, const std::string& why) { throw Error(code::kAclParseFile, "{}: {}", path, why); }

MappedFile::MappedFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info {};
  if (file < 0 || fstat(file, &info) != 0 || S_ISDIR(info.st_mode)) {
    const std::string why = file >= 0 && S_ISDIR(info.st_mode) ? "it is a folder" : std::strerror(errno);
    if (file >= 0) close(file);
    throw Error(code::kAclInvalidFile, "{}: {}", path, why);
  }
  size_ = static_cast<size_t>(info.st_size);
  if (size_ > 0) {
    void* at = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    if (at == MAP_FAILED) {
      const std::string why = std::strerror(errno);
      close(file);
      throw Error(code::kAclInvalidFile, "{}: {}", path, why);
    }
    madvise(at, size_, MADV_SEQUENTIAL);
    data_ = static_cast<const std::byte*>(at);
  }
  close(file);
}
MappedFile::~MappedFile() {
  if (data_) munmap(const_cast<std::byte*>(data_), size_);
}

int64_t Array::count() const {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

void Array::to_floats(int64_t first, std::span<float> to) const {
  const std::byte* from = data.data() + static_cast<size_t>(first) * dump::type_size(type);
  switch (type) {
    case 1: std::memcpy(to.data(), from, to.size_bytes()); break;
    case 2: convert<Half>(from, to); break;
    case 0:
    case 3: convert<int8_t>(from, to); break;
    case 4: convert<uint8_t>(from, to); break;
    case 5: convert<int16_t>(from, to); break;
    case 6: convert<uint16_t>(from, to); break;
    case 7: convert<int32_t>(from, to); break;
    case 8: convert<int64_t>(from, to); break;
    case 9: convert<uint32_t>(from, to); break;
    case 10: convert<uint64_t>(from, to); break;
    case 11:
      for (size_t i = 0; i < to.size(); ++i) to[i] = from[i] != std::byte{0};
      break;
    case 12: convert<double>(from, to); break;
    case 16:  // NumPy drops the imaginary part
      for (size_t i = 0; i < to.size(); ++i) std::memcpy(&to[i], from + i * 8, sizeof(float));
      break;
    case 17:
      for (size_t i = 0; i < to.size(); ++i) {
        double x;
        std::memcpy(&x, from + i * 16, sizeof x);
        to[i] = static_cast<float>(x);
      }
      break;
    case 27: convert<BFloat16>(from, to); break;
    default: throw Error(code::kAclParseFile, "data type {} cannot be compared", type);
  }
}

Dump read_dump(const std::string& path) {
  auto file = std::make_shared<MappedFile>(path);
  Dump made;
  uint64_t at = 0;
  try {
    made.header = dump::read_header(file->bytes(), file->bytes().size(), &at);
  } catch (const Error& e) { damaged(path, e.text()); }
  auto add = [&](const std::vector<dump::FileTensor>& from, std::vector<Array>& to) {
    for (const dump::FileTensor& tensor : from) {
      Array& array = to.emplace_back();
      array.type = tensor.type;
      array.format = tensor.format;
      array.dims = tensor.dims;
      array.original_dims = tensor.original_dims;
      array.address = tensor.address;
      array.data = file->bytes().subspan(at, tensor.size);
      array.owner = file;
      at += tensor.size;
      if (array.dims.empty() && tensor.size > dump::type_size(array.type) && dump::type_size(array.type))
        array.dims = {static_cast<int64_t>(tensor.size / dump::type_size(array.type))};
      check_size(path, array);
    }
  };
  add(made.header.inputs, made.inputs);
  add(made.header.outputs, made.outputs);
  return made;
}

Array read_npy(const std::string& path) {
  auto file = std::make_shared<MappedFile>(path);
  const auto bytes = file->bytes();
  if (bytes.size() < 10 || std::memcmp(bytes.data(), "\x93NUMPY", 6) != 0) damaged(path, "it is no npy file");
  const bool old = std::to_integer<int>(bytes[6]) == 1;
  uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 8, old ? 2 : 4);
  const size_t begin = old ? 10 : 12;
  if (bytes.size() < begin || length > bytes.size() - begin) damaged(path, "its header is longer than the file");
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + begin, length);
  std::string_view descr = between(header, "'descr': '", "'");
  if (descr.empty()) damaged(path, "it holds structures, want numbers");
  if (descr[0] == '>') damaged(path, "it is big-endian, want little-endian");
  if (descr[0] == '<' || descr[0] == '|' || descr[0] == '=') descr.remove_prefix(1);
  if (header.find("'fortran_order': True") != std::string_view::npos)
    damaged(path, "its order is that of columns (fortran_order), want rows");
  Array array;
  array.type = type_of_npy(descr);
  if (!array.type) damaged(path, fmt::format("its type is {}, want numbers", descr));
  array.dims = array.original_dims = numbers_of(between(header, "'shape': (", ")"));
  array.data = bytes.subspan(begin + length);
  array.owner = file;
  check_size(path, array);
  return array;
}

int32_t type_of_name(std::string_view name) {
  for (int32_t number : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16, 17, 27})
    if (dump::type_name(number) == name) return number;
  return 0;
}

Array read_bin(const std::string& path) {
  auto file = std::make_shared<MappedFile>(path);
  Array array;
  array.type = 4;
  array.data = file->bytes();
  array.dims = {static_cast<int64_t>(array.data.size())};
  array.owner = file;
  std::vector<std::string_view> parts;
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    parts.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  if (parts.size() >= 5) {
    const int32_t type = type_of_name(parts[parts.size() - 3]);
    const std::string_view shape = parts[parts.size() - 4];
    if (type && shape.find_first_not_of("0123456789_") == std::string_view::npos) {
      array.type = type;
      array.dims = numbers_of(shape);
      check_size(path, array);
    }
  }
  array.original_dims = array.dims;
  return array;
}

Array read_array(const std::string& path) {
  if (path.ends_with(".npy")) return read_npy(path);
  if (path.ends_with(".pt") || path.ends_with(".pth")) return read_pt(path);
  if (path.ends_with(".bin")) return read_bin(path);
  damaged(path, "want a file .npy, .pt or .bin");
}

}  // namespace updraft::compare
