#include "frontends/onnx/tensor_data.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <filesystem>

#include "frontends/fields.h"

namespace updraft::onnx {

using frontends::Fields;
namespace {

struct TypeRow {
  ElementType type;
  const char* name;
  DType dtype;
};
constexpr TypeRow kTypes[] = {{ElementType::Float, "FLOAT", DType::Float},
                              {ElementType::UInt8, "UINT8", DType::UInt8},
                              {ElementType::Int8, "INT8", DType::Int8},
                              {ElementType::UInt16, "UINT16", DType::UInt16},
                              {ElementType::Int16, "INT16", DType::Int16},
                              {ElementType::Int32, "INT32", DType::Int32},
                              {ElementType::Int64, "INT64", DType::Int64},
                              {ElementType::String, "STRING", DType::Undefined},
                              {ElementType::Bool, "BOOL", DType::Bool},
                              {ElementType::Float16, "FLOAT16", DType::Float16},
                              {ElementType::Double, "DOUBLE", DType::Double},
                              {ElementType::UInt32, "UINT32", DType::UInt32},
                              {ElementType::UInt64, "UINT64", DType::UInt64},
                              {ElementType::Complex64, "COMPLEX64", DType::Complex64},
                              {ElementType::Complex128, "COMPLEX128", DType::Complex128},
                              {ElementType::BFloat16, "BFLOAT16", DType::BFloat16},
                              {ElementType{17}, "FLOAT8E4M3FN", DType::Undefined},
                              {ElementType{18}, "FLOAT8E4M3FNUZ", DType::Undefined},
                              {ElementType{19}, "FLOAT8E5M2", DType::Undefined},
                              {ElementType{20}, "FLOAT8E5M2FNUZ", DType::Undefined},
                              {ElementType::UInt4, "UINT4", DType::Undefined},
                              {ElementType::Int4, "INT4", DType::Undefined},
                              {ElementType{23}, "FLOAT4E2M1", DType::Undefined},
                              {ElementType{24}, "FLOAT8E8M0", DType::Undefined},
                              {ElementType::UInt2, "UINT2", DType::Undefined},
                              {ElementType::Int2, "INT2", DType::Undefined}};

/// Constants of no more bytes than this are copied where they do not lie at a multiple of their elements' size, so that
/// whoever computes with small values may read them as what they are.
constexpr size_t kAligned = 128 << 10;
/// The most bytes that a sparse tensor may have as a dense one.
constexpr int64_t kMostDense = int64_t{1} << 30;

/// Bits of an element that is packed into bytes; 0 for others.
int packed_bits(ElementType type) {
  if (type == ElementType::UInt4 || type == ElementType::Int4) return 4;
  return type == ElementType::UInt2 || type == ElementType::Int2 ? 2 : 0;
}
bool is_signed(ElementType type) { return type == ElementType::Int4 || type == ElementType::Int2; }

/// Elements of four or two bits, the first in the lowest bits, as bytes.
graph::Bytes widened(ElementType type, std::string_view raw, size_t count) {
  const int bits = packed_bits(type), each = 8 / bits, mask = (1 << bits) - 1;
  return graph::Bytes::make(count, [&](std::byte* to) {
    for (size_t i = 0; i < count; ++i) {
      int v = static_cast<uint8_t>(raw[i / static_cast<size_t>(each)]) >> (static_cast<int>(i) % each * bits) & mask;
      if (is_signed(type) && v > mask / 2) v -= mask + 1;
      to[i] = static_cast<std::byte>(v);
    }
  });
}

/// The fields of a TensorProto.
struct Parts {
  TensorProto tensor;
  graph::Dims dims;
  std::vector<float> reals;
  std::vector<double> doubles;
  std::vector<int64_t> narrow, wide;  ///< int32_data; int64_data or uint64_data
  std::string_view raw;
  bool has_raw = false, external = false;
};

template <class T, class From>
graph::Bytes bytes_of(const std::vector<From>& values) {
  return graph::Bytes::make(values.size() * sizeof(T), [&](std::byte* to) {
    for (size_t i = 0; i < values.size(); ++i) {
      const T v = static_cast<T>(values[i]);
      std::memcpy(to + i * sizeof(T), &v, sizeof v);
    }
  });
}

/// The elements from the field that has numbers of that type.
graph::Bytes from_numbers(const Parts& p) {
  switch (p.tensor.type) {
    case ElementType::Float:
    case ElementType::Complex64: return bytes_of<float>(p.reals);
    case ElementType::Double:
    case ElementType::Complex128: return bytes_of<double>(p.doubles);
    case ElementType::Int64: return bytes_of<int64_t>(p.wide);
    case ElementType::UInt64: return bytes_of<uint64_t>(p.wide);
    case ElementType::UInt32: return bytes_of<uint32_t>(p.wide);
    case ElementType::Int32: return bytes_of<int32_t>(p.narrow);
    case ElementType::Int16: return bytes_of<int16_t>(p.narrow);
    case ElementType::UInt16:
    case ElementType::Float16:
    case ElementType::BFloat16: return bytes_of<uint16_t>(p.narrow);  // bits of halves
    case ElementType::Bool: {
      std::vector<int64_t> truth = p.narrow;
      for (int64_t& v : truth) v = v != 0;
      return bytes_of<uint8_t>(truth);
    }
    default: return bytes_of<uint8_t>(p.narrow);
  }
}

template <class T>
bool parse(std::string_view text, T& to) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
  return error == std::errc() && end == text.data() + text.size();
}

struct Unmap {
  size_t size;
  void operator()(const void* p) const { munmap(const_cast<void*>(p), size); }
};

}  // namespace

