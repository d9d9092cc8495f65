// On which products an API works: the documented facts, and what the findings say of the product that was asked for.
#pragma once
#include <array>
#include <optional>
#include <string_view>

#include "migrate/finding.h"
#include "migrate/support/torch_api.h"

namespace updraft::migrate::report {

/// By Product, in its order.
using Products = std::array<Support, 4>;

/// None where nothing is known of any product.
std::optional<Products> products(std::string_view api, Category category, const Request& request);

}  // namespace updraft::migrate::report
