// reduce_blocks against scalar arithmetic that shares nothing with it: numbers decoded, combined in double or 64-bit
// integers, and rounded by the definition of the format.
#include "collective/reduce.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace updraft::collective {
namespace {

constexpr Type kAllTypes[] = {Type::Int8,   Type::Int16, Type::Int32,  Type::Float16, Type::Float32, Type::Int64,
                              Type::UInt64, Type::UInt8, Type::UInt16, Type::UInt32,  Type::Float64, Type::BFloat16};
constexpr Op kAllOps[] = {Op::Sum, Op::Prod, Op::Max, Op::Min};
constexpr double kInf = std::numeric_limits<double>::infinity();

bool is_float(Type t) { return t == Type::Float16 || t == Type::Float32 || t == Type::Float64 || t == Type::BFloat16; }
bool is_signed(Type t) { return t == Type::Int8 || t == Type::Int16 || t == Type::Int32 || t == Type::Int64; }

struct Format {
  int exponent, mantissa;  // bits
};
Format format_of(Type t) {
  return t == Type::Float16 ? Format{5, 10} : t == Type::BFloat16 ? Format{8, 7} : Format{8, 23};
}

double decode(uint32_t bits, Format f) {
  const int bias = (1 << (f.exponent - 1)) - 1;
  const uint32_t mantissa = bits & ((1u << f.mantissa) - 1), all = (1u << f.exponent) - 1;
  const uint32_t exponent = (bits >> f.mantissa) & all;
  const double sign = (bits >> (f.exponent + f.mantissa)) & 1 ? -1.0 : 1.0;
  if (exponent == all) return mantissa ? std::numeric_limits<double>::quiet_NaN() : sign * kInf;
  const int scale = 1 - bias - f.mantissa;
  if (exponent == 0) return sign * std::ldexp(mantissa, scale);
  return sign * std::ldexp(mantissa + (1u << f.mantissa), scale + static_cast<int>(exponent) - 1);
}

/// The nearest number of the format, ties to even; infinity from half a step beyond the largest on.
double round_to(double x, Format f) {
  if (x == 0 || std::isnan(x) || std::isinf(x)) return x;
  const int bias = (1 << (f.exponent - 1)) - 1;
  const int step = std::max(std::ilogb(x), 1 - bias) - f.mantissa;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -step)), step);
  return std::abs(rounded) >= std::ldexp(1.0, bias + 1) ? std::copysign(kInf, x) : rounded;
}

template <class T>
T combine(Op op, T a, T b) {
  if (op == Op::Sum) return a + b;
  if (op == Op::Prod) return a * b;
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  if (op == Op::Max) return b > a ? b : a;
  return b < a ? b : a;
}

