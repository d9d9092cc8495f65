// Connectionist temporal classification as TensorFlow has it: of scores that nobody has normalised, with labels in a
// sparse tensor and the blank behind all classes.
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/index/indices.h"
#include "ops/ir/shapes.h"
#include "ops/linalg/dense.h"

namespace updraft {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

double log_sum(double a, double b) {
  const double most = std::max(a, b);
  return most == kNever ? kNever : most + std::log1p(std::exp(std::min(a, b) - most));
}

struct Rules {
  bool collapse, merge, ignore;
};

/// The labels of each sequence.
std::vector<std::vector<int64_t>> labels_of(const TensorView& indices, const TensorView& values, int64_t sequences,
                                            int64_t classes, bool collapse) {
  const std::vector<int64_t> at = integers_of(indices), all = integers_of(values);
  std::vector<std::vector<int64_t>> labels(static_cast<size_t>(sequences));
  for (size_t i = 0; i < all.size(); ++i) {
    if (at[2 * i] < 0 || at[2 * i] >= sequences)
      fail_kernel(fmt::format("ctc_loss: labels_indices has sequence {} of {}", at[2 * i], sequences));
    if (all[i] < 0 || all[i] >= classes - 1)
      fail_kernel(fmt::format("ctc_loss: labels_values has {}, want 0 to {}", all[i], classes - 2));
    auto& own = labels[static_cast<size_t>(at[2 * i])];
    if (!collapse || own.empty() || own.back() != all[i]) own.push_back(all[i]);
  }
  return labels;
}

/// Paths of one sequence through its labels, with blanks between them.
class Paths {
 public:
  /// chances: logarithms, [time, classes].
  Paths(const std::vector<int64_t>& labels, const std::vector<double>& chances, int64_t time, int64_t classes,
        bool merge)
      : chances_(chances), time_(time), classes_(classes), merge_(merge), states_(2 * labels.size() + 1, classes - 1) {
    for (size_t i = 0; i < labels.size(); ++i) states_[2 * i + 1] = labels[i];
  }
  /// The loss; gradient [time, classes] gets what each class takes of all paths, or stays 0 where there is none.
  double run(std::vector<double>& gradient) {
    const size_t n = states_.size(), steps = static_cast<size_t>(time_);
    std::vector<double> forth(n * steps, kNever), back(n * steps, kNever);
    forth[0] = chance(0, 0);
    if (n > 1) forth[1] = chance(0, 1);
    for (size_t t = 1; t < steps; ++t)
      for (size_t u = 0; u < n; ++u) {
        const double* before = forth.data() + (t - 1) * n;
        double sum = stays(u) ? before[u] : kNever;
        if (u > 0) sum = log_sum(sum, before[u - 1]);
        if (u > 1 && skips(u - 2)) sum = log_sum(sum, before[u - 2]);
        forth[t * n + u] = sum + chance(t, u);
      }
    back[(steps - 1) * n + n - 1] = 0;
    if (n > 1) back[(steps - 1) * n + n - 2] = 0;
    for (size_t t = steps - 1; t-- > 0;)
      for (size_t u = 0; u < n; ++u) {
        const double* behind = back.data() + (t + 1) * n;
        double sum = stays(u) ? behind[u] + chance(t + 1, u) : kNever;
        if (u + 1 < n) sum = log_sum(sum, behind[u + 1] + chance(t + 1, u + 1));
        if (u + 2 < n && skips(u)) sum = log_sum(sum, behind[u + 2] + chance(t + 1, u + 2));
        back[t * n + u] = sum;
      }
    double all = kNever;
    for (size_t u = 0; u < n; ++u) all = log_sum(all, forth[u] + back[u]);
    if (all == kNever) return -all;
    for (size_t t = 0; t < steps; ++t)
      for (size_t u = 0; u < n; ++u)
        gradient[t * static_cast<size_t>(classes_) + static_cast<size_t>(states_[u])] +=
            std::exp(forth[t * n + u] + back[t * n + u] - all);
    return -all;
  }

