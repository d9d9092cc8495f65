"""Calls of TensorFlow's raw operators: every operator that occurs in the models of tests and benchmark, forwards and in gradients, in its
types, with empty tensors and those without dimensions, broadcasting, NaN and infinities.

`CASES[operator]` is a list of (types, call): call(draw) gives the arguments; `draw` makes their tensors in the case's type. `WITHOUT` says
why an operator has no case here.
"""

import numpy as np

FLOAT, HALF, BF16, INT32, INT64, BOOL = "float32", "half", "bfloat16", "int32", "int64", "bool"
REAL = (FLOAT, HALF, BF16)
NUMBER = (*REAL, INT32, INT64)
SHAPES = [(), (0,), (3,), (2, 3, 4), (0, 3), (17, 33)]
PAIRS = [((3, 4), (3, 4)), ((3, 4), (4,)), ((2, 1, 3), (4, 1)), ((), (5,)), ((5, 1), ()), ((0, 3), (3,)), ((0,), (1,)), ((), ()), ((33, 65), (33, 65))]
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 100.0, -100.0, 1e-3]
CASES = {}
WITHOUT = {
    **dict.fromkeys(["Const", "Identity", "IdentityN", "If", "NoOp", "PartitionedCall", "Placeholder", "StatelessIf", "StatelessWhile", "While",
                     "StatefulPartitionedCall"], "structure: test_functions.py"),
    **dict.fromkeys(["AssignAddVariableOp", "AssignSubVariableOp", "AssignVariableOp", "ReadVariableOp", "ResourceGather", "VariableShape", "VarHandleOp",
                     "ResourceScatterAdd"], "variables: test_functions.py, test_training.py, test_sparse_updates.py"),
    **dict.fromkeys(["TensorListElementShape", "TensorListFromTensor", "TensorListGetItem", "TensorListLength", "TensorListPopBack", "TensorListPushBack",
                     "TensorListReserve", "TensorListSetItem", "TensorListStack", "EmptyTensorList"], "lists: test_functions.py, test_layers.py"),
    **dict.fromkeys(["CudnnRNN", "CudnnRNNBackprop", "CudnnRNNBackpropV3", "CudnnRNNV3", "OptionalFromValue", "OptionalGetValue", "OptionalNone"],
                    "the branch for GPUs of Keras' recurrent layers, which nobody calls"),
    **dict.fromkeys(["RandomStandardNormal", "RandomUniform"], "random: TensorFlow's own kernels"),
}


def case(name, types, call):
    CASES.setdefault(name, []).append((types, call))


def unary(names, types=REAL, special=True, **of):
    for name in names.split():
        for shape in SHAPES:
            case(name, types, lambda d, s=shape: {"first": d(s, **of)})
        if special:
            case(name, [t for t in types if t in REAL], lambda d: {"first": d.of(SPECIAL)})


unary("Abs Neg Sign Square Relu ZerosLike OnesLike StopGradient", NUMBER)
unary("Exp Sigmoid Tanh Elu Selu Softplus Softsign Erf Relu6 LeakyRelu IsFinite IsNan IsInf Floor Ceil Rint Sin Cos Expm1 Reciprocal L2Loss")
unary("Relu6 LeakyRelu", [INT32, INT64])
unary("ZerosLike OnesLike", [BOOL], special=False)
unary("Sqrt Rsqrt Log", positive=True)
unary("Log1p", low=-0.9, high=5)
unary("Digamma BesselI0e BesselI1e", [FLOAT, HALF, BF16])
for p, v in [((3, 4), (3, 4)), ((3, 1), (4,)), ((), (5,)), ((0, 2), (2,))]:
    for name in ["Igamma", "Igammac", "IgammaGradA"]:
        case(name, REAL, lambda d, p=p, v=v: {"a": d(p, low=0.1, high=9), "x": d(v, low=0.0, high=15)})
    case("Zeta", [FLOAT], lambda d, p=p, v=v: {"x": d(p, low=1.1, high=9), "q": d(v, low=0.1, high=15)})
    if p == v or () == p:  # TensorFlow broadcasts numbers alone
        case("Betainc", [FLOAT], lambda d, p=p, v=v: {"a": d(p, low=0.1, high=9), "b": d(v, low=0.1, high=9), "x": d(v, low=0.0, high=1)})
for name in ["Igamma", "Igammac", "IgammaGradA"]:
    case(name, [FLOAT], lambda d: {"a": d.of([0, 1, 1, -1, np.inf, 1, np.nan]), "x": d.of([1, 0, -1, 1, 1, np.inf, 1])})
case("Zeta", [FLOAT], lambda d: {"x": d.of([1, 0.5, 2, 2, 3, 2.5, 2, 3]), "q": d.of([2, 2, 0, -1, -1, -1.5, -1.5, -1.5])})
unary("LogicalNot", [BOOL], special=False)
for shape in [(3,), (2, 3, 4), (0, 3), (17, 33), (2, 0)]:
    for name in ["Softmax", "LogSoftmax"]:
        case(name, REAL, lambda d, s=shape: {"logits": d(s, high=4, low=-4)})

