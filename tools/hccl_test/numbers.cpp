#include "numbers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace hccl_test {
namespace {

constexpr Number kNumbers[] = {
    {"int8", HCCL_DATA_TYPE_INT8, 1, 0, 0, true},      {"int16", HCCL_DATA_TYPE_INT16, 2, 0, 0, true},
    {"int32", HCCL_DATA_TYPE_INT32, 4, 0, 0, true},    {"int64", HCCL_DATA_TYPE_INT64, 8, 0, 0, true},
    {"uint8", HCCL_DATA_TYPE_UINT8, 1, 0, 0, false},   {"uint16", HCCL_DATA_TYPE_UINT16, 2, 0, 0, false},
    {"uint32", HCCL_DATA_TYPE_UINT32, 4, 0, 0, false}, {"uint64", HCCL_DATA_TYPE_UINT64, 8, 0, 0, false},
    {"fp16", HCCL_DATA_TYPE_FP16, 2, 5, 10, true},     {"fp32", HCCL_DATA_TYPE_FP32, 4, 8, 23, true},
    {"fp64", HCCL_DATA_TYPE_FP64, 8, 11, 52, true},    {"bfp16", HCCL_DATA_TYPE_BFP16, 2, 8, 7, true},
};

uint64_t mask(const Number& n) { return n.size == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * n.size)) - 1; }

// The integer as 64 bits, its sign extended.
uint64_t widened(const Number& n, uint64_t bits) {
  const uint64_t sign = uint64_t{1} << (8 * n.size - 1);
  return n.is_signed && (bits & sign) ? bits | ~mask(n) : bits;
}

uint64_t scramble(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

Number Number::of(const std::string& name) {
  for (const Number& n : kNumbers)
    if (name == n.name || (name == "bf16" && n.id == HCCL_DATA_TYPE_BFP16)) return n;
  throw std::invalid_argument("-d is " + name + ", want one of " + names());
}

std::string Number::names() {
  std::string all;
  for (const Number& n : kNumbers) all += (all.empty() ? "" : " ") + std::string(n.name);
  return all;
}

double Number::decode(uint64_t bits) const {
  const int bias = (1 << (exponent - 1)) - 1;
  const uint64_t fraction = bits & ((uint64_t{1} << mantissa) - 1), all = (uint64_t{1} << exponent) - 1;
  const uint64_t e = (bits >> mantissa) & all;
  const double sign = (bits >> (exponent + mantissa)) & 1 ? -1.0 : 1.0;
  if (e == all)
    return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  const int scale = 1 - bias - mantissa;
  if (e == 0) return sign * std::ldexp(static_cast<double>(fraction), scale);
  return sign * std::ldexp(static_cast<double>(fraction + (uint64_t{1} << mantissa)), scale + static_cast<int>(e) - 1);
}

uint64_t Number::encode(double value) const {
  const uint64_t sign = std::signbit(value) ? uint64_t{1} << (exponent + mantissa) : 0;
  if (value == 0) return sign;
  const int bias = (1 << (exponent - 1)) - 1;
  const int e = std::max(std::ilogb(value), 1 - bias);
  const uint64_t fraction = static_cast<uint64_t>(std::nearbyint(std::ldexp(std::abs(value), mantissa - e)));
  // The hidden bit is what makes the exponent of normal numbers 1 larger.
  return sign | (fraction + (static_cast<uint64_t>(e + bias - 1) << mantissa));
}

uint64_t source(const Number& number, HcclReduceOp op, int rank, uint64_t index) {
  const uint64_t i = index % kPeriod, random = scramble(i * 65537 + static_cast<uint64_t>(rank) + 1);
  if (!number.is_float()) return random & mask(number);
  if (op != HCCL_REDUCE_PROD) return number.encode(static_cast<double>(random % 9) - 4);
  // Exponents -1, 0, 1 in turn: the product over many ranks stays in range.
  const int power = static_cast<int>((static_cast<uint64_t>(rank) + i) % 3) - 1;
  return number.encode(std::ldexp(random & 1 ? -1.0 : 1.0, power));
}

std::vector<Wanted> elements_of(const Number& number, HcclReduceOp op, int rank) {
  std::vector<Wanted> all(kPeriod);
  for (uint64_t i = 0; i < kPeriod; ++i) all[i] = {source(number, op, rank, i), 0, 0};
  return all;
}

std::vector<Wanted> reduced(const Number& number, HcclReduceOp op, int ranks) {
  std::vector<Wanted> all(kPeriod);
  for (uint64_t i = 0; i < kPeriod; ++i) {
    const uint64_t first = source(number, op, 0, i);
    if (number.is_float()) {
      double value = number.decode(first), size = std::abs(value);
      for (int r = 1; r < ranks; ++r) {
        const double x = number.decode(source(number, op, r, i));
        size += std::abs(x);
        value = op == HCCL_REDUCE_SUM    ? value + x
                : op == HCCL_REDUCE_PROD ? value * x
                : op == HCCL_REDUCE_MAX  ? std::max(value, x)
                                         : std::min(value, x);
      }
      // Integers up to 2^(mantissa + 1) are exact, in whatever order they are added.
      const bool rounds = op == HCCL_REDUCE_SUM && size > std::ldexp(1.0, number.mantissa + 1);
      all[i] = {number.encode(value), value, rounds ? size * std::ldexp(1.0, -number.mantissa) : 0};
    } else {
      uint64_t value = widened(number, first);
      for (int r = 1; r < ranks; ++r) {
        const uint64_t x = widened(number, source(number, op, r, i));
        const bool less = number.is_signed ? static_cast<int64_t>(x) < static_cast<int64_t>(value) : x < value;
        if (op == HCCL_REDUCE_SUM) value += x;
        else if (op == HCCL_REDUCE_PROD) value *= x;
        else if (less == (op == HCCL_REDUCE_MIN)) value = x;
      }
      all[i] = {value & mask(number), 0, 0};
    }
  }
  return all;
}

}  // namespace hccl_test
