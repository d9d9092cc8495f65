// Adagrad by dual averaging: weights follow from the sums of all gradients and of their squares.
#include <cmath>

#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/ir/shapes.h"

namespace updraft {

ABOUT(ApplyAdagradDA, Vector, "One step of Adagrad by dual averaging", "对偶平均 Adagrad 单步更新")
IR_OP(ApplyAdagradDA, ApplyAdagradDA, (InOut, var), (InOut, gradient_accumulator),
      (InOut, gradient_squared_accumulator), (In, grad), (In, lr), (In, l1), (In, l2), (In, global_step),
      (Bool, use_locking, false)) {
  (void)use_locking;
  for (const auto& [name, v] : {std::pair{"gradient_accumulator", *gradient_accumulator},
                                {"gradient_squared_accumulator", *gradient_squared_accumulator},
                                {"grad", *grad}})
    op.require_same_shape(name, v, "var", *var);
  for (const In& one : {lr, l1, l2, global_step})
    op.require(one->numel() == 1, "a rate or the step is {}, want one number", describe(*one));
  op.require(is_floating(var->dtype), "var is {}, want numbers with a fraction", describe(*var));
  op.work(var->numel() * 8);
  op.launch([to = *var, sum = *gradient_accumulator, squares = *gradient_squared_accumulator, by = *grad, rate = *lr,
             first = *l1, second = *l2, step = *global_step] {
    const double r = gathered<double>(rate)[0], a = gathered<double>(first)[0], b = gathered<double>(second)[0],
                 n = gathered<double>(step)[0];
    const std::vector<double> g = gathered<double>(by);
    std::vector<double> s = gathered<double>(sum), q = gathered<double>(squares), w(g.size());
    parallel_for(to.numel(), 4096, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        s[i] += g[i];
        q[i] += g[i] * g[i];
        const double left = a > 0 ? std::copysign(std::max(std::abs(s[i]) - a * n, 0.0), s[i]) : s[i];
        w[i] = -r * left / (b * n * r + std::sqrt(q[i]));
      }
    });
    write_all(sum, s);
    write_all(squares, q);
    write_all(to, w);
  });
}

}  // namespace updraft