GRADIENTS = {"ReluGrad": ("gradients", "features"), "Relu6Grad": ("gradients", "features"), "LeakyReluGrad": ("gradients", "features"),
             "SoftplusGrad": ("gradients", "features"), "SoftsignGrad": ("gradients", "features"), "EluGrad": ("gradients", "outputs"),
             "SeluGrad": ("gradients", "outputs"), "SigmoidGrad": ("y", "dy"), "TanhGrad": ("y", "dy"), "SqrtGrad": ("y", "dy"), "RsqrtGrad": ("y", "dy"),
             "ReciprocalGrad": ("y", "dy")}
for name, (a, b) in GRADIENTS.items():
    for shape in SHAPES:
        case(name, NUMBER if name.startswith("Relu") else (*REAL, INT32, INT64) if name.startswith("Leaky") else REAL, lambda d, s=shape, a=a, b=b, n=name: {a: d(s, positive=n in ("SqrtGrad", "RsqrtGrad")), b: d(s)})
    case(name, REAL, lambda d, a=a, b=b: {a: d.of(SPECIAL), b: d.of([1.0] * len(SPECIAL))})


def binary(names, types, special=True, **of):
    for name in names.split():
        for a, b in PAIRS:
            case(name, types, lambda d, a=a, b=b: {"x": d(a, **of), "y": d(b, **of)})
        if special:
            case(name, [t for t in types if t in REAL], lambda d: {"x": d.of(SPECIAL * len(SPECIAL)), "y": d.of(np.repeat(SPECIAL, len(SPECIAL)))})


binary("Add AddV2 Sub Mul Maximum Minimum SquaredDifference Equal NotEqual Greater GreaterEqual Less LessEqual", NUMBER)
binary("Equal NotEqual", [BOOL], special=False)
binary("RealDiv DivNoNan", REAL)
binary("FloorDiv FloorMod", (FLOAT, INT32, INT64), special=False, nonzero=True)
binary("FloorDiv FloorMod", (HALF, BF16), special=False, nonzero=True, whole=True)  # no quotient that rounds to a whole number
binary("Pow", REAL, special=False, positive=True)
binary("Pow", (INT32, INT64), special=False, low=0, high=4)
binary("LogicalAnd LogicalOr", [BOOL], special=False)
for a, b, c in [((3, 4),) * 3, ((3, 1), (3, 4), (4,)), ((), (2, 3), (3,)), ((0, 3), (3,), ()), ((), (), ())]:
    case("SelectV2", (*NUMBER, BOOL), lambda d, a=a, b=b, c=c: {"condition": d.truth(a), "t": d(b), "e": d(c)})
for c, s in [((3, 4), (3, 4)), ((3,), (3, 4)), ((), (3,)), ((0,), (0, 2))]:
    case("Select", (*NUMBER, BOOL), lambda d, c=c, s=s: {"condition": d.truth(c), "x": d(s), "y": d(s)})

AXES = [((3, 4, 5), []), ((3, 4, 5), [0]), ((3, 4, 5), [-1]), ((3, 4, 5), [0, 2]), ((3, 4, 5), [0, 1, 2]), ((), []), ((0, 3), [0]), ((3, 0), [0]), ((65, 129), [1]), ((65, 129), [0])]
for keep in [False, True]:
    for shape, axes in AXES:
        for name, types in [("Sum", NUMBER), ("Mean", NUMBER), ("Max", NUMBER), ("Min", NUMBER), ("Prod", NUMBER), ("All", [BOOL]), ("Any", [BOOL])]:
            if name in ("Max", "Min") and 0 in shape and axes == [0] and shape[0] == 0:
                types = REAL
            small = {"low": 0.5, "high": 1.5} if name == "Prod" else {}
            case(name, types, lambda d, s=shape, a=axes, k=keep, o=small: {"input": d(s, **o), "axis": a, "keep_dims": k})
for name in ["Sum", "Mean", "Max", "Min", "Prod"]:
    case(name, REAL, lambda d: {"input": d.of([[1, np.nan], [np.inf, 2], [-np.inf, np.inf], [-np.inf, 3]]), "axis": [1]})
for name in ["ArgMax", "ArgMin"]:
    for shape, axis in [((3, 4), 0), ((3, 4), -1), ((7,), 0), ((2, 5, 3), 1)]:
        case(name, (*NUMBER, BOOL), lambda d, s=shape, a=axis: {"input": d(s), "dimension": a, "output_type": d.tf.int64})
for shape, axis in [((5,), 0), ((3, 4), 1), ((3, 4), -2), ((0, 2), 0)]:
    for how in [{}, {"exclusive": True}, {"reverse": True}, {"exclusive": True, "reverse": True}]:
        case("Cumsum", NUMBER, lambda d, s=shape, a=axis, h=how: {"x": d(s), "axis": a, **h})
for shapes in [[(3, 4)], [(3, 4)] * 3, [()] * 2, [(0, 2)] * 2]:
    case("AddN", NUMBER, lambda d, s=shapes: {"inputs": [d(x) for x in s]})

# products
for a, b, ta, tb in [((3, 4), (4, 5), 0, 0), ((4, 3), (4, 5), 1, 0), ((3, 4), (5, 4), 0, 1), ((4, 3),
                     (5, 4), 1, 1), ((0, 4), (4, 5), 0, 0), ((3, 0), (0, 5), 0, 0), ((65, 129), (129, 33), 0, 0)]:
    case("MatMul", NUMBER, lambda d, a=a, b=b, t=ta, u=tb: {"a": d(a), "b": d(b), "transpose_a": bool(t), "transpose_b": bool(u)})