std::string name_of(ElementType type) {
  for (const TypeRow& row : kTypes)
    if (row.type == type) return row.name;
  return std::to_string(static_cast<int>(type));
}

DType dtype_of(ElementType type) {
  for (const TypeRow& row : kTypes)
    if (row.type == type) return row.dtype;
  return DType::Undefined;
}

graph::Bytes TensorReader::file(const External& external, const Where& where) {
  if (const auto found = files_.find(external.location); found != files_.end()) return found->second;
  const std::filesystem::path relative(external.location);
  bool inside = !relative.empty() && relative.is_relative();
  for (const auto& part : relative) inside = inside && part != "..";
  if (!inside)
    where.refuse("its values lie in the file \"{}\", want a path below the folder of the model", external.location);
  if (directory.empty())
    where.refuse("its values lie in the file \"{}\", and the model came without its folder: load it from a file",
                 external.location);
  const std::string path = (std::filesystem::path(directory) / relative).string();
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) where.refuse("its values lie in {}, which cannot be read: {}", path, std::strerror(errno));
  struct stat info;
  const bool known = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  const size_t size = known ? static_cast<size_t>(info.st_size) : 0;
  void* at = size ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0) : nullptr;
  const int error = errno;
  close(fd);
  if (!known) where.refuse("its values lie in {}, which is no file", path);
  if (at == MAP_FAILED) where.refuse("its values lie in {}, which cannot be mapped: {}", path, std::strerror(error));
  graph::Bytes bytes;
  if (at) bytes = {std::shared_ptr<const void>(at, Unmap{size}), at, size};
  return files_[external.location] = bytes;
}

TensorProto TensorReader::read(std::string_view text, const Where& where) {
  Parts p;
  External external;
  TensorProto& t = p.tensor;
  Fields f(text, where);
  while (f.next()) {
    switch (f.tag()) {
      case 1: f.integers(p.dims); break;
      case 2: t.type = static_cast<ElementType>(f.integer()); break;
      case 4: f.reals(p.reals); break;
      case 5: f.integers(p.narrow); break;
      case 6: t.texts.push_back(f.view()); break;
      case 7:
      case 11: f.integers(p.wide); break;
      case 8: t.name = f.view(); break;
      case 9: p.raw = f.view(), p.has_raw = true; break;
      case 10: f.doubles(p.doubles); break;
      case 13: {
        std::string_view key, value;
        Fields entry(f.view(), where);
        while (entry.next()) {
          if (entry.tag() == 1) key = entry.view();
          else if (entry.tag() == 2) value = entry.view();
          else entry.skip();
        }
        bool good = true;
        if (key == "location") external.location = value;
        else if (key == "offset") good = parse(value, external.offset);
        else if (key == "length") good = external.has_length = parse(value, external.length);
        if (!good) where.refuse("tensor {}: external_data has {} \"{}\", want a number", t.name, key, value);
        break;
      }
      case 14: p.external = f.integer() == 1; break;
      default: f.skip();
    }
  }
  auto refuse = [&]<class... A>(fmt::format_string<A...> format, A&&... a) {
    where.refuse("tensor {}: {}", t.name, fmt::format(format, std::forward<A>(a)...));
  };
  if (p.dims.size() > 64) refuse("{} dimensions", p.dims.size());
  for (int64_t d : p.dims)
    if (d < 0) refuse("shape {}, want sizes of 0 or more", graph::describe(p.dims));
  const int64_t count = graph::count_of(p.dims);
  t.value.dims = p.dims;
  if (t.type == ElementType::String) {
    if (static_cast<int64_t>(t.texts.size()) != count)
      refuse("{} texts for shape {}", t.texts.size(), graph::describe(p.dims));
    return std::move(t);
  }
  const int bits = packed_bits(t.type);
  t.value.dtype = bits ? (is_signed(t.type) ? DType::Int8 : DType::UInt8) : dtype_of(t.type);
  if (t.value.dtype == DType::Undefined) refuse("elements of type {}, which the virtual NPU has not", name_of(t.type));
  int64_t want = 0;
  if (__builtin_mul_overflow(count, bits ? 1 : static_cast<int64_t>(size_of(t.value.dtype)), &want))
    refuse("shape {} is too large", graph::describe(p.dims));
  const int64_t stored = bits ? count / (8 / bits) + (count % (8 / bits) != 0) : want;
  if (p.external) {
    const graph::Bytes all = file(external, where);
    const uint64_t length = external.has_length ? external.length : static_cast<uint64_t>(stored);
    if (external.offset > all.size() || length > all.size() - external.offset)
      refuse("bytes {} to {} of {}, which has {}", external.offset, external.offset + length, external.location,
             all.size());
    if (static_cast<int64_t>(length) != stored) refuse("{} bytes in {}, want {}", length, external.location, stored);
    t.value.data = all.part(external.offset, length).aligned();
    if (bits) t.value.data = widened(t.type, t.value.data.text(), static_cast<size_t>(count));
  } else if (p.has_raw || bits) {
    graph::Bytes packed;
    if (bits && !p.has_raw) {  // int32_data has the bytes
      packed = bytes_of<uint8_t>(p.narrow);
      p.raw = packed.text();
    }
    if (static_cast<int64_t>(p.raw.size()) != stored)
      refuse("{} bytes for {}{}, want {}", p.raw.size(), name_of(t.type), graph::describe(p.dims), stored);
    if (bits) t.value.data = widened(t.type, p.raw, static_cast<size_t>(count));
    else t.value.data = message.part(static_cast<size_t>(p.raw.data() - message.text().data()), p.raw.size()).aligned();
  } else {
    t.value.data = from_numbers(p);
    if (static_cast<int64_t>(t.value.data.size()) != want)
      refuse("{} bytes of values for {}{}, want {}", t.value.data.size(), name_of(t.type), graph::describe(p.dims),
             want);
  }
  graph::Bytes& data = t.value.data;
  const size_t element = std::max<size_t>(1, size_of(t.value.dtype));
  if (reinterpret_cast<uintptr_t>(data.data()) % element != 0 && data.size() <= kAligned)
    data = graph::Bytes::copy_of(data.data(), data.size());
  return std::move(t);
}

