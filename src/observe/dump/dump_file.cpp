#include "observe/dump/dump_file.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "base/error.h"
#include "base/json_text.h"

namespace updraft::dump {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::pbf_writer;

struct TypeRow {
  int32_t number;
  DType type;
  const char* name;
  size_t size;
};
constexpr TypeRow kTypes[] = {
    {1, DType::Float, "float32", 4},
    {2, DType::Float16, "float16", 2},
    {3, DType::Int8, "int8", 1},
    {4, DType::UInt8, "uint8", 1},
    {5, DType::Int16, "int16", 2},
    {6, DType::UInt16, "uint16", 2},
    {7, DType::Int32, "int32", 4},
    {8, DType::Int64, "int64", 8},
    {9, DType::UInt32, "uint32", 4},
    {10, DType::UInt64, "uint64", 8},
    {11, DType::Bool, "bool", 1},
    {12, DType::Double, "float64", 8},
    {16, DType::Complex64, "complex64", 8},
    {17, DType::Complex128, "complex128", 16},
    {27, DType::BFloat16, "bfloat16", 2},
    {29, DType::UInt1, "uint1", 0},
    {32, DType::Complex32, "complex32", 4},
};

// Numbers of the fields.
namespace data {
constexpr uint32_t kVersion = 1, kTime = 2, kOutput = 3, kInput = 4, kBuffer = 5, kOpName = 6, kSpace = 8;
}
namespace shape {
constexpr uint32_t kDim = 1;
}
namespace original {
constexpr uint32_t kName = 1, kIndex = 2, kType = 3, kFormat = 4;
}
/// Outputs have the original operator at 4, so what follows has another number than in inputs.
struct TensorFields {
  uint32_t type = 1, format = 2, shape = 3, original = 0, data = 4, size = 5, original_shape = 6, sub_format = 7,
           address = 8;
};
constexpr TensorFields kInputFields;
constexpr TensorFields kOutputFields = {1, 2, 3, 4, 5, 6, 7, 8, 9};
constexpr uint32_t kPartSize = 3;  // of buffers and spaces

/// More dimensions than any tensor has: a damaged file.
constexpr size_t kMostDims = 64;

[[noreturn]] void damaged(const std::string& why) { throw Error(code::kAclParseFile, "the file is no dump: {}", why); }

void write_shape(pbf_writer& to, uint32_t field, const std::vector<int64_t>& dims) {
  pbf_writer shape(to, field);
  std::vector<uint64_t> values(dims.begin(), dims.end());
  shape.add_packed_uint64(shape::kDim, values.begin(), values.end());
}

void write_tensor(pbf_writer to, const TensorFields& fields, const FileTensor& tensor) {
  to.add_enum(fields.type, tensor.type);
  to.add_enum(fields.format, tensor.format);
  write_shape(to, fields.shape, tensor.dims);
  if (fields.original && !tensor.original_name.empty()) {
    pbf_writer original(to, fields.original);
    original.add_string(original::kName, tensor.original_name);
    original.add_uint32(original::kIndex, static_cast<uint32_t>(tensor.original_index));
    original.add_enum(original::kType, tensor.type);
    original.add_enum(original::kFormat, tensor.format);
  }
  to.add_uint64(fields.size, tensor.size);
  write_shape(to, fields.original_shape, tensor.original_dims.empty() ? tensor.dims : tensor.original_dims);
  if (tensor.sub_format) to.add_int32(fields.sub_format, tensor.sub_format);
  if (tensor.address) to.add_uint64(fields.address, tensor.address);
}

/// protozero ends the program where a field has another form than it is read as: here that is a damaged file.
class Reader : private pbf_reader {
 public:
  explicit Reader(std::string_view bytes) : pbf_reader(bytes.data(), bytes.size()) {}
  using pbf_reader::next;
  using pbf_reader::skip;
  using pbf_reader::tag;
  bool is_bytes() const { return wire_type() == pbf_wire_type::length_delimited; }
  uint64_t number() { return want(pbf_wire_type::varint).get_uint64(); }
  int32_t small() { return static_cast<int32_t>(number()); }
  std::string text() { return want(pbf_wire_type::length_delimited).get_string(); }
  Reader message() {
    const auto view = want(pbf_wire_type::length_delimited).get_view();
    return Reader({view.data(), view.size()});
  }
  auto numbers() { return want(pbf_wire_type::length_delimited).get_packed_uint64(); }

