#include "ops/index/order.h"

#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/table.h"

namespace updraft {
namespace {

// A key and the position it came from; unique, so that every way to sort them gives the same.
struct Wide {
  uint64_t key;
  int64_t at;
  bool operator<(const Wide& o) const { return key != o.key ? key < o.key : at < o.at; }
};
// 32 bits of key over 32 bits of position.
using Narrow = uint64_t;

inline uint64_t key_bits(Narrow e) { return e >> 32; }
inline uint64_t key_bits(const Wide& e) { return e.key; }
inline int64_t place(Narrow e) { return static_cast<int64_t>(e & 0xffffffffu); }
inline int64_t place(const Wide& e) { return e.at; }

template <class E>
E entry(uint64_t key, int64_t at) {
  if constexpr (std::is_same_v<E, Narrow>) return key << 32 | static_cast<uint64_t>(at);
  else return Wide{key, at};
}

template <class T>
constexpr bool has_vector_keys = std::is_same_v<T, float> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

/// Positions [begin, end) of the line to a[begin], ...
template <class T, class E>
void entries(const T* line, int64_t stride, int64_t begin, int64_t end, typename KeyOf<T>::Key flip, E* a) {
  if constexpr (has_vector_keys<T> && std::is_same_v<E, Narrow>) {
    if (stride == 1) {
      constexpr int64_t kStep = 256;
      uint32_t keys[kStep];
      for (int64_t i = begin; i < end; i += kStep) {
        const int64_t n = std::min(kStep, end - i);
        kernels().order_keys(DTypeOf<T>::value, line + i, n, flip, keys);
        for (int64_t j = 0; j < n; ++j) a[i + j] = entry<E>(keys[j], i + j);
      }
      return;
    }
  }
  for (int64_t i = begin; i < end; ++i)
    a[i] = entry<E>(static_cast<typename KeyOf<T>::Key>(key_of(line[i * stride]) ^ flip), i);
}

constexpr int kBits = 11;
constexpr int64_t kBuckets = 1 << kBits;

// Least significant digit first; chunks are by position and each scatters behind those before it.
template <class E>
E* radix_sort(E* from, E* to, int64_t n) {
  constexpr int kKeyBits = std::is_same_v<E, Narrow> ? 32 : 64;
  const int64_t chunks = n < 65536 ? 1 : parallel_width();
  std::vector<int64_t> count(static_cast<size_t>(chunks * kBuckets));
  for (int shift = 0; shift < kKeyBits; shift += kBits) {
    std::fill(count.begin(), count.end(), 0);
    parallel_for(chunks, 1, [&](int64_t b, int64_t e) {
      for (; b < e; ++b) {
        int64_t* c = count.data() + b * kBuckets;
        for (int64_t i = n * b / chunks; i < n * (b + 1) / chunks; ++i)
          ++c[key_bits(from[i]) >> shift & (kBuckets - 1)];
      }
    });
    int64_t sum = 0;
    bool single = false;
    for (int64_t k = 0; k < kBuckets && !single; ++k) {
      const int64_t before = sum;
      for (int64_t b = 0; b < chunks; ++b) sum += std::exchange(count[static_cast<size_t>(b * kBuckets + k)], sum);
      single = sum - before == n;
    }
    if (single) continue;  // all have this digit
    parallel_for(chunks, 1, [&](int64_t b, int64_t e) {
      for (; b < e; ++b) {
        int64_t* c = count.data() + b * kBuckets;
        for (int64_t i = n * b / chunks; i < n * (b + 1) / chunks; ++i)
          to[c[key_bits(from[i]) >> shift & (kBuckets - 1)]++] = from[i];
      }
    });
    std::swap(from, to);
  }
  return from;
}

template <class T, class E>
void sort_as(const T* line, int64_t stride, int64_t n, bool descending, int64_t* order) {
  ScratchScope scratch;
  E* a = scratch.take<E>(static_cast<size_t>(n));
  using Key = typename KeyOf<T>::Key;
  const Key flip = descending ? ~Key{0} : Key{0};
  parallel_for(n, 65536, [&](int64_t b, int64_t e) { entries(line, stride, b, e, flip, a); });
  if (n < 1024) {
    std::sort(a, a + n);
  } else {
    a = radix_sort(a, scratch.take<E>(static_cast<size_t>(n)), n);
  }
  for (int64_t i = 0; i < n; ++i) order[i] = place(a[i]);
}

// A key below which the k first of n elements lie, or all of them: there are k lanes with a key up to it. 0: not known.
constexpr int64_t kStep = 256;
template <class T>
uint32_t limit_of(const T* line, int64_t n, int64_t k, uint32_t flip) {
  constexpr int64_t kFew = 64;
  const int64_t lanes = 4 * k <= kFew ? kFew : kStep;
  if (4 * k > kStep || n < 4 * kStep) return 0;
  uint32_t first[kStep], keys[kStep];
  kernels().order_keys(DTypeOf<T>::value, line, kStep, flip, first);
  for (int64_t i = kStep; i + kStep <= n; i += kStep) {
    kernels().order_keys(DTypeOf<T>::value, line + i, kStep, flip, keys);
    for (int64_t j = 0; j < kStep; ++j) first[j] = std::min(first[j], keys[j]);
  }
  for (int64_t i = lanes; i < kStep; i += lanes)
    for (int64_t j = 0; j < lanes; ++j) first[j] = std::min(first[j], first[i + j]);
  std::nth_element(first, first + k - 1, first + lanes);
  return first[k - 1] + 1;
}

// The k first entries of positions [begin, end), in no order, to items, which has room for 2 k + kMargin. Candidates
// are cut back to the k best whenever there are many. Their number.
constexpr int64_t kMargin = 64 + kStep;
template <class T, class E>
int64_t best_of(const T* line, int64_t stride, int64_t begin, int64_t end, int64_t k, typename KeyOf<T>::Key flip,
                E* items) {
  using Key = typename KeyOf<T>::Key;
  Key limit = 0;
  bool open = true;
  int64_t size = 0;
  auto cut = [&] {
    if (size <= k) return;
    std::nth_element(items, items + k - 1, items + size);
    size = k;
    limit = static_cast<Key>(key_bits(items[k - 1]));
    open = false;
  };
  if constexpr (has_vector_keys<T> && std::is_same_v<E, Narrow>) {
    if (stride == 1) limit = limit_of(line + begin, end - begin, k, flip);
    open = limit == 0;
  }
  for (int64_t i = begin; i < end; i += kStep) {
    const int64_t n = std::min(kStep, end - i);
    if constexpr (has_vector_keys<T> && std::is_same_v<E, Narrow>) {
      if (stride == 1) {
        size += kernels().keys_below(DTypeOf<T>::value, line + i, n, flip, open, limit, i, items + size);
        if (size >= 2 * k + 64) cut();
        continue;
      }
    }
    for (int64_t j = i; j < i + n; ++j) {
      const Key key = static_cast<Key>(key_of(line[j * stride]) ^ flip);
      // Later positions lose to equal ones before them.
      if (open || key < limit) items[size++] = entry<E>(key, j);
    }
    if (size >= 2 * k + 64) cut();
  }
  cut();
  return size;
}

template <class T, class E>
void top_as(const T* line, int64_t stride, int64_t n, int64_t k, bool largest, int64_t* order) {
  using Key = typename KeyOf<T>::Key;
  const Key flip = largest ? ~Key{0} : Key{0};
  constexpr int64_t kBlock = 1 << 16;
  const int64_t blocks = (n + kBlock - 1) / kBlock;
  ScratchScope scratch;
  if (k * 4 > std::min(n, kBlock)) {
    // A large part: all of it.
    E* a = scratch.take<E>(static_cast<size_t>(n));
    entries(line, stride, 0, n, flip, a);
    if (k < n) std::nth_element(a, a + k, a + n);
    std::sort(a, a + k);
    for (int64_t i = 0; i < k; ++i) order[i] = place(a[i]);
    return;
  }
  const int64_t room = 2 * k + kMargin;
  E* all = scratch.take<E>(static_cast<size_t>(blocks * room));
  int64_t size = 0;
  if (blocks == 1) {
    size = best_of<T, E>(line, stride, 0, n, k, flip, all);
  } else {
    int64_t* found = scratch.take<int64_t>(static_cast<size_t>(blocks));
    parallel_for(blocks, 1, [&](int64_t b, int64_t e) {
      for (; b < e; ++b)
        found[b] = best_of<T, E>(line, stride, b * kBlock, std::min(n, (b + 1) * kBlock), k, flip, all + b * room);
    });
    for (int64_t b = 0; b < blocks; ++b) {
      std::copy_n(all + b * room, found[b], all + size);
      size += found[b];
    }
  }
  if (k < size) std::nth_element(all, all + k, all + size);
  std::sort(all, all + k);
  for (int64_t i = 0; i < k; ++i) order[i] = place(all[i]);
}

template <class F>
void visit_ordered(DType t, F&& f) {
  bool known = false;
  (void)visit_type(t, [&]<class T>() {
    if constexpr (!std::is_same_v<T, complex64> && !std::is_same_v<T, complex128>) {
      f.template operator()<T>();
      known = true;
    }
  });
  if (!known) no_such_type(t, "an order");
}

}  // namespace

bool is_ordered(DType t) { return is_floating(t) || is_integral(t, true); }

size_t sort_bytes(DType t, int64_t n) {
  size_t bytes = 0;
  visit_ordered(t, [&]<class T>() {
    const bool narrow = sizeof(typename KeyOf<T>::Key) == 4 && n < int64_t{1} << 32;
    bytes = static_cast<size_t>(n) * (narrow ? sizeof(Narrow) : sizeof(Wide)) * (n < 1024 ? 1 : 2);
  });
  return bytes;
}

void sort_line(DType t, const void* line, int64_t stride, int64_t n, bool descending, int64_t* order) {
  visit_ordered(t, [&]<class T>() {
    const T* from = static_cast<const T*>(line);
    if constexpr (sizeof(typename KeyOf<T>::Key) == 4) {
      if (n < int64_t{1} << 32) return sort_as<T, Narrow>(from, stride, n, descending, order);
    }
    sort_as<T, Wide>(from, stride, n, descending, order);
  });
}

void top_of_line(DType t, const void* line, int64_t stride, int64_t n, int64_t k, bool largest, int64_t* order) {
  if (k == 0) return;
  visit_ordered(t, [&]<class T>() {
    const T* from = static_cast<const T*>(line);
    if constexpr (sizeof(typename KeyOf<T>::Key) == 4) {
      if (n < int64_t{1} << 32) return top_as<T, Narrow>(from, stride, n, k, largest, order);
    }
    top_as<T, Wide>(from, stride, n, k, largest, order);
  });
}

}  // namespace updraft
