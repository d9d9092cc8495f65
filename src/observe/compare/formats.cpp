#include "observe/compare/formats.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/error.h"

namespace updraft::compare {
namespace {

constexpr int32_t kNCHW = 0, kNHWC = 1, kND = 2, kNC1HWC0 = 3, kFractalZ = 4, kHWCN = 16, kNDHWC = 27, kFractalNz = 29,
                  kNCDHW = 30, kNDC1HWC0 = 32;

struct Row {
  int32_t number;
  const char* name;
};
constexpr Row kRows[] = {
    {kNCHW, "NCHW"},          {kNHWC, "NHWC"},         {kND, "ND"},          {kNC1HWC0, "NC1HWC0"},
    {kFractalZ, "FRACTAL_Z"}, {kHWCN, "HWCN"},         {kNDHWC, "NDHWC"},    {kFractalNz, "FRACTAL_NZ"},
    {kNCDHW, "NCDHW"},        {kNDC1HWC0, "NDC1HWC0"}, {33, "FRACTAL_Z_3D"}, {31, "DHWCN"}};

using Shape = std::vector<int64_t>;

[[noreturn]] void refuse(const Array& array, int32_t to, const std::string& why) {
  throw Error(code::kAclParseFile, "{} cannot be converted to {}: {}", format_name(array.format), format_name(to), why);
}

/// An array whose element at each place is that of `from` at source(place), or zero where that is -1.
Array gathered(const Array& from, Shape dims, int32_t format, const std::function<int64_t(const int64_t*)>& source) {
  Array made = from;
  made.dims = dims;
  made.format = format;
  const size_t size = dump::type_size(from.type);
  auto memory = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(made.count()) * size);
  Shape index(dims.size());
  const int64_t count = made.count();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = source(index.data());
    if (at >= 0)
      std::memcpy(memory->data() + static_cast<size_t>(i) * size, from.data.data() + static_cast<size_t>(at) * size,
                  size);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++index[d] < dims[d]) break;
      index[d] = 0;
    }
  }
  made.data = *memory;
  made.owner = memory;
  return made;
}

/// Which letter of a layout's name is which dimension.
Array permuted(const Array& from, const char* own, const char* want, int32_t format) {
  const size_t rank = std::strlen(own);
  if (from.dims.size() != rank)
    refuse(from, format, fmt::format("it has {} dimensions, want {}", from.dims.size(), rank));
  Shape strides(rank), dims(rank), step(rank);
  int64_t n = 1;
  for (size_t d = rank; d-- > 0;) strides[d] = n, n *= from.dims[d];
  for (size_t d = 0; d < rank; ++d) {
    const auto at = static_cast<size_t>(std::strchr(own, want[d]) - own);
    dims[d] = from.dims[at];
    step[d] = strides[at];
  }
  return gathered(from, dims, format, [&](const int64_t* i) {
    int64_t at = 0;
    for (size_t d = 0; d < rank; ++d) at += i[d] * step[d];
    return at;
  });
}

const char* letters(int32_t format) {
  switch (format) {
    case kNCHW: return "NCHW";
    case kNHWC: return "NHWC";
    case kHWCN: return "HWCN";
    case kNCDHW: return "NCDHW";
    case kNDHWC: return "NDHWC";
    default: return nullptr;
  }
}

