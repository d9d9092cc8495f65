#include "frontends/import_options.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"

namespace updraft::frontends {
namespace {

void check_shape(const std::string& name, const graph::Dims& own, const graph::Dims& given) {
  bool fits = own.size() == given.size();
  for (size_t d = 0; fits && d < own.size(); ++d) fits = own[d] < 0 || given[d] < 0 || own[d] == given[d];
  if (!fits)
    throw Error(code::kAclnnParamInvalid, "input {} is to have shape {}, the model says {}", name,
                graph::describe(given), graph::describe(own));
}

}  // namespace

bool set_shape(const ImportOptions& options, const std::string& input, bool known, graph::TensorDesc& desc) {
  const auto given = options.input_shapes.find(input);
  const bool has = given != options.input_shapes.end();
  if (has) {
    if (known) check_shape(input, desc.dims, given->second);
    desc.dims = given->second;
  }
  if (const auto ranges = options.input_ranges.find(input); ranges != options.input_ranges.end())
    desc.ranges = ranges->second;
  desc.origin_dims = desc.dims;
  return has;
}

void require_inputs(const ImportOptions& options, std::span<const std::string_view> inputs) {
  for (const auto& given : options.input_shapes)
    if (std::ranges::find(inputs, std::string_view(given.first)) == inputs.end())
      throw Error(code::kAclnnParamInvalid, "a shape is given for {}, which is no input of the model (its inputs: {})",
                  given.first, fmt::join(inputs, ", "));
}

}  // namespace updraft::frontends