uint64_t bits_at(const void* p, Type t, int64_t i) {
  uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const char*>(p) + i * static_cast<int64_t>(size_of(t)), size_of(t));
  return bits;
}
double float_at(const void* p, Type t, int64_t i) {
  const uint64_t bits = bits_at(p, t, i);
  double value;
  if (t != Type::Float64) return decode(static_cast<uint32_t>(bits), format_of(t));
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
uint64_t integer_at(const void* p, Type t, int64_t i) {
  const int unused = 64 - 8 * static_cast<int>(size_of(t));
  const uint64_t up = bits_at(p, t, i) << unused;
  return is_signed(t) ? static_cast<uint64_t>(static_cast<int64_t>(up) >> unused) : up >> unused;
}

/// Empty when out[i] is what the definition says.
std::string wrong(Type t, Op op, const std::vector<const void*>& in, const void* out, int64_t i) {
  if (in.size() == 1) return bits_at(in[0], t, i) == bits_at(out, t, i) ? "" : "a copy with other bits";
  if (is_float(t)) {
    double want = float_at(in[0], t, i);
    for (size_t k = 1; k < in.size(); ++k) {
      want = combine(op, want, float_at(in[k], t, i));
      if (t != Type::Float64) want = round_to(want, format_of(Type::Float32));
    }
    if (t != Type::Float64) want = round_to(want, format_of(t));
    const double got = float_at(out, t, i);
    if (std::isnan(want) ? std::isnan(got) : want == got && std::signbit(want) == std::signbit(got)) return "";
    return "wanted " + std::to_string(want) + ", got " + std::to_string(got);
  }
  uint64_t want = integer_at(in[0], t, i);
  for (size_t k = 1; k < in.size(); ++k) {
    const uint64_t next = integer_at(in[k], t, i);
    if (is_signed(t) && (op == Op::Max || op == Op::Min))
      want = static_cast<uint64_t>(combine(op, static_cast<int64_t>(want), static_cast<int64_t>(next)));
    else want = combine(op, want, next);
  }
  const int unused = 64 - 8 * static_cast<int>(size_of(t));
  const uint64_t got = bits_at(out, t, i);
  if (want << unused == got << unused) return "";
  return "wanted bits " + std::to_string((want << unused) >> unused) + ", got " + std::to_string(got);
}

enum class Fill { Numbers, Specials };

/// Memory at a chosen distance from a line, with guards on both sides.
struct Buffer {
  std::vector<char> memory;
  size_t begin = 0, bytes = 0;
  Buffer(int64_t n, Type t, int64_t shift) : bytes(static_cast<size_t>(n) * size_of(t)) {
    memory.assign(bytes + 384, static_cast<char>(0xa5));
    begin = 128 - (reinterpret_cast<uintptr_t>(memory.data()) & 63) + static_cast<size_t>(shift);
  }
  void* data() { return memory.data() + begin; }
  bool guarded() const {
    for (size_t i = 0; i < memory.size(); ++i)
      if ((i < begin || i >= begin + bytes) && memory[i] != static_cast<char>(0xa5)) return false;
    return true;
  }
  void fill(Type t, Fill how, std::mt19937_64& random) {
    char* p = static_cast<char*>(data());
    for (size_t i = 0; i + size_of(t) <= bytes; i += size_of(t)) {
      uint64_t bits = random();
      if (is_float(t) && how == Fill::Numbers) {
        // Sums and products that need rounding and mostly stay in range.
        const double x = std::ldexp(static_cast<double>(static_cast<int64_t>(bits)), -62);
        const float single = static_cast<float>(x);
        if (t == Type::Float64) std::memcpy(&bits, &x, sizeof x);
        else std::memcpy(&bits, &single, sizeof single);
        if (t == Type::BFloat16) bits = (bits & 0xffffffffu) >> 16;
        if (t == Type::Float16) bits = (random() & 0x83ffu) | (13 + random() % 4) << 10;
      } else if (is_float(t) && bits % 4) {
        const bool half = t == Type::Float16, brain = t == Type::BFloat16;
        const int exponent = half ? 10 : brain ? 7 : t == Type::Float32 ? 23 : 52;
        const uint64_t inf = half ? 0x7c00 : brain ? 0x7f80 : t == Type::Float32 ? 0x7f800000 : 0x7ff0000000000000;
        const uint64_t sign = uint64_t{1} << (8 * size_of(t) - 1);
        const uint64_t values[] = {0,
                                   inf,
                                   inf + 1,
                                   inf + (inf >> 1 & ~inf) + 1,
                                   inf - 1,
                                   1,
                                   2,
                                   uint64_t{1} << exponent,
                                   inf >> 1 & inf,
                                   inf | (uint64_t{1} << (exponent - 1))};
        bits = values[(bits >> 8) % std::size(values)] | (bits & 128 ? sign : 0);
      }
      std::memcpy(p + i, &bits, size_of(t));
    }
  }
};

struct Case {
  Type type = Type::Float32;
  Op op = Op::Sum;
  int inputs = 2, outputs = 1;
  int64_t n = 0, shift = 0;   // shift: bytes between the starts of buffers modulo 64
  std::vector<int> in_place;  // the output k is the input in_place[k], if that is not negative
  Fill fill = Fill::Numbers;
};

void check(const Case& c, std::mt19937_64& random) {
  std::vector<Buffer> inputs, outputs;
  for (int k = 0; k < c.inputs; ++k) {
    inputs.emplace_back(c.n, c.type, (k + 1) * c.shift % 64);
    inputs.back().fill(c.type, c.fill, random);
  }
  std::vector<Buffer> before = inputs;
  for (int k = 0; k < c.outputs; ++k) outputs.emplace_back(c.n, c.type, (k + 3) * c.shift % 64);
  std::vector<const void*> in, kept;
  std::vector<void*> out;
  for (Buffer& b : inputs) in.push_back(b.data());
  for (Buffer& b : before) kept.push_back(b.memory.data() + b.begin);
  for (int k = 0; k < c.outputs; ++k) {
    const int same = static_cast<size_t>(k) < c.in_place.size() ? c.in_place[static_cast<size_t>(k)] : -1;
    out.push_back(same < 0 ? outputs[static_cast<size_t>(k)].data() : inputs[static_cast<size_t>(same)].data());
  }
  reduce_blocks(c.type, c.op, in.data(), c.inputs, out.data(), c.outputs, c.n);
  const std::string what = std::string(name_of(c.type)) + " " + name_of(c.op) + " of " + std::to_string(c.inputs) +
                           " to " + std::to_string(c.outputs) + ", n " + std::to_string(c.n) + ", shift " +
                           std::to_string(c.shift);
  for (const void* to : out)
    for (int64_t i = 0; i<c.n; i += c.n> 100000 && i > 2000 && i < c.n - 2000 ? 61 : 1) {
      const std::string text = wrong(c.type, c.op, kept, to, i);
      ASSERT_EQ(text, "") << what << " at " << i;
    }
  for (Buffer& b : outputs) ASSERT_TRUE(b.guarded()) << what;
  for (size_t k = 0; k < inputs.size(); ++k) {
    ASSERT_TRUE(inputs[k].guarded()) << what;
    if (std::find(out.begin(), out.end(), inputs[k].data()) == out.end()) {
      ASSERT_EQ(inputs[k].memory, before[k].memory) << what << ": an input that is no output was written";
    }
  }
}

TEST(CollectiveReduce, EveryTypeOperationAndLength) {
  std::mt19937_64 random(1);
  for (Type type : kAllTypes)
    for (Op op : kAllOps)
      for (int64_t n = 0; n <= 70; ++n)
        for (Fill fill : {Fill::Numbers, Fill::Specials}) {
          Case c{.type = type, .op = op, .n = n, .in_place = {}, .fill = fill};
          c.inputs = 1 + static_cast<int>(n % 9);
          c.outputs = 1 + static_cast<int>(n % 3);
          c.shift = n % 5 * static_cast<int64_t>(size_of(type));
          ASSERT_NO_FATAL_FAILURE(check(c, random));
        }
}

TEST(CollectiveReduce, EveryNumberOfInputs) {
  std::mt19937_64 random(2);
  for (Type type : kAllTypes)
    for (Op op : kAllOps)
      for (int inputs = 1; inputs <= 9; ++inputs)
        for (int64_t n : {1, 63, 257, 4099})
          for (Fill fill : {Fill::Numbers, Fill::Specials})
            ASSERT_NO_FATAL_FAILURE(
                check({.type = type, .op = op, .inputs = inputs, .n = n, .in_place = {}, .fill = fill}, random));
}

TEST(CollectiveReduce, ManyArraysAndOddAddresses) {
  std::mt19937_64 random(3);
  for (Type type : kAllTypes) {
    ASSERT_NO_FATAL_FAILURE(check({.type = type, .inputs = 16, .outputs = 16, .n = 1001, .in_place = {}}, random));
    ASSERT_NO_FATAL_FAILURE(check({.type = type, .inputs = 70, .outputs = 70, .n = 37, .in_place = {}}, random));
    // not even at whole elements
    ASSERT_NO_FATAL_FAILURE(
        check({.type = type, .inputs = 3, .outputs = 2, .n = 1001, .shift = 1, .in_place = {}}, random));
  }
}

TEST(CollectiveReduce, OutputsThatAreInputs) {
  std::mt19937_64 random(4);
  for (Type type : kAllTypes)
    for (Op op : kAllOps)
      for (int64_t n : {3, 70, 1500})
        for (int inputs : {1, 2, 5})
          for (int same = 0; same < inputs; ++same) {
            ASSERT_NO_FATAL_FAILURE(
                check({.type = type, .op = op, .inputs = inputs, .n = n, .in_place = {same}}, random));
            ASSERT_NO_FATAL_FAILURE(check(
                {.type = type, .op = op, .inputs = inputs, .outputs = 3, .n = n, .in_place = {-1, same, 0}}, random));
          }
  // all-reduce in place: the outputs are the inputs
  for (Type type : kAllTypes)
    ASSERT_NO_FATAL_FAILURE(
        check({.type = type, .inputs = 4, .outputs = 4, .n = 5003, .in_place = {0, 1, 2, 3}}, random));
}

TEST(CollectiveReduce, BeyondTheCache) {
  // Longer than what stays in any cache that reduce.cpp takes into account: outputs apart are streamed.
  std::mt19937_64 random(5);
  const int64_t bytes = (int64_t{64} << 20) / 5 + 4096;
  for (const auto& [type, shift] : {std::pair{Type::UInt8, 24}, {Type::BFloat16, 0}, {Type::Float32, 24}}) {
    const int64_t n = bytes / static_cast<int64_t>(size_of(type)) + 13;
    ASSERT_NO_FATAL_FAILURE(
        check({.type = type, .inputs = 2, .outputs = 3, .n = n, .shift = shift, .in_place = {-1, 1, -1}}, random));
  }
}

TEST(CollectiveReduce, RoundsOnceAtTheEnd) {
  // 2048 + 1 + 1: rounding every sum to fp16 would stay at 2048. 256 + 1 + 1 the same in bf16.
  const uint16_t half[] = {0x6800, 0x3c00, 0x3c00}, brain[] = {0x4380, 0x3f80, 0x3f80};
  uint16_t out = 0;
  void* to = &out;
  const void* halves[] = {&half[0], &half[1], &half[2]};
  reduce_blocks(Type::Float16, Op::Sum, halves, 3, &to, 1, 1);
  EXPECT_EQ(out, 0x6801);  // 2050
  const void* brains[] = {&brain[0], &brain[1], &brain[2]};
  reduce_blocks(Type::BFloat16, Op::Sum, brains, 3, &to, 1, 1);
  EXPECT_EQ(out, 0x4381);  // 258
  // 65504 + 65504 is infinite in fp16, and in range again after - 65504.
  const uint16_t large[] = {0x7bff, 0x7bff, 0xfbff};
  const void* larges[] = {&large[0], &large[1], &large[2]};
  reduce_blocks(Type::Float16, Op::Sum, larges, 2, &to, 1, 1);
  EXPECT_EQ(out, 0x7c00);
  reduce_blocks(Type::Float16, Op::Sum, larges, 3, &to, 1, 1);
  EXPECT_EQ(out, 0x7bff);
}

// The kernels for weaker CPUs too: this program again, since the choice is made once a process.
TEST(CollectiveReduce, OnOtherInstructionSets) {
  for (const char* isa : {"v2", "v3"}) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      setenv("UPDRAFT_MAX_ISA", isa, 1);
      execl("/proc/self/exe", "updraft_unit", "--gtest_filter=CollectiveReduce.*-*OnOtherInstructionSets",
            "--gtest_brief=1", nullptr);
      _exit(127);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "with UPDRAFT_MAX_ISA=" << isa;
  }
}

}  // namespace
}  // namespace updraft::collective