for a, b, ta, tb in [((2, 3, 4), (2, 4, 5), 0, 0), ((2, 1, 4, 3), (3, 4, 5), 1, 0), ((3, 4), (5, 4), 0, 1),
                     ((0, 3, 4), (0, 4, 5), 0, 0), ((2, 3, 0), (2, 0, 4), 0, 0), ((2, 1, 3, 4), (1, 5, 4, 2), 0, 0)]:
    case("BatchMatMulV2", NUMBER, lambda d, a=a, b=b, t=ta, u=tb: {"x": d(a), "y": d(b), "adj_x": bool(t), "adj_y": bool(u)})
for equation, shapes in [("ab,bc->ac", [(3, 4), (4, 5)]), ("abc,cd->abd", [(2, 3, 4), (4, 5)]), ("aecd,abcd->acbe", [(2, 3, 4, 5), (2, 6, 4, 5)]),
                         ("acbe,aecd->abcd", [(2, 4, 3, 5), (2, 5, 4, 6)]), ("ij->ji", [(3, 4)]), ("ii->i", [(3, 3)]), ("i,j->ij", [(3,), (4,)]), ("abc->a", [(2, 3, 4)]),
                         ("...ij,...jk->...ik", [(2, 3, 4), (4, 5)])]:
    case("Einsum", NUMBER, lambda d, e=equation, s=shapes: {"inputs": [d(x) for x in s], "equation": e})
for shape, fmt in [((2, 3), "NHWC"), ((2, 4, 5, 3), "NHWC"), ((2, 3, 4, 5), "NCHW"), ((0, 3), "NHWC")]:
    case("BiasAdd", NUMBER, lambda d, s=shape, f=fmt: {"value": d(s), "bias": d((3,)), "data_format": f})
    case("BiasAddGrad", NUMBER, lambda d, s=shape, f=fmt: {"out_backprop": d(s), "data_format": f})


# convolutions and pooling, NHWC
def out(n, k, s, padding):
    return (n + s - 1) // s if padding == "SAME" else (n - k) // s + 1


for padding in ["SAME", "VALID"]:
    for k, s, dilation in [(3, 1, 1), (3, 2, 1), (1, 1, 1), (1, 2, 1), (2, 1, 2)]:
        w = dict(strides=[1, s, s, 1], padding=padding, dilations=[1, dilation, dilation, 1])
        reach = (k - 1) * dilation + 1
        y = (2, out(9, reach, s, padding), out(8, reach, s, padding))
        for inner, outer in [(4, 6), (16, 32)]:
            x, f = (2, 9, 8, inner), (k, k, inner, outer)
            case("Conv2D", (*REAL, INT32), lambda d, x=x, f=f, w=w: {"input": d(x), "filter": d(f), **w})
            case("Conv2DBackpropInput", (*REAL, INT32), lambda d, x=x, f=f, y=y, w=w: {"input_sizes": x, "filter": d(f), "out_backprop": d((*y, f[3])), **w})
            case("Conv2DBackpropFilter", REAL, lambda d, x=x, f=f, y=y, w=w: {"input": d(x), "filter_sizes": f, "out_backprop": d((*y, f[3])), **w})
        x, f = (2, 9, 8, 4), (k, k, 4, 2)
        case("DepthwiseConv2dNative", REAL, lambda d, x=x, f=f, w=w: {"input": d(x), "filter": d(f), **w})
        if dilation == 1:
            case("DepthwiseConv2dNativeBackpropInput", REAL, lambda d, x=x, f=f, y=y, w=w: {"input_sizes": x, "filter": d(f), "out_backprop": d((*y, 8)), **w})
            case("DepthwiseConv2dNativeBackpropFilter", REAL, lambda d, x=x, f=f, y=y, w=w: {"input": d(x), "filter_sizes": f, "out_backprop": d((*y, 8)), **w})
    for k, s in [(2, 2), (3, 1), (3, 2), (1, 1)]:
        w = dict(ksize=[1, k, k, 1], strides=[1, s, s, 1], padding=padding)
        x, y = (2, 7, 8, 3), (2, out(7, k, s, padding), out(8, k, s, padding), 3)
        case("AvgPool", REAL, lambda d, x=x, w=w: {"value": d(x), **w})
        case("MaxPool", NUMBER, lambda d, x=x, w=w: {"input": d(x), **w})
        case("AvgPoolGrad", REAL, lambda d, x=x, y=y, w=w: {"orig_input_shape": x, "grad": d(y), **w})
        case("MaxPoolGrad", NUMBER, lambda d, x=x, y=y, w=w: d.pooled("MaxPool", x, y, w))
        w = dict(ksize=[1, k, k, k, 1], strides=[1, s, s, s, 1], padding=padding)
        x, y = (2, 5, 6, 4, 3), (2, out(5, k, s, padding), out(6, k, s, padding), out(4, k, s, padding), 3)
        case("AvgPool3D", [FLOAT, BF16], lambda d, x=x, w=w: {"input": d(x), **w})
        case("MaxPool3D", [FLOAT, BF16], lambda d, x=x, w=w: {"input": d(x), **w})
        case("AvgPool3DGrad", [FLOAT, BF16], lambda d, x=x, y=y, w=w: {"orig_input_shape": x, "grad": d(y), **w})
        case("MaxPool3DGrad", [FLOAT, BF16], lambda d, x=x, y=y, w=w: d.pooled("MaxPool3D", x, y, w))
    for k, s in [(3, 1), (2, 2)]:
        w = dict(strides=[1, s, s, s, 1], padding=padding)
        x, f, y = (2, 5, 6, 4, 3), (k, k, k, 3, 4), (2, out(5, k, s, padding), out(6, k, s, padding), out(4, k, s, padding), 4)
        case("Conv3D", REAL, lambda d, x=x, f=f, w=w: {"input": d(x), "filter": d(f), **w})
        case("Conv3DBackpropInputV2", REAL, lambda d, x=x, f=f, y=y, w=w: {"input_sizes": x, "filter": d(f), "out_backprop": d(y), **w})
        case("Conv3DBackpropFilterV2", REAL, lambda d, x=x, f=f, y=y, w=w: {"input": d(x), "filter_sizes": f, "out_backprop": d(y), **w})
