#include "migrate/report/guide/products.h"

#include <algorithm>
#include <stdexcept>

#include "migrate/support/torch_cuda.h"

namespace updraft::migrate::report {

std::optional<Products> products(std::string_view api, Category category, const Request& request) {
  Products marks{};
  if (request.framework == "pytorch" && api.starts_with("torch.")) {
    try {
      const std::size_t version = nearest_torch(request.facts.empty() ? request.version : request.facts);
      for (std::size_t i = 0; i < marks.size(); ++i)
        marks[i] = lookup_torch(api, version, static_cast<Product>(i)).support;
    } catch (const std::invalid_argument&) {  // no version: nothing to look up
    }
    const CudaTwin twin = cuda_twin(api);
    if (twin.known && twin.npu.empty()) marks.fill(Support::no);
  }
  if (category == Category::Unsupported) {
    try {
      marks[static_cast<std::size_t>(parse_product(request.product))] = Support::no;
    } catch (const std::invalid_argument&) {  // a product that the facts do not know
    }
  }
  if (std::all_of(marks.begin(), marks.end(), [](Support mark) { return mark == Support::unknown; }))
    return std::nullopt;
  return marks;
}

}  // namespace updraft::migrate::report