TensorProto TensorReader::read_sparse(std::string_view text, const Where& where) {
  std::string_view values, indices;
  graph::Dims dims;
  Fields f(text, where);
  while (f.next()) {
    if (f.tag() == 1) values = f.view();
    else if (f.tag() == 2) indices = f.view();
    else if (f.tag() == 3) f.integers(dims);
    else f.skip();
  }
  TensorProto t = read(values, where);
  const TensorProto at = read(indices, where);
  auto refuse = [&]<class... A>(fmt::format_string<A...> format, A&&... a) {
    where.refuse("sparse tensor {}: {}", t.name, fmt::format(format, std::forward<A>(a)...));
  };
  if (t.type == ElementType::String) refuse("texts, want numbers");
  for (int64_t d : dims)
    if (d < 0) refuse("shape {}, want sizes of 0 or more", graph::describe(dims));
  const int64_t count = graph::count_of(dims), n = t.value.count(), rank = static_cast<int64_t>(dims.size());
  const size_t element = size_of(t.value.dtype);
  if (count > kMostDense / static_cast<int64_t>(element))
    refuse("shape {} is larger than {} bytes", graph::describe(dims), kMostDense);
  const bool linear = at.value.dims == graph::Dims{n};
  if (at.type != ElementType::Int64 || t.value.dims.size() != 1 || !(linear || at.value.dims == graph::Dims{n, rank}))
    refuse("values {} and indices {}{}, want INT64[{}] or INT64[{}, {}]", graph::describe(t.value.dims),
           name_of(at.type), graph::describe(at.value.dims), n, n, rank);
  const std::vector<int64_t> places = at.value.integers();
  const graph::Bytes from = t.value.data;
  t.value.data = graph::Bytes::make(static_cast<size_t>(count) * element, [&](std::byte* to) {
    std::memset(to, 0, static_cast<size_t>(count) * element);
    for (int64_t i = 0; i < n; ++i) {
      int64_t place = 0;
      if (linear) place = places[static_cast<size_t>(i)];
      else
        for (int64_t d = 0; d < rank; ++d) {
          const int64_t k = places[static_cast<size_t>(i * rank + d)];
          if (k < 0 || k >= dims[static_cast<size_t>(d)])
            refuse("index {} in a dimension of {}", k, dims[static_cast<size_t>(d)]);
          place = place * dims[static_cast<size_t>(d)] + k;
        }
      if (place < 0 || place >= count) refuse("index {} of {} elements", place, count);
      std::memcpy(to + static_cast<size_t>(place) * element, from.data() + static_cast<size_t>(i) * element, element);
    }
  });
  t.value.dims = dims;
  return t;
}

}  // namespace updraft::onnx
