// What is summed of each element: itself, its square, its magnitude. For numbers and for vectors of them.
#pragma once

namespace updraft::UPDRAFT_ISA {

struct Plain {
  template <class V>
  static V of(V v) {
    return v;
  }
};
struct Square {
  template <class V>
  static V of(V v) {
    return v * v;
  }
};
struct Magnitude {
  template <class V>
  static V of(V v) {
    return v < 0 ? -v : v;
  }
};

}  // namespace updraft::UPDRAFT_ISA
