"""Caffe's two files as these tests write them, and small nets with what PyTorch's or NumPy's float64 says of their outputs."""

import struct

import numpy as np
import torch
import torch.nn.functional as F

random = np.random.default_rng(23)
NETS = {}


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


# --- caffemodel: protobuf, field by field ------------------------------------------------------------------------------------------
def varint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, content):
    return varint(field << 3 | 2) + varint(len(content)) + content


def blob(array, form="packed"):
    """The forms that files have: with a shape, or with four sizes; floats as one list or one by one; doubles."""
    flat = np.ascontiguousarray(array).ravel()
    if form == "older":
        sizes = b"".join(number(i + 1, d) for i, d in enumerate((1,) * (4 - array.ndim) + array.shape))
        return sizes + message(5, flat.astype("<f4").tobytes())
    shape = message(7, message(1, b"".join(varint(d) for d in array.shape)))
    if form == "doubles":
        return shape + message(8, flat.astype("<f8").tobytes())
    if form == "single":
        return shape + b"".join(varint(5 << 3 | 5) + struct.pack("<f", v) for v in flat)
    return message(5, flat.astype("<f4").tobytes()) + shape


def caffemodel(weights, form="packed"):
    """`weights`: blobs by the layers' names."""
    older = form == "older"
    name, blobs, layer = (4, 6, 2) if older else (1, 7, 100)
    return message(1, b"net") + b"".join(
        message(layer, message(name, key.encode()) + b"".join(message(blobs, blob(np.asarray(b), form)) for b in values))
        for key, values in weights.items())


def write(folder, name, prototxt, weights, form="packed"):
    (folder / f"{name}.prototxt").write_text(prototxt)
    (folder / f"{name}.caffemodel").write_bytes(caffemodel(weights or {"none": []}, form))


def net(form="packed"):
    """The function gives (prototxt, weights, inputs, outputs in order)."""
    def register(f):
        NETS[f.__name__] = (f, form)
        return f
    return register


def double(array):
    return torch.from_numpy(np.asarray(array)).double()


def inputs_of(**arrays):
    return "".join('layer { name: "%s" type: "Input" top: "%s" input_param { shape { %s } } }\n'
                   % (name, name, " ".join(f"dim: {d}" for d in array.shape)) for name, array in arrays.items())


class Layers:
    """Layers side by side: each reads some inputs, and its top is an output."""

    def __init__(self, **inputs):
        self.inputs, self.weights, self.wanted = inputs, {}, []
        self.text = 'name: "side by side"  # every top is an output\n' + inputs_of(**inputs)

    def add(self, type, param, want, weights=(), bottoms=("x",), tops=1):
        """`want`: of each top."""
        name = f"{type}{len(self.wanted)}"
        outputs = [f"{name}_{i}" for i in range(tops)] if tops > 1 else [name]
        self.text += 'layer { name: "%s" type: "%s" %s %s %s }\n' % (
            name, type, " ".join(f'bottom: "{b}"' for b in bottoms), " ".join(f"top: '{t}'" for t in outputs), param)
        if len(weights):
            self.weights[name] = weights
        self.wanted += list(want) if tops > 1 else [want]

    def __call__(self):
        return self.text, self.weights, self.inputs, self.wanted


