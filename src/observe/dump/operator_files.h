// The files of one operator: its tensors in the layout of dumps, or their figures as csv.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/observer.h"
#include "observe/dump/dump_file.h"
#include "observe/dump/file_writer.h"
#include "observe/dump/settings.h"

namespace updraft::dump {

/// The tensors of a task that are read, or that are written, in the order of the parameters.
std::vector<const TensorArgument*> tensors_of(const TaskEvent& task, bool outputs);

FileTensor describe_tensor(const TensorArgument& tensor);

/// Numbers the operators of each name on each device from 0 on: names of what no graph names.
class CallNumbers {
 public:
  /// "aclnnAdd_3".
  std::string next(const TaskEvent& task);

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, uint64_t> numbers_;
};

/// What is written of an operator while it runs: inputs as they are before it, outputs as they are after it.
class OperatorFile {
 public:
  struct Place {
    std::string folder;
    std::string type, name;
  };
  /// At the operator's beginning. `inputs` and `outputs` say what is wanted.
  OperatorFile(FileWriter& writer, const TaskEvent& task, Place place, bool inputs, bool outputs);
  ~OperatorFile();
  /// At its end: the outputs, and the file is handed over.
  void finish(const TaskEvent& task);
  /// The operator has not come to its end: what there is of it is not written.
  void forget();

 private:
  void put(const TensorArgument& tensor);

  FileWriter& writer_;
  std::string path_, head_;
  bool outputs_;
  Buffer body_;
  size_t at_ = 0, bytes_ = 0;
  std::unique_ptr<FileWriter::Direct> direct_;
};

/// The csv of figures (dump_data stats): a head line and a line for each tensor.
std::string figures_head(uint32_t figures);
std::string figures_line(const TensorArgument& tensor, bool output, size_t index, uint32_t figures);

}  // namespace updraft::dump