 private:
  bool blank(size_t u) const { return states_[u] == classes_ - 1; }
  /// Whether a path may be at u twice in turn: repeated labels are one where they are merged.
  bool stays(size_t u) const { return merge_ || blank(u); }
  /// Whether a path may go on from u without the blank behind it.
  bool skips(size_t u) const { return !blank(u) && !(merge_ && states_[u] == states_[u + 2]); }
  double chance(size_t t, size_t u) const {
    return chances_[t * static_cast<size_t>(classes_) + static_cast<size_t>(states_[u])];
  }

  const std::vector<double>& chances_;
  const int64_t time_, classes_;
  const bool merge_;
  std::vector<int64_t> states_;
};

void loss_of(const std::vector<double>& scores, const std::vector<int64_t>& labels, int64_t time, int64_t sequences,
             int64_t n, int64_t classes, const Rules& rules, double* loss, double* gradient) {
  if (time == 0) return;
  if (static_cast<int64_t>(labels.size()) > time) {
    if (rules.ignore) return;
    fail_kernel(fmt::format("ctc_loss: sequence {} has {} labels and {} steps of time, want as many or more", n,
                            labels.size(), time));
  }
  std::vector<double> chances(static_cast<size_t>(time * classes)), taken(chances.size(), 0.0);
  for (int64_t t = 0; t < time; ++t) {
    const double* from = scores.data() + (t * sequences + n) * classes;
    double most = kNever, sum = 0;
    for (int64_t c = 0; c < classes; ++c) most = std::max(most, from[c]);
    for (int64_t c = 0; c < classes; ++c) sum += std::exp(from[c] - most);
    for (int64_t c = 0; c < classes; ++c)
      chances[static_cast<size_t>(t * classes + c)] = from[c] - most - std::log(sum);
  }
  *loss = Paths(labels, chances, time, classes, rules.merge).run(taken);
  for (int64_t t = 0; t < time; ++t)
    for (int64_t c = 0; c < classes; ++c) {
      const auto i = static_cast<size_t>(t * classes + c);
      gradient[(t * sequences + n) * classes + c] = std::exp(chances[i]) - taken[i];
    }
}

std::vector<int64_t> lengths_of(const TensorView& view, int64_t most) {
  std::vector<int64_t> lengths = integers_of(view);
  for (int64_t l : lengths)
    if (l < 0 || l > most) fail_kernel(fmt::format("ctc: sequence_length has {}, want 0 to {}", l, most));
  return lengths;
}
void require_sequences(const Op& op, const In& inputs, const In& sequence_length) {
  op.require(inputs->rank == 3 && is_floating(inputs->dtype) && inputs->dims[2] > 0,
             "inputs is {}, want numbers with a fraction [time, sequences, classes]", describe(*inputs));
  op.require(sequence_length->rank == 1 && sequence_length->dims[0] == inputs->dims[1],
             "sequence_length is {}, want {} values", describe(*sequence_length), inputs->dims[1]);
}

}  // namespace

ABOUT(CTCLoss, AICPU, "CTC loss of scores [time, sequences, classes], and its gradient; the last class is the blank",
      "CTC 损失及其梯度，末类为空白符")