# --- layer by layer ----------------------------------------------------------------------------------------------------------------
@net()
def activations():
    x, p = normal(2, 3, 4, 5) * 2, np.abs(normal(2, 3, 4, 5)) + 0.1
    a, b = double(x), double(p)
    each, one = normal(3), normal(1)
    n = Layers(x=x, p=p)
    n.add("ReLU", "", F.relu(a))
    n.add("ReLU", "relu_param { negative_slope: 0.1 engine: CAFFE }", F.leaky_relu(a, 0.1))
    n.add("PReLU", "prelu_param { filler { type: 'constant' value: 0.3 } }", F.prelu(a, double(each)), [each])
    n.add("PReLU", "prelu_param { channel_shared: true }", F.prelu(a, double(one)), [one])
    n.add("ELU", "elu_param { alpha: 0.7 }", F.elu(a, 0.7))
    n.add("Sigmoid", "", torch.sigmoid(a))
    n.add("TanH", "", torch.tanh(a))
    n.add("AbsVal", "", a.abs())
    n.add("BNLL", "", torch.log1p(torch.exp(a)))
    n.add("Power", "power_param { power: 2 scale: 0.5 shift: 1 }", (a * 0.5 + 1) ** 2)
    n.add("Power", "power_param < scale: -1.5, shift: .25; >", a * -1.5 + 0.25)
    n.add("Power", "power_param: { power: -0.75 shift: 1e-1f }", (b + 0.1) ** -0.75, bottoms=["p"])
    n.add("Exp", "", torch.exp(a))
    n.add("Exp", "exp_param { base: 2 scale: 0.5 shift: -1 }", 2 ** (a * 0.5 - 1))
    n.add("Log", "", torch.log(b), bottoms=["p"])
    n.add("Log", "log_param { base: 10 scale: 3 shift: 1 }", torch.log10(b * 3 + 1), bottoms=["p"])
    n.add("Threshold", "threshold_param { threshold: 0.5 }", (a > 0.5).double())
    n.add("Clip", "clip_param { min: -0.5 max: 0.75 }", a.clamp(-0.5, 0.75))
    n.add("Swish", "swish_param { beta: 1.5 }", a * torch.sigmoid(1.5 * a))
    n.add("ReLU6", "", a.clamp(0, 6))
    n.add("Dropout", "dropout_param { dropout_ratio: 0.5 }", a)
    return n()


@net("single")
def convolutions():
    x, v = normal(2, 4, 9, 8), normal(1, 4, 5, 6, 5)
    a, b = double(x), double(v)
    n = Layers(x=x, v=v)

    def conv(param, shape, bias=True, bottom="x", name="Convolution", **how):
        w, c = normal(*shape) / 3, normal(how.get("groups", 1) * shape[1] if name == "Deconvolution" else shape[0])
        function = {("x", "Convolution"): F.conv2d, ("v", "Convolution"): F.conv3d, ("x", "Deconvolution"): F.conv_transpose2d,
                    ("v", "Deconvolution"): F.conv_transpose3d, ("x", "ConvolutionDepthwise"): F.conv2d}[bottom, name]
        want = function(a if bottom == "x" else b, double(w), double(c) if bias else None, **how)
        n.add(name, "convolution_param { num_output: %d %s }" % (len(c), param), want, [w, c] if bias else [w], [bottom])

    conv("kernel_size: 3", (6, 4, 3, 3))
    conv("kernel_size: 3 pad: 1 stride: 2 bias_term: false weight_filler { type: \"msra\" }", (6, 4, 3, 3), False, padding=1, stride=2)
    conv("kernel_h: 5 kernel_w: 3 pad_h: 2 pad_w: 0 stride_h: 1 stride_w: 2", (2, 4, 5, 3), padding=(2, 0), stride=(1, 2))
    conv("kernel_size: [3, 1] pad: 2 pad: 0 dilation: 2 group: 2 engine: CAFFE", (6, 2, 3, 1), padding=(2, 0), dilation=2, groups=2)
    conv("kernel_size: 3 pad: 1 group: 4", (4, 1, 3, 3), name="ConvolutionDepthwise", padding=1, groups=4)
    conv("kernel_size: 1", (3, 4, 1, 1))
    conv("kernel_size: 3 pad: 1 stride: 2", (3, 4, 3, 3, 3), bottom="v", padding=1, stride=2)
    conv("kernel_size: 4 stride: 2 pad: 1", (4, 5, 4, 4), name="Deconvolution", stride=2, padding=1)
    conv("kernel_size: 3 stride: 2 group: 4 bias_term: false", (4, 1, 3, 3), False, name="Deconvolution", stride=2, groups=4)
    conv("kernel_size: 3 dilation: 2 group: 2", (4, 3, 3, 3), name="Deconvolution", dilation=2, groups=2)
    conv("kernel_size: 2 stride: 2", (4, 3, 2, 2, 2), bottom="v", name="Deconvolution", stride=2)
    return n()


