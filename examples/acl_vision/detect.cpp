// detect MODEL.om FOLDER PICTURE.jpg …    boxes of what is found, printed and drawn into FOLDER/PICTURE.jpg
//
// Pictures are decoded and resized by DVPP and normalised by AIPP (YUV420SP_U8). The model gives boxes [1, N, 4] (left,
// top, right, bottom as parts of width and height) and scores [1, N, classes]; of boxes of a class that overlap the
// best one is kept. The boxes are drawn into the decoded picture, which DVPP encodes.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>

#include "vision.h"

namespace {

constexpr float kLeastScore = 0.4f, kMostOverlap = 0.5f;

struct Box {
  float left, top, right, bottom;
  float area() const { return (right - left) * (bottom - top); }
};
struct Found {
  size_t number;  // of the class
  float score;
  Box box;  // in the picture's pixels
};

float overlap(const Box& a, const Box& b) {
  const float across = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float down = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const float shared = std::max(across, 0.0f) * std::max(down, 0.0f);
  return shared / (a.area() + b.area() - shared);
}

std::vector<Found> find(const std::vector<float>& boxes, const std::vector<float>& scores, size_t classes, float width,
                        float height) {
  std::vector<Found> all, kept;
  for (size_t i = 0; i < boxes.size() / 4; ++i)
    for (size_t c = 0; c < classes; ++c)
      if (scores[i * classes + c] >= kLeastScore)
        all.push_back(
            {c,
             scores[i * classes + c],
             {boxes[4 * i] * width, boxes[4 * i + 1] * height, boxes[4 * i + 2] * width, boxes[4 * i + 3] * height}});
  std::stable_sort(all.begin(), all.end(), [](const Found& a, const Found& b) { return a.score > b.score; });
  for (const Found& one : all)
    if (std::none_of(kept.begin(), kept.end(), [&](const Found& better) {
          return better.number == one.number && overlap(better.box, one.box) > kMostOverlap;
        }))
      kept.push_back(one);
  return kept;
}

/// Frames of two pixels, in a colour for each class.
void draw(const Picture& picture, const std::vector<Found>& found) {
  static const uint8_t kColours[][3] = {{76, 85, 255}, {150, 44, 21}, {29, 255, 107}, {226, 1, 149}, {105, 212, 234}};
  const int width = static_cast<int>(picture.width()), height = static_cast<int>(picture.height());
  const size_t stride = picture.width_stride(), first_pair = stride * picture.height_stride();
  std::vector<uint8_t> pixels(picture.memory().bytes());
  picture.memory().copy_to(pixels.data(), pixels.size());
  for (const Found& one : found) {
    const uint8_t* yuv = kColours[one.number % 5];
    auto dot = [&](int x, int y) {
      if (x < 0 || y < 0 || x >= width || y >= height) return;
      const auto column = static_cast<size_t>(x), row = static_cast<size_t>(y);
      pixels[row * stride + column] = yuv[0];
      uint8_t* pair = &pixels[first_pair + row / 2 * stride + column / 2 * 2];
      pair[0] = yuv[1];
      pair[1] = yuv[2];
    };
    const int left = static_cast<int>(std::lround(one.box.left)), right = static_cast<int>(std::lround(one.box.right));
    const int top = static_cast<int>(std::lround(one.box.top)), bottom = static_cast<int>(std::lround(one.box.bottom));
    for (int thick = 0; thick < 2; ++thick) {
      for (int x = left; x <= right; ++x) dot(x, top + thick), dot(x, bottom - thick);
      for (int y = top; y <= bottom; ++y) dot(left + thick, y), dot(right - thick, y);
    }
  }
  picture.memory().copy_from(pixels.data(), pixels.size());
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

void detect(int count, char** arguments) {
  const Runtime runtime;
  const Dvpp dvpp(runtime);
  const Model model(arguments[1]);
  const auto classes = static_cast<size_t>(model.shape(1).back());
  const Picture small(model.width(), model.height());
  for (int i = 3; i < count; ++i) {
    const Picture whole = dvpp.decode(arguments[i]);
    dvpp.resize(whole, small);
    const std::vector<std::vector<float>> outputs = model.run(small);
    const std::vector<Found> found =
        find(outputs[0], outputs[1], classes, static_cast<float>(whole.width()), static_cast<float>(whole.height()));
    std::printf("%s: %zu found\n", arguments[i], found.size());
    for (const Found& one : found)
      std::printf("  class %zu (%.4f) at %.2f %.2f %.2f %.2f\n", one.number, static_cast<double>(one.score),
                  static_cast<double>(one.box.left), static_cast<double>(one.box.top),
                  static_cast<double>(one.box.right), static_cast<double>(one.box.bottom));
    draw(whole, found);
    dvpp.encode(whole, std::string(arguments[2]) + "/" + name_of(arguments[i]));
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) {
    std::fprintf(stderr, "usage: %s MODEL.om FOLDER PICTURE.jpg ...\n", arguments[0]);
    return 2;
  }
  try {
    detect(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
