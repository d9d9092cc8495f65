// Charts as inline SVG, in English and 中文: the page shows what has its language's class.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "hccl_sim/step.h"

namespace hccl_sim {

struct Both {
  std::string en, zh;
};
/// For HTML.
std::string escaped(const std::string& text);

/// A value of every algorithm over the ranks.
std::string chart(const Both& title, const std::vector<ScalePoint>& points,
                  const std::function<double(const Step&)>& value, const char* unit, bool logarithmic);
/// When computation and buckets are under way.
std::string timeline(const Model& buckets, const Step& step);

}  // namespace hccl_sim
