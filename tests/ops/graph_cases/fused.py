"""Cases of graph operators that passes make (test_graph_operators.py): fused convolutions, numbers of eight bits. Wanted is what
PyTorch gives of real numbers."""
import torch
import torch.nn.functional as F


def to_byte(v, zero):
    """Rounded to the nearest, of two the even one, before zero is added; within the type of zero."""
    low, high = (-128, 127) if zero.dtype == torch.int8 else (0, 255)
    return (torch.round(v) + zero.float()).clamp(low, high).to(zero.dtype)


def add_cases(case, r, whole, image, kernel, by, conv, fused):
    """`conv` is the convolution with the attributes `fused`."""
    products(case, r)
    case("FusedConv2D", image, kernel, r(3), by.float(), None, want=lambda v, w, b, o, f: (conv(v, w) + b[:, None, None] + o).relu(), relu=True, **fused)
    case("FusedConv2D", image, kernel, None, by.float(), None, want=lambda v, w, b, o, f: conv(v, w) + o, **fused)
    case("FusedConv2D", image, r(4, 1, 3, 3), r(4), None, None, strides=[1, 1, 1, 1], pads=[1, 1, 1, 1], groups=4, relu=True,
         want=lambda v, w, b, o, f: F.conv2d(v, w, b, padding=1, groups=4).relu())
    case("FusedConv2D", image, kernel, r(3), by.float(), r(3), relu=True, **fused,
         want=lambda v, w, b, o, f: (conv(v, w) * f[:, None, None] + b[:, None, None] + o).relu())
    case("FusedConv2D", image, kernel, None, None, r(3), want=lambda v, w, b, o, f: conv(v, w) * f[:, None, None], **fused)
    case("FusedConv2D", image, kernel, r(3), by.float(), None, want=lambda v, w, b, o, f: F.hardswish(conv(v, w) + b[:, None, None] + o),
         hard_swish=True, **fused)
    case("BNFactors", r(4), r(4), r(4), r(4).abs(), r(4), epsilon=0.5,
         want=lambda s, o, m, v, b: (s / (v + 0.5).sqrt(), o + (b - m) * s / (v + 0.5).sqrt()))
    case("BNFactors", r(4), r(4), r(4), r(4).abs(), None, epsilon=0.5,
         want=lambda s, o, m, v, b: (s / (v + 0.5).sqrt(), o - m * s / (v + 0.5).sqrt()))
    x = r(3, 4)
    scales, bytes_, points = r(4, low=0.02, high=0.1), whole(3, 4, low=0, high=255, dtype=torch.uint8), whole(4, dtype=torch.int8)
    case("QuantizeLinear", x, torch.tensor(0.05), torch.tensor(3, dtype=torch.uint8), want=lambda v, s, z: to_byte(v / s, z))
    case("QuantizeLinear", x, scales, points, want=lambda v, s, z: to_byte(v / s, z), dtype=2)
    case("QuantizeLinear", x.half(), r(3, low=0.02, high=0.1), None, axis=0,
         want=lambda v, s, z: to_byte(v.float() / s[:, None], torch.zeros(1, dtype=torch.uint8)))
    per_channel = r(1, 3, 1, low=0.02, high=0.1)
    for kind, type_ in (("qint8", torch.int8), ("quint8", torch.uint8), ("qint32", torch.int32)):
        ends = torch.iinfo(type_)
        case("Quantize", r(2, 3, 4), per_channel, whole(1, 3, 1, low=0), axis=1, dtype="torch." + kind,
             want=lambda v, s, z, ends=ends, type_=type_: ((v.float() / s.float()).round() + z.float()).clamp(ends.min, ends.max).to(type_))
    case("Quantize", x, r(1, 4, low=0.02, high=0.1), None, want=lambda v, s, z: (v.float() / s.float()).round().int(), axis=-1, dtype="torch.qint32")
    case("DequantizeLinear", bytes_, torch.tensor(0.05), torch.tensor(120, dtype=torch.uint8), want=lambda v, s, z: (v.float() - z.float()) * s)
    case("DequantizeLinear", whole(2, 4, 3, dtype=torch.int8), scales, points, want=lambda v, s, z: (v.float() - z.float()[:, None]) * s[:, None])
    numbers = torch.arange(255, -1, -1, dtype=torch.uint8)
    case("ByteTable", bytes_, numbers, want=lambda v, t: t[v.long()])
    case("PrintTensors", bytes_, want=lambda v: [], outputs=0, format="of eight bits: {}", placeholder="{}")  # TorchAir's tests read it
    case("RequantAdd", bytes_, bytes_.flip(0), a_scale=0.1, a_zero=9, b_scale=0.2, b_zero=200, y_scale=0.15, y_zero=4, relu=True,
         want=lambda a, b: to_byte(((a.float() - 9) * 0.1 + (b.float() - 200) * 0.2).relu() / 0.15, torch.tensor(4, dtype=torch.uint8)))
    case("RequantConv2D", whole(2, 4, 6, 5, dtype=torch.int8), whole(3, 4, 3, 2, dtype=torch.int8), r(3, low=0.02, high=0.1), r(3), x_zero=-2, **fused,
         want=lambda v, w, s, b: conv(v.float() + 2, w.float()) * s[:, None, None] + b[:, None, None])
    case("RequantConv2D", whole(2, 4, 6, 5, dtype=torch.int8), whole(3, 4, 3, 2, dtype=torch.int8), torch.tensor([0.1]), None, y_scale=0.7, y_zero=9, dtype=4,
         **fused, want=lambda v, w, s, b: to_byte(conv(v.float(), w.float()) * s / 0.7, torch.tensor(9, dtype=torch.uint8)))
    addend = whole(2, 3, 3, 4, dtype=torch.int8)
    for zero, relu in ((0, True), (-7, True), (3, False)):
        case("RequantConv2D", whole(2, 4, 6, 5, dtype=torch.int8), whole(3, 4, 3, 2, dtype=torch.int8), r(3, low=0.02, high=0.1), r(3), addend, y_scale=0.7, y_zero=9,
             dtype=4, addend_scale=0.3, addend_zero=zero, relu=relu, **fused,
             want=lambda v, w, s, b, a, zero=zero, relu=relu: to_byte(
                 (lambda t: t.relu() if relu else t)(conv(v.float(), w.float()) * s[:, None, None] + b[:, None, None] + (a.float() - zero) * 0.3) / 0.7,
                 torch.tensor(9, dtype=torch.uint8)))
    case("RequantMatMul", bytes_, whole(5, 4, dtype=torch.int8), r(5, low=0.02, high=0.1), r(5), x_zero=117, transpose_x2=True,
         want=lambda a, b, s, c: (a.float() - 117) @ b.float().T * s + c)


