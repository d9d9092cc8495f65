// Views made from views: against the elements that a loop over indices finds.
#include "tensor/view_algebra.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "base/error.h"

namespace updraft {
namespace {

// Elements in row-major order.
template <class T = int32_t>
std::vector<T> elements(const TensorView& v) {
  std::vector<T> all;
  for (int64_t i = 0; i < v.numel(); ++i) all.push_back(v.as<T>()[v.offset_of(i)]);
  return all;
}

struct ViewAlgebra : testing::Test {
  ViewAlgebra() { std::iota(data.begin(), data.end(), 0); }
  TensorView view(std::initializer_list<int64_t> dims) {
    return TensorView::contiguous(data.data(), DType::Int32, dims.begin(), static_cast<int>(dims.size()));
  }
  std::vector<int64_t> dims_of(const TensorView& v) { return {v.dims, v.dims + v.rank}; }
  std::vector<int32_t> data = std::vector<int32_t>(24);
};
using Ints = std::vector<int32_t>;
using Dims = std::vector<int64_t>;

TEST_F(ViewAlgebra, NarrowTakesAPart) {
  const TensorView v = view({3, 4});
  EXPECT_EQ(elements(narrow(v, 0, 1, 2)), (Ints{4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(elements(narrow(v, 1, 2, 2)), (Ints{2, 3, 6, 7, 10, 11}));
  EXPECT_TRUE(narrow(v, 1, 4, 0).empty());
}

TEST_F(ViewAlgebra, NegativeStridesAreFollowed) {
  TensorView v = view({3, 4});
  v.data = at_element(v, 3);
  v.strides[1] = -1;  // each row backwards
  EXPECT_EQ(elements(v), (Ints{3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8}));
  EXPECT_EQ(elements(narrow(v, 1, 1, 2)), (Ints{2, 1, 6, 5, 10, 9}));
  EXPECT_EQ(elements(select(v, 1, 3)), (Ints{0, 4, 8}));
  EXPECT_EQ(elements(half_of(v, 1, 1)), (Ints{1, 0, 5, 4, 9, 8}));
  EXPECT_EQ(elements(permute(v, {1, 0})), (Ints{3, 7, 11, 2, 6, 10, 1, 5, 9, 0, 4, 8}));
  EXPECT_EQ(elements(unsqueeze(v, 1)), elements(v));
}

TEST_F(ViewAlgebra, SelectDropsTheDimension) {
  const TensorView v = view({2, 3, 4});
  const TensorView s = select(v, 1, 2);
  EXPECT_EQ(dims_of(s), (Dims{2, 4}));
  EXPECT_EQ(elements(s), (Ints{8, 9, 10, 11, 20, 21, 22, 23}));
  const TensorView scalar = select(select(select(v, 0, 1), 0, 2), 0, 3);
  EXPECT_EQ(scalar.rank, 0);
  EXPECT_EQ(elements(scalar), (Ints{23}));
}

TEST_F(ViewAlgebra, HalvesOfADimension) {
  const TensorView v = view({2, 4});
  EXPECT_EQ(elements(half_of(v, 1, 0)), (Ints{0, 1, 4, 5}));
  EXPECT_EQ(elements(half_of(v, 1, 1)), (Ints{2, 3, 6, 7}));
  const int64_t none[] = {0, 4};
  const TensorView empty = TensorView::contiguous(nullptr, DType::Int32, none, 2);
  EXPECT_EQ(half_of(empty, 1, 1).data, nullptr);
  EXPECT_EQ(dims_of(half_of(empty, 1, 1)), (Dims{0, 2}));
}

TEST_F(ViewAlgebra, DimensionsComeAndGo) {
  const TensorView v = view({3, 4});
  for (int d = 0; d <= 2; ++d) {
    const TensorView u = unsqueeze(v, d);
    ASSERT_EQ(u.rank, 3);
    EXPECT_EQ(u.dims[d], 1);
    EXPECT_TRUE(u.is_contiguous());
    EXPECT_EQ(elements(u), elements(v));
    const TensorView back = drop_dim(u, d);
    EXPECT_EQ(dims_of(back), dims_of(v));
    EXPECT_EQ(elements(back), elements(v));
  }
  const TensorView scalar = view({});
  EXPECT_EQ(dims_of(unsqueeze(scalar, 0)), (Dims{1}));
  EXPECT_EQ(elements(unsqueeze(scalar, 0)), (Ints{0}));
  EXPECT_EQ(dims_of(batched(v, 3)), (Dims{1, 3, 4}));
  EXPECT_EQ(dims_of(batched(v, 2)), (Dims{3, 4}));
}

TEST_F(ViewAlgebra, TooManyDimensionsAreRefused) {
  TensorView v = view({});
  for (int d = 0; d < kMaxDims; ++d) append_dim(v, 1, 1);
  EXPECT_THROW(append_dim(v, 1, 1), Error);
  EXPECT_THROW(unsqueeze(v, 0), Error);
}

TEST_F(ViewAlgebra, PermutesAnyOrder) {
  const TensorView v = view({2, 3, 4});
  const TensorView p = permute(v, {2, 0, 1});
  EXPECT_EQ(dims_of(p), (Dims{4, 2, 3}));
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 2; ++j)
      for (int64_t k = 0; k < 3; ++k)
        EXPECT_EQ(p.as<int32_t>()[i * p.strides[0] + j * p.strides[1] + k * p.strides[2]], (j * 3 + k) * 4 + i);
  EXPECT_EQ(permute(view({}), std::initializer_list<int64_t>{}).rank, 0);
}

TEST_F(ViewAlgebra, FirstAndLastDimensions) {
  const TensorView v = view({2, 3, 4});
  EXPECT_EQ(elements(first_dims(v, 1)), (Ints{0, 12}));
  EXPECT_EQ(elements(last_dims(v, 1)), (Ints{0, 1, 2, 3}));
  EXPECT_EQ(first_dims(v, 0).rank, 0);
  EXPECT_EQ(last_dims(v, 0).numel(), 1);
  EXPECT_EQ(elements(last_dims(v, 3)), elements(v));
  EXPECT_TRUE(first_dims(view({0, 3}), 1).empty());
}

TEST_F(ViewAlgebra, ReshapesWhatIsContiguous) {
  const TensorView v = reshape(view({2, 3, 4}), {4, 6});
  EXPECT_EQ(dims_of(v), (Dims{4, 6}));
  EXPECT_EQ(elements(v), Ints(data.begin(), data.end()));
}

TEST(ViewAlgebraParts, OfComplexNumbers) {
  complex64 values[] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}};
  const int64_t dims[] = {2, 2};
  const TensorView v = TensorView::contiguous(values, DType::Complex64, dims, 2).transpose(0, 1);
  EXPECT_EQ(complex_part(v, 0).dtype, DType::Float);
  EXPECT_EQ(elements<float>(complex_part(v, 0)), (std::vector<float>{1, 5, 3, 7}));
  EXPECT_EQ(elements<float>(complex_part(v, 1)), (std::vector<float>{2, 6, 4, 8}));
  TensorView wide = v;
  wide.dtype = DType::Complex128;
  EXPECT_EQ(complex_part(wide, 1).dtype, DType::Double);
}

}  // namespace
}  // namespace updraft
