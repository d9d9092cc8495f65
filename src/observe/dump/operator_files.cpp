#include "observe/dump/operator_files.h"

#include <cstring>

#include "observe/dump/names.h"
#include "observe/dump/statistics.h"

namespace updraft::dump {

std::vector<const TensorArgument*> tensors_of(const TaskEvent& task, bool outputs) {
  std::vector<const TensorArgument*> all;
  for (const Argument& argument : task.arguments) {
    const TensorArgument* tensor = argument.tensor();
    if (tensor && (outputs ? is_written(argument.direction) : is_input(task, argument)) &&
        type_number(tensor->view.dtype) && (tensor->view.data || tensor->view.empty()))
      all.push_back(tensor);
  }
  return all;
}

FileTensor describe_tensor(const TensorArgument& tensor) {
  FileTensor made;
  const TensorView& view = tensor.view;
  made.type = type_number(view.dtype);
  made.format = tensor.format < 0 ? 2 : tensor.format;
  made.dims.assign(view.dims, view.dims + view.rank);
  made.original_dims = made.dims;
  made.size = view.bytes();
  made.address = tensor.storage ? reinterpret_cast<uint64_t>(tensor.storage) +
                                      static_cast<uint64_t>(tensor.offset) * size_of(view.dtype)
                                : reinterpret_cast<uint64_t>(view.data);
  return made;
}

std::string CallNumbers::next(const TaskEvent& task) {
  const std::string key = fmt::format("{}:{}", task.device, task.name);
  std::lock_guard lock(mutex_);
  return fmt::format("{}_{}", task.name, numbers_[key]++);
}

OperatorFile::OperatorFile(FileWriter& writer, const TaskEvent& task, Place place, bool inputs, bool outputs)
    : writer_(writer), outputs_(outputs) {
  FileHeader header;
  header.time = next_timestamp();
  header.op_name = place.name;
  const auto read = inputs ? tensors_of(task, false) : std::vector<const TensorArgument*>();
  const auto written = outputs ? tensors_of(task, true) : std::vector<const TensorArgument*>();
  for (const TensorArgument* tensor : read) header.inputs.push_back(describe_tensor(*tensor));
  for (const TensorArgument* tensor : written) header.outputs.push_back(describe_tensor(*tensor));
  for (const auto* list : {&header.inputs, &header.outputs})
    for (const FileTensor& tensor : *list) bytes_ += tensor.size;
  path_ = place.folder + "/" + file_name(place.type, place.name, task.id, task.stream, header.time);
  head_ = write_header(header);
  if (bytes_ > FileWriter::kDirect) {
    direct_ = std::make_unique<FileWriter::Direct>(writer_, path_);
    direct_->write(head_.data(), head_.size());
  } else {
    body_ = writer_.take(bytes_);
  }
  for (const TensorArgument* tensor : read) put(*tensor);
}

OperatorFile::~OperatorFile() { writer_.give_back(std::move(body_)); }

void OperatorFile::put(const TensorArgument& tensor) {
  const TensorView& view = tensor.view;
  const size_t bytes = view.bytes();
  if (!direct_) {
    copy_elements(view, body_.bytes.get() + at_);
    at_ += bytes;
  } else if (view.is_contiguous()) {
    direct_->write(view.data, bytes);
  } else {
    copy_pieces(view, [&](const std::byte* piece, size_t size) { direct_->write(piece, size); });
  }
}

void OperatorFile::finish(const TaskEvent& task) {
  if (outputs_)
    for (const TensorArgument* tensor : tensors_of(task, true)) put(*tensor);
  if (direct_) direct_.reset();
  else writer_.add(std::move(path_), std::move(head_), std::move(body_));
}

void OperatorFile::forget() {
  if (direct_) direct_->cancel();
  direct_.reset();
}

std::string figures_head(uint32_t figures) {
  std::string head = "Input/Output,Index,Data Size,Data Type,Format,Shape,Count";
  for (const auto& [bit, name] : {std::pair{kMax, "Max Value"},
                                  {kMin, "Min Value"},
                                  {kAvg, "Avg Value"},
                                  {kNan, "Nan Count"},
                                  {kNegativeInf, "Negative Inf Count"},
                                  {kPositiveInf, "Positive Inf Count"},
                                  {kL2, "L2norm Value"}})
    if (figures & bit) head += fmt::format(",{}", name);
  return head + "\n";
}

namespace {
const char* format_name(int32_t format) {
  switch (format) {
    case 0: return "NCHW";
    case 1: return "NHWC";
    case 3: return "NC1HWC0";
    case 4: return "FRACTAL_Z";
    case 16: return "HWCN";
    case 27: return "NDHWC";
    case 29: return "FRACTAL_NZ";
    case 30: return "NCDHW";
    case 32: return "NDC1HWC0";
    case 33: return "FRACTAL_Z_3D";
    default: return "ND";
  }
}
std::string number(double x) { return x != x ? "nan" : fmt::format("{:.9g}", x); }
}  // namespace

std::string figures_line(const TensorArgument& tensor, bool output, size_t index, uint32_t figures) {
  const TensorView& view = tensor.view;
  const Statistics s = statistics_of(view);
  std::string shape;
  for (int d = 0; d < view.rank; ++d) shape += fmt::format("{}{}", d ? "x" : "", view.dims[d]);
  std::string line = fmt::format("{},{},{},{},{},{},{}", output ? "Output" : "Input", index, view.bytes(),
                                 name_of(view.dtype), format_name(tensor.format), shape, s.count);
  if (figures & kMax) line += "," + number(s.max);
  if (figures & kMin) line += "," + number(s.min);
  if (figures & kAvg) line += "," + number(s.mean);
  if (figures & kNan) line += fmt::format(",{}", s.nan);
  if (figures & kNegativeInf) line += fmt::format(",{}", s.negative_infinity);
  if (figures & kPositiveInf) line += fmt::format(",{}", s.positive_infinity);
  if (figures & kL2) line += "," + number(s.l2);
  return line + "\n";
}

}  // namespace updraft::dump
