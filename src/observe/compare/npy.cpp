#include "observe/compare/npy.h"

#include "base/error.h"

namespace updraft::compare {
namespace {

const char* descr_of(int32_t type) {
  switch (type) {
    case 1: return "<f4";
    case 2: return "<f2";
    case 0:
    case 3: return "|i1";
    case 4: return "|u1";
    case 5: return "<i2";
    case 6: return "<u2";
    case 7: return "<i4";
    case 8: return "<i8";
    case 9: return "<u4";
    case 10: return "<u8";
    case 11: return "|b1";
    case 12: return "<f8";
    case 16: return "<c8";
    case 17: return "<c16";
    default: return nullptr;
  }
}

}  // namespace

std::string npy_header(const std::string& descr, const std::vector<int64_t>& dims) {
  std::string shape;
  for (int64_t d : dims) shape += std::to_string(d) + (dims.size() == 1 ? "," : ", ");
  if (dims.size() > 1) shape.resize(shape.size() - 2);
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  // The elements begin at a multiple of 64.
  text.append((64 - (10 + text.size() + 1) % 64) % 64, ' ');
  text += '\n';
  std::string head("\x93NUMPY\x01\x00", 8);
  head += static_cast<char>(text.size() & 0xff);
  head += static_cast<char>(text.size() >> 8);
  return head + text;
}

std::string write_npy(const Array& array) {
  const auto count = static_cast<size_t>(array.count());
  if (array.type == 27 || !descr_of(array.type)) {
    std::vector<float> values(count);
    array.to_floats(0, values);
    std::string file = npy_header("<f4", array.dims);
    file.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    return file;
  }
  std::string file = npy_header(descr_of(array.type), array.dims);
  file.append(reinterpret_cast<const char*>(array.data.data()), count * dump::type_size(array.type));
  return file;
}

}  // namespace updraft::compare
