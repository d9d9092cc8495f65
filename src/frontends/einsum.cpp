// Einstein's notation as products of matrices in batches.
#include <algorithm>

#include "frontends/emitter.h"

namespace updraft::frontends {
namespace {

/// The labels of an operand of an equation; dimensions behind "..." have the digits of their places from the end.
std::string labels_of(Emitter& c, std::string_view term, int64_t rank) {
  std::string labels;
  const size_t dots = term.find("...");
  const auto spelled = static_cast<int64_t>(term.size()) - (dots == std::string_view::npos ? 0 : 3);
  c.require(dots == std::string_view::npos ? spelled == rank : spelled <= rank && rank - spelled < 10,
            "\"{}\" is written for an input of {} dimensions", term, rank);
  for (size_t i = 0; i < term.size(); ++i) {
    if (i != dots) {
      labels += term[i];
      continue;
    }
    for (int64_t d = rank - spelled; d > 0; --d) labels += static_cast<char>('0' + d - 1);
    i += 2;
  }
  return labels;
}

struct Term {
  Endpoint tensor;
  std::string labels;
};
/// A label that stands twice takes the diagonal of its two dimensions: what is off it is masked away, and summed.
Term without_repeats(Emitter& c, Term t) {
  for (size_t d = 0; d < t.labels.size(); ++d) {
    const size_t other = t.labels.find(t.labels[d], d + 1);
    if (other == std::string::npos) continue;
    const auto count = static_cast<int64_t>(t.labels.size());
    auto places = [&](size_t dimension) {
      const auto at = static_cast<int64_t>(dimension);
      const Endpoint n = c.gather(c.shape(t.tensor), c.integer_scalar(at), 0);
      Dims others;
      for (int64_t i = 0; i < count; ++i)
        if (i != at) others.push_back(i);
      return c.unsqueeze(c.emit("Range", {c.integer_scalar(0), n, c.integer_scalar(1)}), others);
    };
    const Endpoint on = c.emit("Equal", {places(d), places(other)});
    const Endpoint kept = c.emit("SelectV2", {on, t.tensor, c.scalar_like(0, t.tensor)});
    t.tensor = c.emit("ReduceSum", {kept, c.ints({static_cast<int64_t>(other)})});
    t.labels.erase(other, 1);
    --d;  // it may stand there once more
  }
  return t;
}
/// The dimensions that nobody needs any more are summed up.
Term summed(Emitter& c, Term t, const std::string& needed) {
  Dims axes;
  std::string kept;
  for (size_t d = 0; d < t.labels.size(); ++d) {
    if (needed.find(t.labels[d]) == std::string::npos) axes.push_back(static_cast<int64_t>(d));
    else kept += t.labels[d];
  }
  if (!axes.empty()) t.tensor = c.emit("ReduceSum", {t.tensor, c.ints(axes)});
  return {t.tensor, kept};
}
Term turned(Emitter& c, const Term& t, const std::string& labels) {
  Dims order;
  for (char l : labels) order.push_back(static_cast<int64_t>(t.labels.find(l)));
  return t.labels == labels ? t : Term{c.transpose(t.tensor, order), labels};
}
/// Two operands as one product of matrices in batches.
Term contracted(Emitter& c, Term a, Term b, const std::string& needed) {
  auto in = [](const std::string& labels, char l) { return labels.find(l) != std::string::npos; };
  a = summed(c, a, needed + b.labels);
  b = summed(c, b, needed + a.labels);
  std::string batch, inner, left, right;
  for (char l : a.labels) (in(b.labels, l) ? (in(needed, l) ? batch : inner) : left) += l;
  for (char l : b.labels)
    if (!in(a.labels, l)) right += l;
  const Term x = turned(c, a, batch + left + inner), y = turned(c, b, batch + inner + right);
  // Sizes may be computed while the graph runs.
  auto size = [&](const Term& t, char l) {
    const auto d = static_cast<int64_t>(t.labels.find(l)), n = c.dims(t.tensor)[static_cast<size_t>(d)];
    return n >= 0 ? c.ints({n}) : c.gather(c.shape(t.tensor), c.ints({d}), 0);
  };
  auto product = [&](const Term& t, const std::string& labels) {
    Endpoint n;
    for (char l : labels) n = n ? c.mul(n, size(t, l)) : size(t, l);
    return n ? n : c.ints({1});
  };
  auto shaped = [&](const Term& t, Endpoint rows, Endpoint columns) {
    std::vector<Endpoint> to;
    for (char l : batch) to.push_back(size(t, l));
    to.push_back(rows);
    to.push_back(columns);
    return c.reshape(t.tensor, c.concat(to, 0));
  };
  const Endpoint k = product(x, inner);
  const Endpoint z = c.emit("BatchMatMulV2", {shaped(x, product(x, left), k), shaped(y, k, product(y, right))});
  std::vector<Endpoint> dims;
  for (char l : batch) dims.push_back(c.emit("Maximum", {size(x, l), size(y, l)}));
  for (char l : left) dims.push_back(size(x, l));
  for (char l : right) dims.push_back(size(y, l));
  return {c.reshape(z, dims.empty() ? c.ints({}) : c.concat(dims, 0)), batch + left + right};
}

}  // namespace

Endpoint einsum(Emitter& c, std::string equation, const std::vector<Endpoint>& inputs) {
  c.require(!inputs.empty(), "there are no inputs");
  std::erase(equation, ' ');
  const size_t arrow = equation.find("->");
  std::vector<Term> terms;
  std::string spelled;  // the labels of all inputs
  std::string_view rest = std::string_view(equation).substr(0, arrow);
  int64_t most = 0;  // dimensions behind "..."
  for (size_t i = 0; i < inputs.size(); ++i) {
    const size_t comma = rest.find(',');
    c.require((comma == std::string_view::npos) == (i + 1 == inputs.size()), "\"{}\" is not written for {} inputs",
              equation, inputs.size());
    const std::string_view term = rest.substr(0, comma);
    const std::string labels = labels_of(c, term, c.rank(inputs[i]));
    spelled += labels;
    terms.push_back(without_repeats(c, {inputs[i], labels}));
    if (term.find("...") != std::string_view::npos)
      most = std::max(most, c.rank(inputs[i]) - static_cast<int64_t>(term.size()) + 3);
    if (comma != std::string_view::npos) rest.remove_prefix(comma + 1);
  }
  std::string out;
  if (arrow != std::string::npos) {
    const std::string_view wanted = std::string_view(equation).substr(arrow + 2);
    const bool dots = wanted.find("...") != std::string_view::npos;
    out = labels_of(c, wanted, static_cast<int64_t>(wanted.size()) - (dots ? 3 - most : 0));
  } else {  // what stands once, in order
    for (int64_t d = most; d > 0; --d) out += static_cast<char>('0' + d - 1);
    for (char l = 'A'; l <= 'z'; ++l)
      if (std::count(spelled.begin(), spelled.end(), l) == 1) out += l;
  }
  for (size_t i = 0; i < out.size(); ++i)
    c.require(out.find(out[i], i + 1) == std::string::npos, "\"{}\": the output names {} twice", equation, out[i]);
  while (terms.size() > 1) {
    std::string needed = out;
    for (size_t i = 2; i < terms.size(); ++i) needed += terms[i].labels;
    terms[0] = contracted(c, terms[0], terms[1], needed);
    terms.erase(terms.begin() + 1);
  }
  const Term y = summed(c, terms[0], out);
  for (char l : out) c.require(y.labels.find(l) != std::string::npos, "\"{}\": no input has {}", equation, l);
  return turned(c, y, out).tensor;
}

}  // namespace updraft::frontends
