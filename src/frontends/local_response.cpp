#include "frontends/emitter.h"

namespace updraft::frontends {

Endpoint local_response_base(Emitter& c, Endpoint x, int64_t size, double alpha, double bias) {
  const int64_t rank = c.rank(x);
  c.require(size > 0 && size < 1024 && rank >= 2, "{} channels are summed up, the input is {}", size,
            describe(c.desc(x)));
  Dims pads(static_cast<size_t>(2 * rank), 0);
  pads[2] = (size - 1) / 2;
  pads[3] = size - 1 - pads[2];
  const Endpoint around = c.emit("PadV3", {c.emit("Square", {x}), c.ints(pads), nullptr}, {{"mode", "constant"}});
  Endpoint sum;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t end = i - size + 1;
    const Endpoint part = c.slice(around, {i}, {end == 0 ? INT64_MAX : end}, {1});
    sum = sum ? c.add(sum, part) : part;
  }
  return c.add(c.mul(sum, alpha / static_cast<double>(size)), bias);
}

}  // namespace updraft::frontends
