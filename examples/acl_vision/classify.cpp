// classify MODEL.om PICTURE.jpg …    the five best classes of each picture
//
// Pictures are decoded and resized by DVPP and normalised by AIPP (YUV420SP_U8); the model gives a score a class.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <numeric>

#include "vision.h"

namespace {

void classify(int count, char** arguments) {
  const Runtime runtime;
  const Dvpp dvpp(runtime);
  const Model model(arguments[1]);
  const Picture small(model.width(), model.height());
  for (int i = 2; i < count; ++i) {
    dvpp.resize(dvpp.decode(arguments[i]), small);
    std::vector<float> likely = model.run(small)[0];
    const float most = *std::max_element(likely.begin(), likely.end());
    for (float& score : likely) score = std::exp(score - most);
    const float sum = std::accumulate(likely.begin(), likely.end(), 0.0f);
    std::vector<size_t> order(likely.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return likely[a] > likely[b]; });
    order.resize(std::min<size_t>(order.size(), 5));
    std::printf("%s:", arguments[i]);
    for (const size_t c : order) std::printf(" class %zu (%.4f)", c, static_cast<double>(likely[c] / sum));
    std::printf("\n");
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    std::fprintf(stderr, "usage: %s MODEL.om PICTURE.jpg ...\n", arguments[0]);
    return 2;
  }
  try {
    classify(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