def pooled(x, kernel, stride, pad, mean, up=True):
    """Window after window. They are counted upwards; with padding none begins behind the image and its padding in front.
    Means are over what lies within the image and its padding."""
    sizes = []
    for size, k, s, p in zip(x.shape[2:], kernel, stride, pad):
        n = (-(-(size + 2 * p - k) // s) if up else (size + 2 * p - k) // s) + 1
        sizes.append(n - 1 if any(pad) and (n - 1) * s >= size + p else n)
    y = np.empty(x.shape[:2] + tuple(sizes))
    wide = np.pad(x.astype(np.float64), [(0, 0), (0, 0)] + [(p, p) for p in pad], constant_values=0 if mean else -np.inf)
    for i in range(sizes[0]):
        for j in range(sizes[1]):
            part = wide[:, :, i * stride[0]:i * stride[0] + kernel[0], j * stride[1]:j * stride[1] + kernel[1]]
            y[:, :, i, j] = part.mean((2, 3)) if mean else part.max((2, 3))
    return y


@net()
def pooling():
    x = normal(2, 3, 10, 11)
    n = Layers(x=x)
    for param, kernel, stride, pad in (("kernel_size: 2 stride: 2", (2, 2), (2, 2), (0, 0)), ("kernel_size: 3 stride: 2", (3, 3), (2, 2), (0, 0)),
                                       ("kernel_size: 3 stride: 2 pad: 1", (3, 3), (2, 2), (1, 1)), ("kernel_size: 3", (3, 3), (1, 1), (0, 0)),
                                       ("kernel_h: 4 kernel_w: 3 stride_h: 3 stride_w: 2 pad_h: 0 pad_w: 1", (4, 3), (3, 2), (0, 1)),
                                       ("kernel_size: 3 stride: 3 pad: 2", (3, 3), (3, 3), (2, 2)),
                                       ("kernel_size: 5 stride: 4 pad: 4", (5, 5), (4, 4), (4, 4))):
        n.add("Pooling", "pooling_param { pool: MAX %s }" % param, pooled(x, kernel, stride, pad, False))
        n.add("Pooling", "pooling_param { pool: AVE %s engine: CAFFE }" % param, pooled(x, kernel, stride, pad, True))
    n.add("Pooling", "pooling_param { kernel_size: 1 stride: 3 round_mode: FLOOR }", pooled(x, (1, 1), (3, 3), (0, 0), False, False))
    n.add("Pooling", "pooling_param { pool: AVE global_pooling: true }", x.astype(np.float64).mean((2, 3), keepdims=True))
    n.add("Pooling", "pooling_param { pool: MAX global_pooling: true stride: 1 pad: 0 }", x.max((2, 3), keepdims=True))
    return n()


@net("doubles")
def normalisation():
    x, f = normal(2, 7, 5, 6), normal(3, 7)
    a, b = double(x), double(f)
    mean, variance, weight = normal(7), np.abs(normal(7)) + 0.5, np.array([3.5], np.float32)
    scale, one = normal(7), normal(1)
    n = Layers(x=x, f=f)
    norm = lambda v, eps=1e-5: F.batch_norm(v, double(mean) / 3.5, double(variance) / 3.5, eps=eps)
    n.add("BatchNorm", "batch_norm_param { use_global_stats: true eps: 0.001 }", norm(a, 1e-3), [mean, variance, weight])
    n.add("BatchNorm", "", norm(b), [mean, variance, weight], ["f"])
    n.add("BatchNorm", "", F.batch_norm(a, torch.zeros(7).double(), torch.zeros(7).double()), [mean, variance, np.zeros(1, np.float32)])
    n.add("LRN", "lrn_param { local_size: 5 alpha: 0.5 beta: 0.75 }", F.local_response_norm(a, 5, 0.5, 0.75, 1))
    n.add("LRN", "lrn_param { local_size: 3 alpha: 2 beta: 0.5 k: 2 }", F.local_response_norm(a, 3, 2, 0.5, 2))
    n.add("LRN", "lrn_param { norm_region: WITHIN_CHANNEL local_size: 3 alpha: 2 beta: 0.6 k: 9 }",
          a * (1 + 2 * F.avg_pool2d(a * a, 3, 1, 1)) ** -0.6)
    deviation = lambda axes: ((a - a.mean(axes, True)) ** 2).mean(axes, True).sqrt()
    n.add("MVN", "", (a - a.mean((2, 3), True)) / (deviation((2, 3)) + 1e-9))
    n.add("MVN", "mvn_param { across_channels: true eps: 0.01 }", (a - a.mean((1, 2, 3), True)) / (deviation((1, 2, 3)) + 0.01))
    n.add("MVN", "mvn_param { normalize_variance: false }", a - a.mean((2, 3), True))
    n.add("Normalize", "norm_param { across_spatial: false channel_shared: false scale_filler { type: 'constant' value: 20 } }",
          a / (a * a).sum(1, True).sqrt() * double(scale)[:, None, None], [scale])
    n.add("Normalize", "", a / (a * a).sum((1, 2, 3), True).sqrt() * double(one), [one[0]])
    return n()


@net()
def elementwise():
    x, y, s, rows = normal(2, 3, 4, 5), normal(2, 3, 4, 5), normal(2, 3), normal(4, 5)
    a, b, c, r = double(x), double(y), double(s), double(rows)
    each, shift, whole = normal(3), normal(3), normal(2, 3, 4, 5)
    by_channel = lambda v: double(v)[:, None, None]
    n = Layers(x=x, y=y, s=s, rows=rows)
    n.add("Eltwise", "", a + b, bottoms=["x", "y"])
    n.add("Eltwise", "eltwise_param { operation: SUM coeff: 1 coeff: -0.5 coeff: 2 }", a - 0.5 * b + 2 * a, bottoms=["x", "y", "x"])
    n.add("Eltwise", "eltwise_param { operation: PROD stable_prod_grad: false }", a * b * b, bottoms=["x", "y", "y"])
    n.add("Eltwise", "eltwise_param { operation: MAX }", torch.maximum(a, b), bottoms=["x", "y"])
    n.add("Scale", "", a * by_channel(each), [each])
    n.add("Scale", "scale_param { bias_term: true filler { value: 2 } bias_filler { value: 0 } }", a * by_channel(each) + by_channel(shift), [each, shift])
    n.add("Scale", "scale_param { axis: 0 num_axes: -1 }", a * double(whole), [whole])
    n.add("Scale", "scale_param { num_axes: 0 bias_term: true }", a * double(each[0]) + double(shift[0]), [each[0], shift[0]])
    n.add("Scale", "scale_param { axis: -1 }", a * double(whole)[0, 0, 0], [whole[0, 0, 0]])
    n.add("Scale", "scale_param { axis: 0 }", a * c[:, :, None, None], bottoms=["x", "s"])
    n.add("Scale", "scale_param { axis: 2 bias_term: true }", a * r + double(whole)[0, 0], [whole[0, 0]], bottoms=["x", "rows"])
    n.add("Bias", "", a + by_channel(shift), [shift])
    n.add("Bias", "bias_param { axis: 2 }", a + r, bottoms=["x", "rows"])
    n.add("Axpy", "", a * c[:, :, None, None] + b, bottoms=["s", "x", "y"])
    return n()


@net()
def shapes():
    x, y, small = normal(2, 6, 4, 5), normal(2, 3, 4, 5), normal(2, 6, 3, 2)
    a, b = double(x), double(y)
    n = Layers(x=x, y=y, small=small, part=normal(2, 3, 2, 3))
    n.add("Concat", "", torch.cat([a, b, a], 1), bottoms=["x", "y", "x"])
    n.add("Concat", "concat_param { concat_dim: 1 }", torch.cat([b, a], 1), bottoms=["y", "x"])
    n.add("Concat", "concat_param { axis: -1 }", torch.cat([a, a], 3), bottoms=["x", "x"])
    n.add("Slice", "", torch.chunk(a, 3, 1), tops=3)
    n.add("Slice", "slice_param { axis: 1 slice_point: 1 slice_point: 4 }", torch.split(a, [1, 3, 2], 1), tops=3)
    n.add("Slice", "slice_param { slice_dim: 2 slice_point: [3] }", torch.split(a, [3, 1], 2), tops=2)
    n.add("Split", "", [a, a], tops=2)
    n.add("Reshape", "reshape_param { shape { dim: 0 dim: -1 dim: 2 } }", a.reshape(2, 60, 2))
    n.add("Reshape", "reshape_param { shape { dim: [3, 8] } axis: 1 num_axes: 2 }", a.reshape(2, 3, 8, 5))
    n.add("Reshape", "reshape_param { shape { dim: 1 } axis: -1 num_axes: 0 }", a.unsqueeze(4))
    n.add("Reshape", "reshape_param { shape { dim: -1 dim: 0 } axis: 2 }", a.reshape(2, 6, 4, 5))
    n.add("Flatten", "", a.flatten(1))
    n.add("Flatten", "flatten_param { axis: 1 end_axis: -2 }", a.flatten(1, 2))
    n.add("Flatten", "flatten_param { axis: 0 end_axis: 1 }", a.flatten(0, 1))
    n.add("Crop", "", a[:, :, :3, :2], bottoms=["x", "small"])
    n.add("Crop", "crop_param { axis: 2 offset: 1 offset: 3 }", a[:, :, 1:, 3:], bottoms=["x", "small"])
    n.add("Crop", "crop_param { axis: 1 offset: 2 }", a[:, 2:5, 2:4, 2:5], bottoms=["x", "part"])
    n.add("Tile", "tile_param { axis: 2 tiles: 3 }", a.repeat(1, 1, 3, 1))
    n.add("Permute", "permute_param { order: 0 order: 2 order: 3 order: 1 }", a.permute(0, 2, 3, 1))
    n.add("Permute", "permute_param { order: 2 }", a.permute(2, 0, 1, 3))
    n.add("ShuffleChannel", "shuffle_channel_param { group: 3 }", a.reshape(2, 3, 2, 4, 5).transpose(1, 2).reshape(2, 6, 4, 5))
    n.add("Interp", "interp_param { height: 9 width: 7 }", F.interpolate(a, (9, 7), mode="bilinear", align_corners=True))
    n.add("Interp", "interp_param { zoom_factor: 2 shrink_factor: 3 pad_beg: 0 pad_end: -1 }",
          F.interpolate(a[:, :, :-1, :-1], (1, 3), mode="bilinear", align_corners=True))
    return n()


def priors(rows, columns, image, step, small, large, ratios, variances, clip):
    (height, width), boxes = image, []
    for y in (np.arange(rows) + 0.5) * step[0]:
        for x in (np.arange(columns) + 0.5) * step[1]:
            for w, h in [(small, small), (np.sqrt(small * large),) * 2] + [(small * np.sqrt(r), small / np.sqrt(r)) for r in ratios]:
                boxes.append([(x - w / 2) / width, (y - h / 2) / height, (x + w / 2) / width, (y + h / 2) / height])
    boxes = np.array(boxes)
    return np.stack([(boxes.clip(0, 1) if clip else boxes).ravel(), np.tile(variances, len(boxes))])[None]


@net()
def reductions():
    x, f = normal(2, 6, 4, 5), normal(3, 9)
    ties = np.array([[1, 3, 2, 3, 0], [5, 5, 5, 5, 5]], np.float32)
    a = double(x)
    flat = x.reshape(2, -1)
    order = np.argsort(-flat, axis=1, kind="stable")[:, :3]
    n = Layers(x=x, f=f, ties=ties, image=normal(2, 3, 30, 40))
    n.add("Softmax", "", a.softmax(1))
    n.add("Softmax", "softmax_param { axis: -1 engine: CAFFE }", a.softmax(3))
    n.add("Reduction", "", a.sum())
    n.add("Reduction", "reduction_param { operation: MEAN axis: 1 coeff: 2 }", 2 * a.mean((1, 2, 3)))
    n.add("Reduction", "reduction_param { operation: ASUM axis: -1 }", a.abs().sum(3))
    n.add("Reduction", "reduction_param { operation: SUMSQ axis: 2 coeff: -0.5 }", -0.5 * (a * a).sum((2, 3)))
    n.add("ArgMax", "", flat.argmax(1).reshape(2, 1, 1, 1))
    n.add("ArgMax", "argmax_param { top_k: 3 out_max_val: true }",
          np.stack([order, np.take_along_axis(flat, order, 1)], 1)[..., None])
    n.add("ArgMax", "argmax_param { axis: 1 }", x.argmax(1)[:, None])
    n.add("ArgMax", "argmax_param { axis: 1 top_k: 2 out_max_val: true }", -np.sort(-x, axis=1)[:, :2])
    n.add("ArgMax", "argmax_param { out_max_val: true }", np.stack([f.argmax(1), f.max(1)], 1)[..., None], bottoms=["f"])
    n.add("ArgMax", "argmax_param { top_k: 2 }", np.array([[[3, 1]], [[4, 3]]]), bottoms=["ties"])  # of equal ones the last first
    n.add("PriorBox", "prior_box_param { min_size: 6 max_size: 9 aspect_ratio: 2 flip: true clip: true variance: [0.1, 0.1, 0.2, 0.2] }",
          priors(4, 5, (30, 40), (7.5, 8), 6, 9, [2, 0.5], [0.1, 0.1, 0.2, 0.2], True), bottoms=["x", "image"])
    n.add("PriorBox", "prior_box_param { min_size: 6 max_size: 9 aspect_ratio: 3 flip: false clip: false img_size: 32 step: 8 }",
          priors(4, 5, (32, 32), (8, 8), 6, 9, [3], [0.1] * 4, False), bottoms=["x"])
    return n()


@net()
def products():
    x, rows, ids = normal(2, 3, 4, 5), normal(4, 9), np.array([[0, 3, 7], [4999, 2, 3001]], np.float32)
    a, table = double(x), normal(5000, 4)
    w, t, r, b = normal(6, 60) / 8, normal(20, 7), normal(5, 9), normal(7)
    n = Layers(x=x, rows=rows, ids=ids)
    n.add("InnerProduct", "inner_product_param { num_output: 6 bias_term: false }", a.flatten(1) @ double(w).T, [w])
    n.add("InnerProduct", "inner_product_param { num_output: 7 axis: 2 transpose: true bias_filler { value: 1 } }",
          a.flatten(2) @ double(t) + double(b), [t, b])
    n.add("InnerProduct", "inner_product_param { num_output: 5 axis: -1 bias_term: false weight_filler { type: 'xavier' } }",
          double(rows) @ double(r).T, [r], ["rows"])
    n.add("InnerProduct", "inner_product_param { num_output: 3 axis: 0 bias_term: false }", a.flatten() @ double(w[:3].repeat(2, 1)).T,
          [w[:3].repeat(2, 1)])
    n.add("Embed", "embed_param { num_output: 4 input_dim: 5000 bias_term: false }", table[ids.astype(int)], [table], ["ids"])
    n.add("Embed", "embed_param { num_output: 4 input_dim: 5000 }", table[ids.astype(int)].astype(np.float64) + b[:4], [table, b[:4]], ["ids"])
    return n()


# --- nets --------------------------------------------------------------------------------------------------------------------------
@net("older")
def lenet():
    """The form of 2014: layers with types in capitals, four numbers for the input, sizes of blobs as four numbers."""
    x = normal(2, 1, 28, 28)
    w1, b1, w2, b2 = normal(20, 1, 5, 5) / 5, normal(20), normal(50, 20, 5, 5) / 22, normal(50)
    w3, b3, w4, b4 = normal(500, 800) / 28, normal(500), normal(10, 500) / 22, normal(10)
    text = """
name: "LeNet"
input: "data"
input_dim: 2 input_dim: 1 input_dim: 28 input_dim: 28
layers { name: "conv1" type: CONVOLUTION bottom: "data" top: "conv1" blobs_lr: 1 blobs_lr: 2 weight_decay: 1 weight_decay: 0
  convolution_param { num_output: 20 kernel_size: 5 stride: 1 weight_filler { type: "xavier" } bias_filler { type: "constant" } } }
layers { name: "pool1" type: POOLING bottom: "conv1" top: "pool1" pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layers { name: "conv2" type: CONVOLUTION bottom: "pool1" top: "conv2" convolution_param { num_output: 50 kernel_size: 5 } }
layers { name: "pool2" type: POOLING bottom: "conv2" top: "pool2" pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layers { name: "ip1" type: INNER_PRODUCT bottom: "pool2" top: "ip1" inner_product_param { num_output: 500 } }
layers { name: "relu1" type: RELU bottom: "ip1" top: "ip1" }
layers { name: "ip2" type: INNER_PRODUCT bottom: "ip1" top: "ip2" inner_product_param { num_output: 10 } }
layers { name: "prob" type: SOFTMAX bottom: "ip2" top: "prob" }
"""
    weights = {"conv1": [w1, b1], "pool1": [], "conv2": [w2, b2], "ip1": [w3, b3], "ip2": [w4, b4]}
    y = F.max_pool2d(F.conv2d(double(x), double(w1), double(b1)), 2)
    y = F.max_pool2d(F.conv2d(y, double(w2), double(b2)), 2).flatten(1)
    y = F.relu(y @ double(w3).T + double(b3)) @ double(w4).T + double(b4)
    return text, weights, {"data": x}, [y.softmax(1)]


@net()
def residual():
    """A block of ResNet as it is tested: what is there for training alone is left out by its rules, and layers work in place."""
    x = normal(2, 8, 10, 10)
    weights, text = {}, """
name: "residual"
layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TRAIN } data_param { source: "lmdb" batch_size: 32 } }
layer { name: "input" type: "Input" top: "data" exclude { phase: TRAIN } input_param { shape: { dim: 2 dim: 8 dim: 10 dim: 10 } } }
"""

    def block(name, bottom, outputs, inputs, kernel, stride, relu):
        nonlocal text
        text += f"""
layer {{ name: "res{name}" type: "Convolution" bottom: "{bottom}" top: "res{name}" param {{ lr_mult: 1 }}
  convolution_param {{ num_output: {outputs} kernel_size: {kernel} pad: {kernel // 2} stride: {stride} bias_term: false }} }}
layer {{ name: "bn{name}" type: "BatchNorm" bottom: "res{name}" top: "res{name}" param {{ lr_mult: 0 }} param {{ lr_mult: 0 }} param {{ lr_mult: 0 }} }}
layer {{ name: "scale{name}" type: "Scale" bottom: "res{name}" top: "res{name}" scale_param {{ bias_term: true }} }}
""" + (f'layer {{ name: "relu{name}" type: "ReLU" bottom: "res{name}" top: "res{name}" }}\n' if relu else "")
        w = normal(outputs, inputs, kernel, kernel) / np.sqrt(inputs * kernel * kernel).astype(np.float32)
        mean, variance, factor = normal(outputs), np.abs(normal(outputs)) + 1, np.array([999.98236], np.float32)
        scale, shift = normal(outputs), normal(outputs)
        weights.update({f"res{name}": [w], f"bn{name}": [mean * factor, variance * factor, factor], f"scale{name}": [scale, shift]})

        def run(v):
            y = F.conv2d(v, double(w), stride=stride, padding=kernel // 2)
            f = double(factor)
            y = F.batch_norm(y, double(mean * factor) / f, double(variance * factor) / f, double(scale), double(shift), eps=1e-5)
            return F.relu(y) if relu else y
        return run

    left = block("1", "data", 16, 8, 1, 2, False)
    a, b, c = block("2a", "data", 4, 8, 1, 2, True), block("2b", "res2a", 4, 4, 3, 1, True), block("2c", "res2b", 16, 4, 1, 1, False)
    text += """
layer { name: "sum" type: "Eltwise" bottom: "res1" bottom: "res2c" top: "sum" }
layer { name: "sum_relu" type: "ReLU" bottom: "sum" top: "sum" }
layer { name: "dropped" type: "Dropout" bottom: "sum" top: "sum" dropout_param { dropout_ratio: 0.4 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "sum" bottom: "label" top: "loss" include { phase: TRAIN } }
layer { name: "accuracy" type: "Accuracy" bottom: "sum" bottom: "label" top: "accuracy" include { phase: TEST stage: "measured" } }
"""
    v = double(x)
    return text, weights, {"input": x}, [F.relu(left(v) + c(b(a(v))))]


@net()
def inception():
    x = normal(1, 3, 33, 31)
    weights, text = {}, 'name: "inception"\ninput: "data" input_shape { dim: 1 dim: 3 dim: 33 dim: 31 }\n'

    def conv(name, bottom, outputs, inputs, kernel, **how):
        nonlocal text
        stride, pad = how.get("stride", 1), kernel // 2
        w, b = normal(outputs, inputs, kernel, kernel) / np.sqrt(inputs * kernel * kernel).astype(np.float32), normal(outputs) / 4
        weights[name] = [w, b]
        text += f"""
layer {{ name: "{name}" type: "Convolution" bottom: "{bottom}" top: "{name}"
  convolution_param {{ num_output: {outputs} kernel_size: {kernel} pad: {pad} stride: {stride} }} }}
layer {{ name: "relu_{name}" type: "ReLU" bottom: "{name}" top: "{name}" }}
"""
        return lambda v: F.relu(F.conv2d(v, double(w), double(b), stride=stride, padding=pad))

    one = conv("conv1/7x7_s2", "data", 8, 3, 7, stride=2)
    text += """
layer { name: "pool1/3x3_s2" type: "Pooling" bottom: "conv1/7x7_s2" top: "pool1/3x3_s2" pooling_param { pool: MAX kernel_size: 3 stride: 2 } }
layer { name: "pool1/norm1" type: "LRN" bottom: "pool1/3x3_s2" top: "pool1/norm1" lrn_param { local_size: 5 alpha: 0.0001 beta: 0.75 } }
"""
    a, b, c = conv("a/1x1", "pool1/norm1", 4, 8, 1), conv("a/3x3_reduce", "pool1/norm1", 4, 8, 1), conv("a/3x3", "a/3x3_reduce", 6, 4, 3)
    text += """
layer { name: "a/pool" type: "Pooling" bottom: "pool1/norm1" top: "a/pool" pooling_param { pool: MAX kernel_size: 3 stride: 1 pad: 1 } }
"""
    d = conv("a/pool_proj", "a/pool", 3, 8, 1)
    w, bias = normal(5, 13), normal(5)
    weights["classifier"] = [w, bias]
    text += """
layer { name: "a/output" type: "Concat" bottom: "a/1x1" bottom: "a/3x3" bottom: "a/pool_proj" top: "a/output" }
layer { name: "pool5" type: "Pooling" bottom: "a/output" top: "pool5" pooling_param { pool: AVE global_pooling: true } }
layer { name: "drop" type: "Dropout" bottom: "pool5" top: "pool5" }
layer { name: "classifier" type: "InnerProduct" bottom: "pool5" top: "classifier" inner_product_param { num_output: 5 } }
layer { name: "prob" type: "Softmax" bottom: "classifier" top: "prob" }
"""
    y = F.max_pool2d(one(double(x)), 3, 2, ceil_mode=True)
    y = F.local_response_norm(y, 5, 1e-4, 0.75, 1)
    y = torch.cat([a(y), c(b(y)), d(F.max_pool2d(y, 3, 1, 1))], 1)
    y = y.mean((2, 3)) @ double(w).T + double(bias)
    return text, weights, {"data": x}, [y.softmax(1)]


@net()
def segmenter():
    """As FCN has it: more padding than the image, scores, a bilinear Deconvolution, a Crop to the image, and the best class."""
    x = normal(1, 3, 20, 23)
    w1, b1, w2, b2 = normal(8, 3, 3, 3) / 5, normal(8), normal(4, 8, 1, 1) / 3, normal(4)
    ramp = 1 - np.abs(np.arange(4) - 1.5) / 2
    up = np.broadcast_to(np.outer(ramp, ramp), (4, 1, 4, 4)).astype(np.float32)
    text = """
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: 20 dim: 23 } } }
layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1" convolution_param { num_output: 8 kernel_size: 3 pad: 10 } }
layer { name: "relu1" type: "ReLU" bottom: "conv1" top: "conv1" }
layer { name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1" pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layer { name: "score" type: "Convolution" bottom: "pool1" top: "score" convolution_param { num_output: 4 kernel_size: 1 } }
layer { name: "upscore" type: "Deconvolution" bottom: "score" top: "upscore"
  convolution_param { num_output: 4 group: 4 bias_term: false kernel_size: 4 stride: 2 } }
layer { name: "crop" type: "Crop" bottom: "upscore" bottom: "data" top: "crop" crop_param { axis: 2 offset: 9 } }
layer { name: "split" type: "Split" bottom: "crop" top: "scores" top: "more" }
layer { name: "best" type: "ArgMax" bottom: "more" top: "best" argmax_param { axis: 1 } }
layer { name: "quiet" type: "Silence" bottom: "score" }
"""
    y = F.max_pool2d(F.relu(F.conv2d(double(x), double(w1), double(b1), padding=10)), 2, ceil_mode=True)
    y = F.conv_transpose2d(F.conv2d(y, double(w2), double(b2)), double(up), stride=2, groups=4)[:, :, 9:29, 9:32]
    return text, {"conv1": [w1, b1], "score": [w2, b2], "upscore": [up]}, {"data": x}, [y, y.argmax(1, keepdim=True)]