 private:
  pbf_reader& want(pbf_wire_type type) {
    if (wire_type() != type)
      damaged(fmt::format("field {} of its header has form {}, want {}", tag(), static_cast<int>(wire_type()),
                          static_cast<int>(type)));
    return *this;
  }
};

std::vector<int64_t> read_shape(Reader from) {
  std::vector<int64_t> dims;
  auto add = [&](uint64_t value) {
    if (dims.size() >= kMostDims) damaged("a shape has more than 64 dimensions");
    dims.push_back(static_cast<int64_t>(value));
  };
  while (from.next()) {
    if (from.tag() != shape::kDim) from.skip();
    else if (from.is_bytes())
      for (uint64_t value : from.numbers()) add(value);
    else add(from.number());
  }
  return dims;
}

FileTensor read_tensor(Reader from, const TensorFields& fields) {
  FileTensor tensor;
  while (from.next()) {
    const uint32_t tag = from.tag();
    if (tag == fields.type) tensor.type = from.small();
    else if (tag == fields.format) tensor.format = from.small();
    else if (tag == fields.shape) tensor.dims = read_shape(from.message());
    else if (tag == fields.size) tensor.size = from.number();
    else if (tag == fields.original_shape) tensor.original_dims = read_shape(from.message());
    else if (tag == fields.sub_format) tensor.sub_format = from.small();
    else if (tag == fields.address) tensor.address = from.number();
    else if (fields.original && tag == fields.original) {
      Reader original = from.message();
      while (original.next()) {
        if (original.tag() == original::kName) tensor.original_name = original.text();
        else if (original.tag() == original::kIndex) tensor.original_index = original.small();
        else original.skip();
      }
    } else from.skip();
  }
  return tensor;
}

uint64_t read_part(Reader from) {
  uint64_t size = 0;
  while (from.next()) {
    if (from.tag() == kPartSize) size = from.number();
    else from.skip();
  }
  return size;
}

FileHeader read_message(std::string_view bytes) {
  FileHeader header;
  header.version.clear();
  Reader from(bytes);
  while (from.next()) {
    switch (from.tag()) {
      case data::kVersion: header.version = from.text(); break;
      case data::kTime: header.time = from.number(); break;
      case data::kOutput: header.outputs.push_back(read_tensor(from.message(), kOutputFields)); break;
      case data::kInput: header.inputs.push_back(read_tensor(from.message(), kInputFields)); break;
      case data::kBuffer: header.buffers.push_back(read_part(from.message())); break;
      case data::kOpName: header.op_name = from.text(); break;
      case data::kSpace: header.spaces.push_back(read_part(from.message())); break;
      default: from.skip();
    }
  }
  return header;
}

const TypeRow* row_of(int32_t number) {
  const auto* found = std::ranges::find(kTypes, number, &TypeRow::number);
  return found == std::end(kTypes) ? nullptr : found;
}

}  // namespace

int32_t type_number(DType type) {
  const auto* found = std::ranges::find(kTypes, type, &TypeRow::type);
  return found == std::end(kTypes) ? 0 : found->number;
}
DType type_of_number(int32_t number) {
  const TypeRow* row = row_of(number);
  return row ? row->type : DType::Undefined;
}
std::string_view type_name(int32_t number) {
  const TypeRow* row = row_of(number);
  return row ? row->name : number == 0 ? "int8" : "NaN";
}
size_t type_size(int32_t number) {
  const TypeRow* row = row_of(number);
  return row ? row->size : number == 0 ? 1 : 0;
}

std::string write_header(const FileHeader& header) {
  std::string text(sizeof(uint64_t), '\0');
  {
    pbf_writer to(text);
    to.add_string(data::kVersion, header.version);
    to.add_uint64(data::kTime, header.time);
    for (const FileTensor& tensor : header.outputs) write_tensor(pbf_writer(to, data::kOutput), kOutputFields, tensor);
    for (const FileTensor& tensor : header.inputs) write_tensor(pbf_writer(to, data::kInput), kInputFields, tensor);
    to.add_string(data::kOpName, header.op_name);
  }
  const uint64_t length = text.size() - sizeof(uint64_t);
  std::memcpy(text.data(), &length, sizeof length);
  return text;
}

FileHeader read_header(std::span<const std::byte> bytes, uint64_t file_size, uint64_t* data) {
  uint64_t length = 0;
  if (bytes.size() < sizeof length)
    damaged(fmt::format("it has {} bytes, the length of its header alone takes {}", bytes.size(), sizeof length));
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > bytes.size() - sizeof length)
    damaged(fmt::format("its header has {} bytes and the file has {}", length, file_size));
  FileHeader header;
  try {
    header = read_message({reinterpret_cast<const char*>(bytes.data()) + sizeof length, length});
  } catch (const protozero::exception& e) { damaged(fmt::format("its header cannot be read ({})", e.what())); }
  uint64_t end = sizeof length + length;
  if (data) *data = end;
  auto add = [&](uint64_t size) {
    if (__builtin_add_overflow(end, size, &end) || end > file_size)
      damaged(fmt::format("its tensors end at byte {} or later and the file has {}", end, file_size));
  };
  for (const FileTensor& tensor : header.inputs) add(tensor.size);
  for (const FileTensor& tensor : header.outputs) add(tensor.size);
  for (uint64_t size : header.buffers) add(size);
  for (uint64_t size : header.spaces) add(size);
  return header;
}

std::string header_to_json(const FileHeader& header) {
  using Json = nlohmann::ordered_json;
  auto tensors = [](const std::vector<FileTensor>& all, bool outputs) {
    Json list = Json::array();
    for (const FileTensor& t : all) {
      Json entry = {{"data_type", t.type},
                    {"format", t.format},
                    {"shape", {{"dim", t.dims}}},
                    {"size", t.size},
                    {"original_shape", {{"dim", t.original_dims}}},
                    {"sub_format", t.sub_format},
                    {"address", t.address}};
      if (outputs && !t.original_name.empty())
        entry["original_op"] = {{"name", t.original_name}, {"output_index", t.original_index}};
      list.push_back(std::move(entry));
    }
    return list;
  };
  auto parts = [](const std::vector<uint64_t>& sizes) {
    Json list = Json::array();
    for (uint64_t size : sizes) list.push_back({{"size", size}});
    return list;
  };
  const Json json = {{"version", header.version},
                     {"dump_time", header.time},
                     {"output", tensors(header.outputs, true)},
                     {"input", tensors(header.inputs, false)},
                     {"buffer", parts(header.buffers)},
                     {"op_name", header.op_name},
                     {"space", parts(header.spaces)}};
  return json_text(json, 1);
}

}  // namespace updraft::dump