def products(case, r):
    x, rows = r(3, 4), r(2, 3, 4)
    case("FusedMatMul", x, r(4, 2), r(2), None, want=lambda a, b, c, d: F.relu(a @ b + c), fused_op_type="relu")
    case("FusedMatMul", x, r(2, 4), None, None, want=lambda a, b, c, d: F.relu(a @ b.mT), transpose_x2=True, fused_op_type="relu")
    case("FusedMatMul", rows.double(), r(2, 4, 5).double(), r(5).double(), None, want=lambda a, b, c, d: F.relu(a @ b + c), fused_op_type="relu")
    case("FusedMatMul", rows, r(2, 4, 5), r(5), None, want=lambda a, b, c, d: a @ b + c)
    case("FusedMatMul", rows, r(4, 5), None, r(2, 3, 5), want=lambda a, b, c, d: a @ b + d, fused_op_type="add")
    case("FusedMatMul", rows, r(4, 5), r(5), r(2, 3, 5), want=lambda a, b, c, d: a @ b + c + d, fused_op_type="add")
    case("FusedMatMul", rows.half(), r(4, 5).half(), r(5).half(), r(2, 3, 5).half(), want=lambda a, b, c, d: (a.double() @ b.double() + c.double()) * d.double(),
         fused_op_type="mul", tolerance=2e-3)
    case("FusedMatMul", x, r(4, 2), r(2), None, want=lambda a, b, c, d: F.gelu(a @ b + c), fused_op_type="gelu_erf")
    case("FusedMatMul", x, r(4, 2), None, None, want=lambda a, b, c, d: F.gelu(a @ b, approximate="tanh"), fused_op_type="gelu_tanh")
    case("FusedMatMul", x.bfloat16(), r(4, 2).bfloat16(), r(2).bfloat16(), None, want=lambda a, b, c, d: a.double() @ b.double() + c.double(),
         fused_op_type="16cast32", tolerance=1e-6)
    case("FusedMatMul", rows.half(), r(5, 4).half(), None, None, want=lambda a, b, c, d: a.double() @ b.double().mT, transpose_x2=True,
         fused_op_type="16cast32", tolerance=1e-6)
    case("FusedMatMul", r(40, 9).bfloat16(), r(40, 7).bfloat16(), None, None, want=lambda a, b, c, d: a.double().mT @ b.double(), transpose_x1=True,
         fused_op_type="16cast32", tolerance=1e-5)