case("Conv2D", [FLOAT], lambda d: {"input": d((0, 5, 5, 3)), "filter": d((3, 3, 3, 4)), "strides": [1, 1, 1, 1], "padding": "SAME"})
case("Conv2D", [FLOAT], lambda d: {"input": d((2, 9, 8, 4)), "filter": d((3, 3, 2, 6)), "strides": [1, 1, 1, 1], "padding": "SAME"})
case("Conv2D", REAL,
     lambda d: {"input": d((2, 9, 8, 4)), "filter": d((3, 3, 4, 6)), "strides": [1, 1, 1, 1], "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 2, 0, 3, 0, 0]})
case("MaxPool", [FLOAT],
     lambda d: {"input": d.of(np.array([3, 1, -np.inf, np.inf, -5, 2, 0, -np.inf, -np.inf]).reshape(1, 3, 3, 1)), "ksize": [1, 2, 2, 1], "strides": [1, 1, 1, 1], "padding": "SAME"})

# normalisation
for shape in [(2, 4, 5, 3), (4, 1, 1, 8), (1, 3, 3, 2)]:
    for training in [True, False]:
        for types in REAL:
            case("FusedBatchNormV3", [types], lambda d, s=shape, t=training: d.batch_norm(s, t))
            case("FusedBatchNormGradV3", [types], lambda d, s=shape, t=training: d.batch_norm_gradient(s, t))
for depth in [1, 2]:
    case("LRN", [FLOAT, HALF], lambda d, n=depth: {"input": d((2, 3, 4, 7)), "depth_radius": n, "bias": 1.5, "alpha": 0.3, "beta": 0.6})
    case("LRNGrad", [FLOAT, HALF], lambda d, n=depth: d.lrn_gradient((2, 3, 4, 7), dict(depth_radius=n, bias=1.5, alpha=0.3, beta=0.6)))
for shape in [(6, 5), (1, 1), (0, 4)]:
    case("SoftmaxCrossEntropyWithLogits", REAL, lambda d, s=shape: {"features": d(s), "labels": d(s, positive=True)})
    for index in ["int32", "int64"]:
        case("SparseSoftmaxCrossEntropyWithLogits", REAL, lambda d, s=shape, i=index: {"features": d(s), "labels": d.index((s[0],), s[1], i)})

# shapes
for shape, to in [((2, 6), [3, -1]), ((), [1, 1]), ((0, 3), [3, 0]), ((4,), [4]), ((1,), [])]:
    case("Reshape", (*NUMBER, BOOL), lambda d, s=shape, t=to: {"tensor": d(s), "shape": t if t else d.tf.constant([], d.tf.int32)})
for shape, axes in [((1, 3, 1), []), ((1, 3, 1), [0]), ((1, 3, 1), [-1]), ((1,), [])]:
    case("Squeeze", (*NUMBER, BOOL), lambda d, s=shape, a=axes: {"input": d(s), "axis": a})
for shape, axis in [((3, 4), 0), ((3, 4), -1), ((), 0), ((0,), 1)]:
    case("ExpandDims", (*NUMBER, BOOL), lambda d, s=shape, a=axis: {"input": d(s), "axis": a})
for shape, perm in [((3, 4), [1, 0]), ((2, 3, 4), [2, 0, 1]), ((2, 3, 4, 5), [0, 2, 1, 3]), ((0, 3), [1, 0]), ((), []), ((33, 65), [1, 0])]:
    case("Transpose", (*NUMBER, BOOL), lambda d, s=shape, p=perm: {"x": d(s), "perm": d.tf.constant(p, d.tf.int32)})
for shapes, axis in [([(2, 3), (4, 3)], 0), ([(2, 3), (2, 1), (2, 0)], 1), ([(3,), (4,)], -1), ([(0, 2), (0, 2)], 0)]:
    case("ConcatV2", (*NUMBER, BOOL), lambda d, s=shapes, a=axis: {"values": [d(x) for x in s], "axis": a})
case("ConcatOffset", [INT32], lambda d: {"concat_dim": 1, "shape": [d.tf.constant([2, 3, 4]), d.tf.constant([2, 5, 4])]})
for shape, axis in [((3, 4), 0), ((3, 4), 1), ((), 0), ((0, 2), -1)]:
    case("Pack", (*NUMBER, BOOL), lambda d, s=shape, a=axis: {"values": [d(s) for _ in range(3)], "axis": a})
for shape, axis in [((3, 4), 0), ((3, 4), 1), ((2, 0), 0)]:
    case("Unpack", (*NUMBER, BOOL), lambda d, s=shape, a=axis: {"value": d(s), "num": s[a], "axis": a})
for shape, axis, n in [((6, 4), 0, 3), ((6, 4), 1, 2), ((0, 4), 1, 2), ((6,), -1, 6)]:
    case("Split", (*NUMBER, BOOL), lambda d, s=shape, a=axis, n=n: {"axis": a, "value": d(s), "num_split": n})
case("SplitV", (*NUMBER, BOOL), lambda d: {"value": d((6, 4)), "size_splits": [1, 2, 3], "axis": 0, "num_split": 3})
for shape, times in [((2, 3), [2, 1]), ((2, 3), [1, 3]), ((), []), ((0, 3), [2, 2]), ((3,), [0])]:
    case("Tile", (*NUMBER, BOOL), lambda d, s=shape, t=times: {"input": d(s), "multiples": d.tf.constant(t, d.tf.int32)})
for shape, pads in [((2, 3), [[1, 2], [0, 1]]), ((0, 3), [[1, 0], [0, 0]]), ((2, 3, 4, 1), [[0, 0], [1, 1], [2, 2], [0, 0]])]:
    case("Pad", (*NUMBER, BOOL), lambda d, s=shape, p=pads: {"input": d(s), "paddings": p})
    case("PadV2", (*NUMBER, BOOL), lambda d, s=shape, p=pads: {"input": d(s), "paddings": p, "constant_values": d(())})
case("MirrorPad", (*NUMBER, BOOL), lambda d: {"input": d((4, 5)), "paddings": [[1, 2], [2, 1]], "mode": "REFLECT"})
for shape, begin, size in [((4, 5), [1, 0], [2, -1]), ((4, 5), [4, 0], [0, 5]), ((7,), [3], [2]), ((), [], [])]:
    case("Slice", (*NUMBER, BOOL),
         lambda d, s=shape, b=begin, z=size: {"input": d(s), "begin": d.tf.constant(b, d.tf.int32), "size": d.tf.constant(z, d.tf.int32)})
SLICES = [((5, 6), [1, 0], [4, 6], [1, 2], {}), ((5, 6), [-1, 0], [0, 6], [-1, 1], dict(end_mask=1)), ((5, 6), [2], [3], [1], dict(shrink_axis_mask=1)),
          ((3, 4, 5), [0, 1], [0, 3], [1, 1], dict(ellipsis_mask=1)), ((5,), [0, 0], [0, 5], [1, 1], dict(new_axis_mask=1)), ((5,), [4], [2], [1], {})]
for shape, b, e, s, masks in SLICES:
    case("StridedSlice", (*NUMBER, BOOL), lambda d, x=shape, b=b, e=e, s=s, m=masks: {"input": d(x), "begin": b, "end": e, "strides": s, **m})
    case("StridedSliceGrad", (*NUMBER, BOOL), lambda d, x=shape, b=b, e=e, s=s, m=masks: d.slice_gradient(x, b, e, s, m))
for shape, axes in [((3, 4), [0]), ((3, 4), [0, 1]), ((0, 2), [1]), ((5,), [-1])]:
    case("ReverseV2", (*NUMBER, BOOL), lambda d, s=shape, a=axes: {"tensor": d(s), "axis": a})
for index in ["int32", "int64"]:
    case("ReverseSequence", (*NUMBER, BOOL), lambda d, i=index: {"input": d((3, 4, 2)), "seq_lengths": d.tf.constant([4, 0, 2], i), "seq_dim": 1, "batch_dim": 0})
for shape in [(), (0, 3), (2, 3, 4)]:
    for name, key in [("Shape", "input"), ("Size", "input")]:
        case(name, NUMBER, lambda d, s=shape, k=key: {k: d(s)})
case("ShapeN", [FLOAT], lambda d: {"input": [d((2, 3)), d(()), d((0,))]})
for dims in [[2, 3], [], [0, 4]]:
    case("Fill", (*NUMBER, BOOL), lambda d, s=dims: {"dims": d.tf.constant(s, d.tf.int32), "value": d(())})
for shape, to in [((3, 1), [3, 4]), ((), [2, 2]), ((1, 0), [3, 0])]:
    case("BroadcastTo", (*NUMBER, BOOL), lambda d, s=shape, t=to: {"input": d(s), "shape": t})
case("InvertPermutation", [INT32, INT64], lambda d: {"x": d.of([2, 0, 3, 1])})
for a, b, step in [(0, 5, 1), (5, 0, -2), (3, 3, 1)]:
    case("Range", (FLOAT, INT32, INT64), lambda d, a=a, b=b, s=step: {"start": d.of(a), "limit": d.of(b), "delta": d.of(s)})
for lower, upper in [(-1, 0), (0, -1), (1, 2), (0, 0)]:
    case("MatrixBandPart", (*NUMBER, BOOL), lambda d, a=lower, b=upper: {"input": d((2, 4, 5)), "num_lower": a, "num_upper": b})
case("SpaceToBatchND", NUMBER, lambda d: {"input": d((2, 4, 6, 3)), "block_shape": [2, 3], "paddings": [[1, 1], [0, 0]]})
case("BatchToSpaceND", NUMBER, lambda d: {"input": d((12, 2, 3, 2)), "block_shape": [2, 3], "crops": [[0, 1], [1, 0]]})
for name in ["SpaceToDepth", "DepthToSpace"]:
    case(name, (*NUMBER, BOOL), lambda d: {"input": d((2, 4, 6, 8)), "block_size": 2})
for to in ["DT_FLOAT", "DT_HALF", "DT_BFLOAT16", "DT_INT32", "DT_INT64", "DT_BOOL"]:
    case("Cast", (*NUMBER, BOOL), lambda d, t=to: {"x": d((3, 4), low=0, high=90), "DstT": d.tf.dtypes.as_dtype(d.pb[t])})
    case("Cast", (*NUMBER, BOOL), lambda d, t=to: {"x": d((0,)), "DstT": d.tf.dtypes.as_dtype(d.pb[t])})
case("Bitcast", [FLOAT, INT32], lambda d: {"input": d((3, 4)), "type": d.tf.uint8})
case("Bitcast", [HALF, BF16], lambda d: {"input": d((3, 4)), "type": d.tf.int16})
case("Bitcast", [HALF], lambda d: {"input": d((3, 2)), "type": d.tf.int32})
case("Bitcast", [INT32], lambda d: {"input": d((0, 3)), "type": d.tf.int16})

# indices
for index in ["int32", "int64"]:
    for shape, at, axis, batch in [((5, 3), (4,), 0, 0), ((5, 3), (2, 2), 1, 0), ((5,), (), 0, 0), ((2, 5, 3), (2, 4), 1, 1), ((5, 0), (2,), 0, 0), ((5, 3), (0,), 0, 0)]:
        case("GatherV2", (*NUMBER, BOOL),
             lambda d, s=shape, a=at, x=axis, b=batch, i=index: {"params": d(s), "indices": d.index(a, s[x], i), "axis": x, "batch_dims": b})
    case("GatherNd", (*NUMBER, BOOL), lambda d, i=index: {"params": d((4, 4, 2)), "indices": d.index((3, 2), 4, i)})
    case("GatherNd", NUMBER, lambda d, i=index: {"params": d((4, 3)), "indices": d.index((2, 5, 1), 4, i)})
    case("ScatterNd", (*NUMBER, BOOL), lambda d, i=index: {"indices": d.tf.constant([[0], [2], [0]], i), "updates": d((3, 2)), "shape": d.tf.constant([4, 2], i)})
    case("TensorScatterUpdate", (*NUMBER, BOOL), lambda d, i=index: {"tensor": d((5, 2)), "indices": d.tf.constant([[3], [1]], i), "updates": d((2, 2))})
    case("TensorScatterAdd", NUMBER, lambda d, i=index: {"tensor": d((5, 2)), "indices": d.tf.constant([[3], [1], [3]], i), "updates": d((3, 2))})
    case("UnsortedSegmentSum", NUMBER, lambda d, i=index: {"data": d((6, 2)), "segment_ids": d.tf.constant([0, 2, 0, -1, 1, 2], i), "num_segments": 4})
    case("UnsortedSegmentMax", NUMBER, lambda d, i=index: {"data": d((6, 2)), "segment_ids": d.tf.constant([0, 2, 0, -1, 1, 2], i), "num_segments": 4})
    for depth, axis in [(4, -1), (4, 0), (0, -1)]:
        case("OneHot", (*NUMBER, BOOL),
             lambda d, n=depth, a=axis, i=index: {"indices": d.tf.constant([[0, 3], [-1, 5]], i), "depth": n, "on_value": d(()), "off_value": d(()), "axis": a})
for shape, k in [((7,), 3), ((3, 6), 6), ((2, 5), 0), ((2, 3, 4), 2)]:
    case("TopKV2", NUMBER, lambda d, s=shape, k=k: {"input": d.distinct(s), "k": k})
for shape in [(4,), (2, 3), (0, 2), ()]:
    case("Where", (*NUMBER, BOOL), lambda d, s=shape: {"condition": d(s)})
case("Unique", (*NUMBER, BOOL), lambda d: {"x": d.of([3, 1, 3, 2, 1, 5])})

# images and detection
for half, corners in [(True, False), (False, False), (False, True)]:
    how = dict(half_pixel_centers=half, align_corners=corners)
    for x, to in [((2, 4, 5, 3), (8, 10)), ((1, 7, 6, 2), (3, 4)), ((1, 1, 1, 1), (3, 2)), ((2, 4, 5, 3), (4, 5))]:
        case("ResizeBilinear", NUMBER, lambda d, x=x, t=to, h=how: {"images": d(x), "size": t, **h})
        case("ResizeNearestNeighbor", NUMBER, lambda d, x=x, t=to, h=how: {"images": d(x), "size": t, **h})
        case("ResizeBilinearGrad", REAL, lambda d, x=x, t=to, h=how: {"grads": d.float((x[0], *t, x[3])), "original_image": d(x), **h})
        case("ResizeNearestNeighborGrad", NUMBER, lambda d, x=x, t=to, h=how: {"grads": d((x[0], *t, x[3])), "size": x[1:3], **h})
for half, corners in [(True, False), (False, False), (False, True)]:
    how = dict(half_pixel_centers=half, align_corners=corners)
    for x, to in [((2, 4, 5, 3), (8, 10)), ((1, 7, 6, 2), (3, 4)), ((1, 1, 1, 1), (3, 2)), ((2, 4, 5, 3), (1, 5))]:
        case("ResizeBicubic", NUMBER, lambda d, x=x, t=to, h=how: {"images": d(x), "size": t, **h})
        case("ResizeBicubicGrad", [FLOAT], lambda d, x=x, t=to, h=how: {"grads": d((x[0], *t, x[3])), "original_image": d(x), **h})
        if not half:
            case("ResizeArea", NUMBER, lambda d, x=x, t=to, c=corners: {"images": d(x), "size": t, "align_corners": c})
for kernel in ["lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic"]:
    for smooth, scale, at in [(True, [0.5, 1.7], [0.3, -1.2]), (False, [2.1, 0.4], [-2.5, 1.0]), (True, [1.0, 1.0], [0.0, 0.0])]:
        where = lambda d, s=scale, t=at: {"scale": d.float_of(s), "translation": d.float_of(t)}  # noqa: E731
        case("ScaleAndTranslate", NUMBER, lambda d, k=kernel, s=smooth, w=where: {"images": d((2, 6, 7, 3)), "size": [5, 8], **w(d), "kernel_type": k, "antialias": s})
        case("ScaleAndTranslateGrad", [FLOAT], lambda d, k=kernel, s=smooth, w=where: {"grads": d((2, 5, 8, 3)), "original_image": d((2, 6, 7, 3)), **w(d), "kernel_type": k, "antialias": s})
for padding in ["SAME", "VALID"]:
    for size, step, rate in [((3, 2), (2, 1), (1, 1)), ((2, 2), (1, 3), (2, 1)), ((1, 1), (2, 2), (1, 1))]:
        how = dict(strides=[1, *step, 1], rates=[1, *rate, 1], padding=padding)
        case("ExtractImagePatches", (*NUMBER, BOOL), lambda d, k=size, h=how: {"images": d((2, 6, 7, 3)), "ksizes": [1, *k, 1], **h})
        case("Dilation2D", NUMBER, lambda d, k=size, h=how: {"input": d((2, 6, 7, 3)), "filter": d((*k, 3)), **h})
        for name in ["Dilation2DBackpropInput", "Dilation2DBackpropFilter"]:
            case(name, NUMBER, lambda d, k=size, h=how, n=name: d.dilated((2, 6, 7, 3), (*k, 3), h))
    case("ExtractVolumePatches", NUMBER,
         lambda d, p=padding: {"input": d((2, 4, 5, 6, 3)), "ksizes": [1, 2, 3, 2, 1], "strides": [1, 1, 2, 3, 1], "padding": p})
    for x, k, s in [((2, 7, 6, 3), (3, 2), (2, 2)), ((1, 4, 4, 9), (2, 3), (1, 2))]:
        how = dict(ksize=[1, *k, 1], strides=[1, *s, 1], padding=padding)
        for t in ["int32", "int64"]:
            case("MaxPoolWithArgmax", NUMBER, lambda d, x=x, h=how, t=t: {"input": d.distinct(x), **h, "Targmax": getattr(d.tf, t)})
            for name in ["MaxPoolGradWithArgmax", "MaxPoolGradGradWithArgmax"]:
                case(name, NUMBER, lambda d, x=x, h=how, t=t, n=name: d.pooled_at(n, x, {**h, "Targmax": getattr(d.tf, t)}))
        case("MaxPoolGradGrad", NUMBER, lambda d, x=x, h=how: d.pooled("MaxPool", x, x, h))
    case("MaxPool3DGradGrad", [FLOAT, BF16], lambda d, p=padding: d.pooled("MaxPool3D", (1, 4, 5, 6, 2), (1, 4, 5, 6, 2), dict(ksize=[1, 2, 3, 2, 1], strides=[1, 2, 2, 2, 1], padding=p)))
for overlapping in [False, True]:
    where = dict(row_pooling_sequence=[0, 2, 3, 5, 6], col_pooling_sequence=[0, 1, 3, 5], overlapping=overlapping)
    case("FractionalAvgPoolGrad", [FLOAT, INT32, INT64], lambda d, w=where: {"orig_input_tensor_shape": [2, 6, 5, 3], "out_backprop": d((2, 4, 3, 3)), **w})
    case("FractionalMaxPoolGrad", [FLOAT, INT32, INT64], lambda d, w=where: d.fractions((2, 6, 5, 3), w))
for centered in [True, False]:
    for normalized in [True, False]:
        for at in [[0.0, 0.0], [1.0, -2.0], [0.3, 0.4], [-0.7, 0.6]]:
            case("ExtractGlimpse", [FLOAT], lambda d, c=centered, n=normalized, a=at: {
                "input": d((2, 6, 7, 3)), "size": [3, 4], "offsets": d.float_of([a, [0.1, 0.2]]), "centered": c, "normalized": n, "uniform_noise": False, "noise": "zero"})
BOXES = [[0.1, 0.2, 0.7, 0.9], [0.9, 0.1, 0.2, 0.8], [-0.2, 0.1, 1.3, 0.5], [0.5, 0.5, 0.5, 0.5]]
for method in ["bilinear", "nearest"]:
    for crop in [(3, 4), (1, 1)]:
        at = dict(box_ind=[0, 1, 1, 0])
        case("CropAndResize", NUMBER,
             lambda d, m=method, c=crop, at=at: {"image": d((2, 6, 7, 3)), "boxes": d.float_of(BOXES), **at, "crop_size": c, "method": m, "extrapolation_value": 0.5})
        case("CropAndResizeGradImage", [FLOAT],
             lambda d, m=method, c=crop, at=at: {"grads": d((4, *c, 3)), "boxes": d.float_of(BOXES), **at, "image_size": [2, 6, 7, 3], "T": d.tf.float32, "method": m})
        case("CropAndResizeGradImage", [HALF],
             lambda d, m=method, c=crop, at=at: {"grads": d.float((4, *c, 3)), "boxes": d.float_of(BOXES), **at, "image_size": [2, 6, 7, 3], "T": d.tf.float16, "method": m})
        if method == "bilinear":
            case("CropAndResizeGradBoxes", NUMBER,
                 lambda d, m=method, c=crop, at=at: {"grads": d.float((4, *c, 3)), "image": d((2, 6, 7, 3)), "boxes": d.float_of(BOXES), **at})
NMS = [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [0, 10.1, 1, 11.1], [0, 100, 1, 101]]
for most, overlap, score in [(3, 0.5, 0.0), (6, 0.5, 0.4), (6, 0.9, 0.0), (0, 0.5, 0.0)]:
    case("NonMaxSuppressionV3", [FLOAT, HALF],
         lambda d, m=most, o=overlap, s=score: {"boxes": d.of(NMS), "scores": d.of([0.9, 0.75, 0.6, 0.95, 0.5, 0.3]), "max_output_size": m, "iou_threshold": o, "score_threshold": s})
    case("NonMaxSuppressionWithOverlaps", [FLOAT],
         lambda d, m=most, o=overlap, s=score: {"overlaps": d((6, 6), low=0.0, high=1.0), "scores": d((6,), low=0.0, high=1.0), "max_output_size": m, "overlap_threshold": o,
                                                "score_threshold": s})
for pad in [True, False]:
    for clip in [True, False]:
        for q in [1, 3]:
            case("CombinedNonMaxSuppression", [FLOAT],
                 lambda d, p=pad, c=clip, q=q: {"boxes": d((2, 6, q, 4), low=-0.5, high=1.5), "scores": d((2, 6, 3), low=0, high=1), "max_output_size_per_class": 3,
                                                "max_total_size": 5, "iou_threshold": 0.2, "score_threshold": 0.2, "pad_per_class": p, "clip_boxes": c})
for pad in [True, False]:
    case("CombinedNonMaxSuppression", [FLOAT],
         lambda d, p=pad: {"boxes": d.of(NMS)[None, :, None, :] / 100, "scores": d((1, 6, 3), low=0, high=1), "max_output_size_per_class": 3, "max_total_size": 5,
                           "iou_threshold": 0.5, "score_threshold": 0.2, "pad_per_class": p})

# sequences
for indices in [[[0, 2, 4], [1, 3]], [[3, 0], [0, 1, 2]], [[[0, 1], [3, 2]]], [[], [0]]]:
    for name in ["DynamicStitch", "ParallelDynamicStitch"]:
        if name == "DynamicStitch" or len({i for v in indices for i in v if not isinstance(i, list)}) == 5:  # else the order is nobody's
            case(name, (*NUMBER, BOOL), lambda d, at=indices: {"indices": [d.tf.constant(i, d.tf.int32) for i in at], "data": [d((*np.shape(i), 3)) for i in at]})
for normalize in [True, False]:
    case("EditDistance", (*NUMBER, BOOL), lambda d, n=normalize: {
        "hypothesis_indices": d.tf.constant([[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 1, 0], [1, 1, 1]], d.tf.int64), "hypothesis_values": d.of([1, 2, 3, 4, 5]),
        "hypothesis_shape": d.tf.constant([2, 2, 2], d.tf.int64), "truth_indices": d.tf.constant([[0, 0, 0], [0, 1, 0], [1, 1, 0], [1, 1, 1], [1, 1, 2]], d.tf.int64),
        "truth_values": d.of([2, 9, 4, 6, 5]), "truth_shape": d.tf.constant([2, 2, 3], d.tf.int64), "normalize": n})
for merge in [True, False]:
    for labels in [[1, 2, 0, 0, 2], [1, 1, 3, 0, 0]]:
        for collapse in [True, False]:
            case("CTCLoss", [FLOAT], lambda d, m=merge, v=labels, c=collapse: {
                "inputs": d((6, 3, 5)), "labels_indices": d.tf.constant([[0, 0], [0, 1], [0, 2], [2, 0], [2, 1]], d.tf.int64), "labels_values": d.tf.constant(v, d.tf.int32),
                "sequence_length": [6, 4, 5], "preprocess_collapse_repeated": c, "ctc_merge_repeated": m})
    case("CTCGreedyDecoder", [FLOAT], lambda d, m=merge: {"inputs": d((7, 3, 4)), "sequence_length": [7, 0, 5], "merge_repeated": m})
case("CTCLoss", [FLOAT], lambda d: {
    "inputs": d((3, 3, 4)), "labels_indices": d.tf.constant([[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [2, 0], [2, 1]], d.tf.int64),
    "labels_values": d.tf.constant([0, 1, 2, 1, 1, 0, 2], d.tf.int32), "sequence_length": [2, 2, 0], "ignore_longer_outputs_than_inputs": True})
case("CholeskyGrad", [FLOAT], lambda d: {"l": d.tf.linalg.band_part(d((2, 4, 4), low=0.5, high=1.5), -1, 0) + d.tf.eye(4), "grad": d((2, 4, 4))})