/// [N, C1, H, W, C0] to NCHW: `channels` of C1 x C0.
Array unblocked_5d(const Array& from, int64_t channels) {
  const Shape& d = from.dims;
  return gathered(from, {d[0], channels, d[2], d[3]}, kNCHW, [&](const int64_t* i) {
    return (((i[0] * d[1] + i[1] / d[4]) * d[2] + i[2]) * d[3] + i[3]) * d[4] + i[1] % d[4];
  });
}
/// [N, D, C1, H, W, C0] to NCDHW.
Array unblocked_6d(const Array& from, int64_t channels) {
  const Shape& d = from.dims;
  return gathered(from, {d[0], channels, d[1], d[3], d[4]}, kNCDHW, [&](const int64_t* i) {
    return ((((i[0] * d[1] + i[2]) * d[2] + i[1] / d[5]) * d[3] + i[3]) * d[4] + i[4]) * d[5] + i[1] % d[5];
  });
}
/// [.., N1, M1, M0, N0] to [.., M, N].
Array unblocked_nz(const Array& from, const Shape& shape, int32_t to) {
  const size_t rank = from.dims.size();
  if (rank < 4) refuse(from, to, fmt::format("it has {} dimensions, want 4 or more", rank));
  const int64_t n1 = from.dims[rank - 4], m1 = from.dims[rank - 3], m0 = from.dims[rank - 2], n0 = from.dims[rank - 1];
  Shape dims(from.dims.begin(), from.dims.end() - 4);
  const bool known = shape.size() == rank - 2 && shape[rank - 4] <= m1 * m0 && shape[rank - 3] <= n1 * n0;
  dims.push_back(known ? shape[rank - 4] : m1 * m0);
  dims.push_back(known ? shape[rank - 3] : n1 * n0);
  const size_t batches = rank - 4;
  return gathered(from, dims, kND, [&](const int64_t* i) {
    int64_t batch = 0;
    for (size_t d = 0; d < batches; ++d) batch = batch * dims[d] + i[d];
    const int64_t m = i[batches], n = i[batches + 1];
    return (((batch * n1 + n / n0) * m1 + m / m0) * m0 + m % m0) * n0 + n % n0;
  });
}
/// [C1 H W, N1, N0, C0] to NCHW of the shape.
Array unblocked_z(const Array& from, const Shape& nchw, int32_t to) {
  if (from.dims.size() != 4 || nchw.size() != 4)
    refuse(from, to, "want 4 dimensions, and the original shape in the file or by -s");
  const Shape& d = from.dims;
  const int64_t h = nchw[2], w = nchw[3], c0 = d[3];
  return gathered(from, nchw, kNCHW, [&](const int64_t* i) {
    const int64_t block = (i[1] / c0 * h + i[2]) * w + i[3];
    const int64_t at = ((block * d[1] + i[0] / d[2]) * d[2] + i[0] % d[2]) * c0 + i[1] % c0;
    return block < d[0] && i[0] < d[1] * d[2] ? at : -1;
  });
}

}  // namespace

int32_t format_number(const std::string& name) {
  const auto* found = std::ranges::find_if(kRows, [&](const Row& row) { return name == row.name; });
  return found == std::end(kRows) ? -1 : found->number;
}
std::string format_name(int32_t format) {
  const auto* found = std::ranges::find(kRows, format, &Row::number);
  return found == std::end(kRows) ? fmt::format("format {}", format) : found->name;
}
bool is_blocked(int32_t format) {
  return format == kNC1HWC0 || format == kFractalZ || format == kFractalNz || format == kNDC1HWC0;
}

Array to_format(const Array& array, int32_t format, const std::vector<int64_t>& shape) {
  if (array.format == format) return array;
  const Shape& wanted = !shape.empty() ? shape : array.original_dims;
  if (const char *own = letters(array.format), *want = letters(format);
      own && want && std::strlen(own) == std::strlen(want))
    return permuted(array, own, want, format);
  Array plain = array;
  switch (array.format) {
    case kNC1HWC0: {
      if (array.dims.size() != 5) refuse(array, format, fmt::format("it has {} dimensions, want 5", array.dims.size()));
      const int64_t all = array.dims[1] * array.dims[4];
      // The original shape has the channels second or last.
      const int64_t channels = wanted.size() != 4                                         ? all
                               : wanted[2] == array.dims[2] && wanted[3] == array.dims[3] ? wanted[1]
                                                                                          : wanted[3];
      plain = unblocked_5d(array, std::clamp<int64_t>(channels, 1, all));
      break;
    }
    case kNDC1HWC0: {
      if (array.dims.size() != 6) refuse(array, format, fmt::format("it has {} dimensions, want 6", array.dims.size()));
      const int64_t all = array.dims[2] * array.dims[5];
      const int64_t channels = wanted.size() != 5 ? all : wanted[2] == array.dims[1] ? wanted[1] : wanted[4];
      plain = unblocked_6d(array, std::clamp<int64_t>(channels, 1, all));
      break;
    }
    case kFractalNz: plain = unblocked_nz(array, wanted, format); break;
    case kFractalZ: plain = unblocked_z(array, wanted, format); break;
    default: refuse(array, format, "there is no such conversion");
  }
  if (plain.format == format) return plain;
  if (plain.format == kND) {  // a matrix is in every layout what it is
    plain.format = format;
    return plain;
  }
  return to_format(plain, format);
}

}  // namespace updraft::compare
