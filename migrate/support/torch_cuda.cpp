#include "migrate/support/torch_cuda.h"

#include "migrate/support/table.h"

namespace updraft::migrate {

CudaTwin cuda_twin(std::string_view name) {
  static const support::Table table = support::Table::of("torch_cuda.tsv");
  const auto twin = [](const support::Row& row) { return CudaTwin{true, row.cell(2), {row.cell(3), row.cell(4)}}; };
  if (const support::Row row = table.find(name)) return twin(row);
  // what has no twin has no members with one either: cudart().cudaProfilerStart, nccl.anything
  for (size_t dot = name.rfind('.'); dot != std::string_view::npos; dot = name.rfind('.', dot - 1)) {
    const support::Row row = table.find(name.substr(0, dot));
    if (row) return row.cell(2).empty() ? twin(row) : CudaTwin{};
    if (dot == 0) break;
  }
  return {};
}

}  // namespace updraft::migrate
