#include "ops/rnn/network.h"

#include <cmath>
#include <cstring>

#include "base/scratch.h"
#include "kernels/pipeline.h"
#include "tensor/real_types.h"

namespace updraft {
namespace {

/// Zeros that a layer hands to the next, [steps, batch, directions * hidden].
TensorView between_view(const RnnNetwork& net, void* data) {
  const int64_t dims[] = {net.x.dims[0], net.x.dims[1], net.directions * net.params[1].dims[1]};
  return TensorView::contiguous(data, wide_type(net.x.dtype), dims, 3);
}
TensorView between(const RnnNetwork& net, ScratchScope& scratch) {
  void* data = scratch.take(between_view(net, nullptr).bytes());
  std::memset(data, 0, between_view(net, nullptr).bytes());
  return between_view(net, data);
}

/// The views of a list; empty for an absent one.
template <class List>
std::vector<TensorView> views_of(const List& list) {
  std::vector<TensorView> views;
  if (!list.handle) return views;
  for (size_t i = 0; i < list.size(); ++i) views.push_back(list.item(i) ? list[i] : TensorView());
  return views;
}

// torch_npu packs sequences but keeps the padding: every step has as many rows as the first.
constexpr const char* kPackOnNpu =
    "a packed sequence keeps its padding on the NPU: move the padded tensor to the NPU first, then call "
    "pack_padded_sequence there (one packed on the CPU has other rows)";

const TensorView* packed_of(const RnnNetwork& net) { return net.batch_sizes.rank ? &net.batch_sizes : nullptr; }

void suggest_states(const Op& op, const RnnNetwork& net, std::initializer_list<const TensorView*> states) {
  for (const TensorView* state : states)
    op.suggest(*state, {net.cells(), net.x.dims[1], net.params[1].dims[1]}, net.x.dtype);
}

int64_t cost(const RnnNetwork& net) { return net.x.dims[0] * net.x.dims[1] * net.params[0].numel() * net.layers; }

/// The input of a network as [steps, batch, input]: swapped when the batch is first, cut when it is packed.
TensorView time_major(const Op& op, const TensorView& v, bool batch_first, const TensorView* batch_sizes) {
  if (batch_sizes && v.rank == 2) {
    const int64_t steps = batch_sizes->numel();
    op.require(steps > 0 && v.dims[0] % steps == 0, "{} rows are not a multiple of {} steps; {}", v.dims[0], steps,
               kPackOnNpu);
    TensorView cut = v;
    cut.rank = 3;
    cut.dims[0] = steps;
    cut.dims[1] = v.dims[0] / steps;
    cut.dims[2] = v.dims[1];
    cut.strides[0] = v.strides[0] * cut.dims[1];
    cut.strides[1] = v.strides[0];
    cut.strides[2] = v.strides[1];
    return cut;
  }
  op.require(v.rank == 3, "a sequence is {}, want 3 dimensions", describe(v));
  return batch_first && !batch_sizes ? v.transpose(0, 1) : v;
}

}  // namespace

RnnNetwork network_of(const Op& op, const TensorView& input, const Tensors& params, const OptIn& batch_sizes,
                      bool biases, int64_t layers, bool bidirectional, bool batch_first) {
  RnnNetwork net;
  net.biases = biases;
  net.layers = layers;
  net.directions = bidirectional ? 2 : 1;
  net.batch_first = batch_first;
  if (batch_sizes && !batch_sizes->empty()) net.batch_sizes = *batch_sizes;
  net.x = time_major(op, input, batch_first, packed_of(net));
  net.params = views_of(params);
  return net;
}

void set_dropout(const Op& op, RnnNetwork& net, double dropout, bool train) {
  op.require(dropout >= 0 && dropout <= 1, "dropout is {}, want 0 to 1", dropout);
  if (train && net.layers > 1) net.dropout = dropout;
}

void suggest_network(const Op& op, const RnnNetwork& net, const TensorView& input, const TensorView& output,
                     std::initializer_list<const TensorView*> states, std::initializer_list<OptTensors> saved) {
  if (!op.inferring()) return;
  const int64_t hidden = net.params[1].dims[1];
  TensorView wide = input;
  wide.dims[input.rank - 1] = net.directions * hidden;
  op.suggest_like(output, wide, input.dtype);
  suggest_states(op, net, states);
  for (const OptTensors& list : saved)
    for (size_t i = 0; i < list.size(); ++i)
      if (list.item(i)) op.suggest(list[i], {net.x.dims[0], net.x.dims[1], hidden}, input.dtype);
}

void suggest_network_gradients(const Op& op, const RnnNetwork& net, const TensorView& input, const TensorView& dx,
                               std::initializer_list<const TensorView*> states, const Tensors& dparams) {
  if (!op.inferring()) return;
  op.suggest_like(dx, input, input.dtype);
  suggest_states(op, net, states);
  for (size_t i = 0; i < dparams.size() && i < net.params.size(); ++i)
    if (dparams.item(i)) op.suggest_like(dparams[i], net.params[i], net.params[i].dtype);
}

void plan_network(Op& op, RnnNetwork&& net, const TensorView& output, std::initializer_list<OptTensors> saved) {
  net.y = time_major(op, output, net.batch_first, packed_of(net));
  int k = 0;
  for (const OptTensors& list : saved) net.saved[k++] = views_of(list);
  op.work(cost(net));
  op.flops(net.flops());
  op.kernel_scratch(net.x.numel() + net.params[0].numel(), [&] { return net.scratch_bytes(false); });
  op.launch([net = std::move(net)] { net.run(); });
}

void plan_network_backward(Op& op, RnnNetwork&& net, const OptIn& dy, const OptIn& dh_last,
                           std::initializer_list<Tensors> saved, const TensorView& dx, const TensorView& dh0,
                           const Tensors& dparams) {
  if (dy && !dy->empty()) net.dy = time_major(op, *dy, net.batch_first, packed_of(net));
  if (dh_last && !dh_last->empty()) net.dh_last = *dh_last;
  int k = 0;
  for (const Tensors& list : saved) {
    op.require(static_cast<int64_t>(list.size()) == net.cells(), "a list of gates has {} tensors, want {}", list.size(),
               net.cells());
    net.saved[k++] = views_of(list);
  }
  net.dx = time_major(op, dx, net.batch_first, packed_of(net));
  net.dh0 = dh0;
  net.dparams = views_of(dparams);
  op.require(net.dparams.size() == net.params.size(), "gradParams has {} tensors, want {}", net.dparams.size(),
             net.params.size());
  op.work(cost(net) * 2);
  op.flops(2 * net.flops());
  op.kernel_scratch(net.x.numel() + net.params[0].numel(), [&] { return net.scratch_bytes(true); });
  op.launch([net = std::move(net)] { RnnNetwork(net).run_backward(); });
}

void check_network(const Op& op, const RnnNetwork& net, int64_t gates) {
  const size_t each = net.biases ? 4 : 2;
  op.require(net.layers > 0 && net.layers < 1 << 20, "numLayers is {}, want at least 1", net.layers);
  op.require(net.params.size() == static_cast<size_t>(net.cells()) * each, "params has {} tensors, want {}",
             net.params.size(), static_cast<size_t>(net.cells()) * each);
  for (int64_t i = 0; i < net.cells(); ++i) {
    const TensorView& in = net.params[static_cast<size_t>(i) * each];
    const TensorView& hidden = net.params[static_cast<size_t>(i) * each + 1];
    op.require(
        in.rank == 2 && hidden.rank == 2 && hidden.dims[0] == gates * hidden.dims[1] && in.dims[0] == hidden.dims[0],
        "the weights of layer {} are {} and {}, want [{} * hidden, input] and [{} * hidden, hidden]",
        i / net.directions, describe(in), describe(hidden), gates, gates);
    const int64_t width = i < net.directions ? net.x.dims[2] : net.directions * hidden.dims[1];
    op.require(in.dims[1] == width, "a weight of layer {} is {}, want {} columns", i / net.directions, describe(in),
               width);
    if (net.biases)
      for (size_t b = 2; b < 4; ++b) {
        const TensorView& bias = net.params[static_cast<size_t>(i) * each + b];
        op.require(bias.rank == 1 && bias.dims[0] == in.dims[0], "a bias of layer {} is {}, want [{}]",
                   i / net.directions, describe(bias), in.dims[0]);
      }
  }
  const int64_t hidden = net.params[1].dims[1];
  for (const TensorView* state : {&net.h0, &net.c0})
    if (state->data || state->rank)
      op.require(state->rank == 3 && state->dims[0] == net.cells() && state->dims[1] == net.x.dims[1] &&
                     state->dims[2] == hidden,
                 "an initial state is {}, want [{},{},{}]{}{}", describe(*state), net.cells(), net.x.dims[1], hidden,
                 packed_of(net) ? "; " : "", packed_of(net) ? kPackOnNpu : "");
}

std::vector<int64_t> RnnNetwork::active() const {
  std::vector<int64_t> rows;
  if (!batch_sizes.data) return rows;
  for (int64_t t = 0; t < batch_sizes.numel(); ++t) {
    int64_t n = 0;
    kernels().load[static_cast<int>(batch_sizes.dtype)][static_cast<int>(Compute::I64)](
        &n, batch_sizes.as<char>() + batch_sizes.offset_of(t) * static_cast<int64_t>(size_of(batch_sizes.dtype)), 0, 1);
    if (n < 0 || n > x.dims[1])
      fail_kernel(fmt::format("batch_sizes[{}] is {}, want 0 to {}; {}", t, n, x.dims[1], kPackOnNpu));
    rows.push_back(n);
  }
  return rows;
}

RnnLayer RnnNetwork::layer(int64_t index, const TensorView& input, const std::vector<int64_t>& rows) const {
  RnnLayer l;
  const size_t i = static_cast<size_t>(index), each = biases ? 4 : 2;
  l.gru = gru;
  l.reverse = index % directions == 1;
  l.active = rows;
  l.x = input;
  l.w_in = params[i * each];
  l.w_hidden = params[i * each + 1];
  if (biases) {
    l.b_in = params[i * each + 2];
    l.b_hidden = params[i * each + 3];
  }
  if (h0.data) l.h0 = select(h0, 0, index);
  if (c0.data) l.c0 = select(c0, 0, index);
  for (int k = 0; k < RnnLayer::kSaved; ++k)
    if (i < saved[k].size()) l.saved[k] = saved[k][i];
  return l;
}

int64_t RnnNetwork::flops() const {
  int64_t weights = 0;
  for (const TensorView& p : params)
    if (p.rank == 2) weights += p.numel();
  return 2 * x.dims[0] * x.dims[1] * weights;
}

LayerDropout RnnNetwork::dropout_of(double p) const {
  if (!(p > 0) || layers < 2) return {};
  std::vector<TensorView> made_of = {x, h0, c0};
  made_of.insert(made_of.end(), params.begin(), params.end());
  return {p, {digest(made_of), 0}};
}

namespace {
// What a GRU saves, in the order of RnnLayer::saved.
constexpr int kUpdate = 1, kNew = 2, kHidden = 4;
TensorView first_element(const TensorView& v) { return TensorView::contiguous(v.data, v.dtype, nullptr, 0); }
double first_number(const TensorView& v) {
  double x = 0;
  gather_to(&x, DType::Double, first_element(v));
  return x;
}
void set_first(const TensorView& v, double x) {
  copy_elements(first_element(v), TensorView::contiguous(&x, DType::Double, nullptr, 0));
}
}  // namespace

double RnnNetwork::held(double p) const {
  if (!gru || saved[kHidden].empty() || !saved[kHidden][0].data) return p;
  double there = 0;
  const DType t = saved[kHidden][0].dtype;
  alignas(8) char bytes[8];
  const TensorView one = TensorView::contiguous(bytes, t, nullptr, 0);
  copy_elements(one, TensorView::contiguous(&p, DType::Double, nullptr, 0));
  gather_to(&there, DType::Double, one);
  return there;
}

void RnnNetwork::leave_probability() const {
  if (!gru || saved[kHidden].empty() || !saved[kHidden][0].data || saved[kHidden][0].empty()) return;
  set_first(saved[kHidden][0], dropout);
  const TensorView& z = saved[kUpdate][0];
  set_first(z, -first_number(z));
}

double RnnNetwork::take_probability(ScratchScope& scratch) {
  if (!gru) return dropout;
  TensorView &z = saved[kUpdate][0], &h = saved[kHidden][0];
  if (layers < 2 || z.empty()) return 0;
  const double update = -first_number(z), p = first_number(h);
  if (std::signbit(update) || std::isnan(update)) return 0;
  for (TensorView* v : {&z, &h}) *v = gather_to(scratch.take(v->bytes()), v->dtype, *v);
  const double before = h0.data ? first_number(h0) : 0, next = first_number(saved[kNew][0]);
  set_first(z, update);
  set_first(h, (before - next) * update + next);
  return p;
}

void RnnNetwork::run() const {
  const LayerDropout drop = dropout_of(held(dropout));
  const std::vector<int64_t> rows = active();
  const int64_t hidden = params[1].dims[1];
  TensorView input = x;
  ScratchScope scratch;
  for (int64_t n = 0; n < layers; ++n) {
    const TensorView output = n + 1 < layers ? between(*this, scratch) : y;
    for (int64_t d = 0; d < directions; ++d) {
      const int64_t index = n * directions + d;
      RnnLayer l = layer(index, input, rows);
      l.y = narrow(output, 2, d * hidden, hidden);
      if (h_last.data) l.h_last = select(h_last, 0, index);
      if (c_last.data) l.c_last = select(c_last, 0, index);
      run_rnn(l);
    }
    if (drop && n + 1 < layers) drop.apply(output, n);
    input = output;
  }
  if (drop) leave_probability();
}

void RnnNetwork::run_backward() {
  ScratchScope kept;
  const LayerDropout drop = dropout_of(take_probability(kept));
  const std::vector<int64_t> rows = active();
  const int64_t hidden = params[1].dims[1];
  const int h_index = gru ? 4 : 6;
  const size_t each = biases ? 4 : 2;
  TensorView gradient = dy;
  ScratchScope scratch;
  for (int64_t n = layers - 1; n >= 0; --n) {
    const TensorView to = n > 0 ? between(*this, scratch) : dx;
    // The input of a layer is what the one below it left.
    ScratchScope own;
    TensorView below = x;
    if (n > 0) {
      below = between(*this, own);
      for (int64_t d = 0; d < directions; ++d)
        copy_elements(narrow(below, 2, d * hidden, hidden),
                      saved[h_index][static_cast<size_t>((n - 1) * directions + d)]);
      if (drop) drop.apply(below, n - 1);
    }
    for (int64_t d = 0; d < directions; ++d) {
      const int64_t index = n * directions + d;
      const size_t i = static_cast<size_t>(index);
      RnnLayer l = layer(index, below, rows);
      if (gradient.data) l.dy = narrow(gradient, 2, d * hidden, hidden);
      if (dh_last.data) l.dh_last = select(dh_last, 0, index);
      if (dc_last.data) l.dc_last = select(dc_last, 0, index);
      if (dh0.data) l.dh0 = select(dh0, 0, index);
      if (dc0.data) l.dc0 = select(dc0, 0, index);
      l.dx = to;
      l.add_dx = d > 0;
      l.dw_in = dparams[i * each];
      l.dw_hidden = dparams[i * each + 1];
      if (biases) {
        l.db_in = dparams[i * each + 2];
        l.db_hidden = dparams[i * each + 3];
      }
      run_rnn_backward(l);
    }
    if (drop && n > 0) drop.apply(to, n - 1);
    gradient = to;
  }
}

size_t RnnNetwork::scratch_bytes(bool backward) const {
  const std::vector<int64_t> rows(batch_sizes.rank ? 1 : 0);
  size_t layer_bytes = 0;
  for (int64_t index = 0; index < cells(); ++index) {
    RnnLayer l = layer(index, index < directions ? x : between_view(*this, nullptr), rows);
    l.dx = dx;
    l.add_dx = index % directions == 1;
    layer_bytes = std::max(layer_bytes, backward ? rnn_backward_scratch(l) : rnn_scratch(l));
  }
  // A layer's output, or the gradient of its input, for each border of layers; backwards also the input of one.
  const auto borders = static_cast<size_t>(layers - 1);
  return (borders + (backward && borders ? 1 : 0)) * scratch_size(between_view(*this, nullptr).bytes()) + layer_bytes;
}

}  // namespace updraft