IR_OP(CTCLoss, CTCLoss, (In, inputs), (In, labels_indices), (In, labels_values), (In, sequence_length), (Out, loss),
      (Out, gradient), (Bool, preprocess_collapse_repeated, false), (Bool, ctc_merge_repeated, true),
      (Bool, ignore_longer_outputs_than_inputs, false)) {
  require_sequences(op, inputs, sequence_length);
  op.require(labels_indices->rank == 2 && labels_indices->dims[1] == 2 && labels_values->rank == 1 &&
                 labels_values->dims[0] == labels_indices->dims[0],
             "labels_indices is {} and labels_values {}, want [labels, 2] and a value for each",
             describe(*labels_indices), describe(*labels_values));
  op.result("loss", *loss, {inputs->dims[1]}, inputs->dtype);
  op.result_like("gradient", *gradient, *inputs, inputs->dtype);
  op.work(inputs->numel() * 64);
  op.launch([x = *inputs, indices = *labels_indices, values = *labels_values, lengths = *sequence_length,
             to_loss = *loss, to_gradient = *gradient,
             rules = Rules{preprocess_collapse_repeated, ctc_merge_repeated, ignore_longer_outputs_than_inputs}] {
    const int64_t sequences = x.dims[1], classes = x.dims[2];
    const std::vector<double> scores = linalg::gather(x);
    const std::vector<int64_t> time = lengths_of(lengths, x.dims[0]);
    const auto labels = labels_of(indices, values, sequences, classes, rules.collapse);
    std::vector<double> losses(static_cast<size_t>(sequences), 0.0), gradients(scores.size(), 0.0);
    parallel_for(sequences, 1, [&](int64_t begin, int64_t end) {
      for (; begin < end; ++begin) {
        const auto n = static_cast<size_t>(begin);
        loss_of(scores, labels[n], time[n], sequences, begin, classes, rules, &losses[n], gradients.data());
      }
    });
    linalg::scatter(to_loss, losses);
    linalg::scatter(to_gradient, gradients);
  });
}

ABOUT(CTCGreedyDecoder, AICPU, "The likeliest class of each step, without blanks, as a sparse tensor",
      "逐步取最可能类别并去除空白符，结果为稀疏张量")
IR_OP(CTCGreedyDecoder, CTCGreedyDecoder, (In, inputs), (In, sequence_length), (Out, decoded_indices),
      (Out, decoded_values), (Out, decoded_shape), (Out, log_probability), (Bool, merge_repeated, false)) {
  require_sequences(op, inputs, sequence_length);
  const int64_t most = inputs->dims[0] * inputs->dims[1], pairs[] = {most, 2};
  op.suggest_up_to(*decoded_indices, pairs, 2, DType::Int64, 0);
  op.suggest_up_to(*decoded_values, &most, 1, DType::Int64, 0);
  op.result("decoded_shape", *decoded_shape, {2}, DType::Int64);
  op.result("log_probability", *log_probability, {inputs->dims[1], 1}, inputs->dtype);
  if (op.inferring()) return;
  for (const Out& out : {decoded_indices, decoded_values})
    op.require(out->dtype == DType::Int64 && out->is_contiguous(), "an output is {}, want contiguous INT64",
               describe(*out));
  op.require(decoded_indices->numel() >= 2 * most && decoded_values->numel() >= most,
             "decoded_indices is {} and decoded_values {}, want room for {} classes", describe(*decoded_indices),
             describe(*decoded_values), most);
  op.work(inputs->numel() * 2);
  op.launch([=, x = *inputs, lengths = *sequence_length, indices = decoded_indices->as<int64_t>(),
             values = decoded_values->as<int64_t>(), shape = *decoded_shape, chances = *log_probability,
             found_indices = ResultShape(decoded_indices.handle), found_values = ResultShape(decoded_values.handle)] {
    const int64_t sequences = x.dims[1], classes = x.dims[2];
    const std::vector<double> scores = linalg::gather(x);
    const std::vector<int64_t> time = lengths_of(lengths, x.dims[0]);
    std::vector<double> sums(static_cast<size_t>(sequences), 0.0);
    int64_t count = 0, longest = 0;
    for (int64_t n = 0; n < sequences; ++n) {
      int64_t last = -1, length = 0;
      for (int64_t t = 0; t < time[static_cast<size_t>(n)]; ++t) {
        const double* from = scores.data() + (t * sequences + n) * classes;
        const int64_t best = std::max_element(from, from + classes) - from;
        sums[static_cast<size_t>(n)] -= from[best];
        if (best != classes - 1 && !(merge_repeated && best == last)) {
          indices[2 * count] = n, indices[2 * count + 1] = length++;
          values[count++] = best;
        }
        last = best;
      }
      longest = std::max(longest, length);
    }
    linalg::scatter(chances, sums);
    write_all(shape, std::vector<int64_t>{sequences, longest});
    found_indices.set({count, 2});
    found_values.set({count});
  });
}

}  // namespace updraft
