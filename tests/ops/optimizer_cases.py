"""Cases of test_graph_operators.py: optimizers. `x` are weights, `dy` their gradient."""
import torch


def ftrl(var, accum, linear, grad, lr, l1, l2, power):
    total = accum + grad ** 2
    linear = linear + grad - (total ** -power - accum ** -power) / lr * var
    return [torch.where(linear.abs() > l1, (linear.sign() * l1 - linear) / (total ** -power / lr + 2 * l2), 0 * var), total, linear]


def lamb(grad, v, m, w, b1, rest1, b2, rest2, eps, steps, use, decay):
    v, m = v * b2 + grad ** 2 * rest2, m * b1 + grad * rest1
    step = m / (1 - b1 ** steps) / ((v / (1 - b2 ** steps)).sqrt() + eps)
    return [step + w * decay * use, v, m]


def lars(w, g, ww, gg, decay, lr, clip=False):
    w_norm, g_norm = ww.sqrt(), gg.sqrt()
    rate = 0.01 * w_norm / (g_norm + decay * w_norm + 1e-5)
    rate = (rate / lr).clamp(max=1.0) if clip else rate
    return (g + decay * w) * torch.where((w_norm > 0) & (g_norm > 0), rate, torch.ones(()))


def one(value):
    return torch.tensor([value])


def add_cases(case, x, y, dy, positive):
    moved = y * 0.9 + dy
    case("ApplyFtrl", x, positive, y, dy, one(0.1), one(0.3), one(0.2), one(-0.5), want=ftrl, tolerance=1e-3)
    case("LambApplyOptimizerAssign", dy, positive, y, x, one(0.9), one(0.1), one(0.99), one(0.01), one(1e-3), one(3.0), one(1.0),
         one(0.02), want=lamb, tolerance=1e-3)
    case("LambApplyWeightAssign", one(2.0), one(0.5), one(0.1), dy, x, want=lambda w, g, lr, u, p: p - lr * w / g * u)
    case("LambApplyWeightAssign", one(0.0), one(0.5), one(0.1), dy, x, want=lambda w, g, lr, u, p: p - lr * u)
    for clip in (False, True):
        case("LarsV2Update", x, dy, one(3.0), one(2.0), one(0.1), one(0.001), use_clip=clip, hyperpara=0.01,
             want=lambda *a, clip=clip: lars(*a, clip))
    case("LarsV2Update", x, dy, one(0.0), one(2.0), one(0.1), one(0.001), want=lars, hyperpara=0.01)
    case("SGD", x, dy, one(0.1), y, one(0.9), torch.zeros(3, 4), want=lambda *a: [x - 0.1 * moved], outputs=1)
    case("SGD", x, dy, one(0.1), y, one(0.9), torch.ones(3, 4), want=lambda *a: [x - 0.1 * dy, dy, torch.zeros(3, 4)], dampening=0.5)
    case("ApplyAdagradD", x, positive, one(0.1), dy, want=lambda *a: [x - 0.1 * dy / (positive + dy ** 2).sqrt(), positive + dy ** 2])
    case("ApplyAdagrad", x, positive, one(0.1), dy, want=lambda *a: [x - 0.1 * dy / (positive + dy ** 2).sqrt()], outputs=1)
    case("ApplyAdaMaxD", x, y, positive, one(0.9), one(0.1), one(0.9), one(0.99), one(1e-3), dy,
         want=lambda *a: (lambda m, v: [x - 0.1 / 0.1 * m / (v + 1e-3), m, v])(0.9 * y + 0.1 * dy, torch.maximum(0.99 * positive, dy.abs())), tolerance=1e-3)
