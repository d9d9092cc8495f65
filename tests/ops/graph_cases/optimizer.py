"""Cases of test_graph_operators.py: optimizers. `x` are weights, `dy` their gradient."""
import torch


def ftrl(var, accum, linear, grad, lr, l1, l2, power, shrinkage=0.0):
    total = accum + grad ** 2
    linear = linear + grad + 2 * shrinkage * var - (total ** -power - accum ** -power) / lr * var
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


def by_rows(step, variables, grad, indices):
    """step(row of each variable, row of the gradient) gives the new rows, for one index after the other."""
    variables = [v.clone() for v in variables]
    for i, row in enumerate(indices):
        for v, new in zip(variables, step(*[v[row].clone() for v in variables], grad[i])):
            v[row] = new
    return variables


def sparse_cases(case, x, y, dy, positive):
    rows, half = torch.tensor([2, 0, 2]), positive / 2

    def sparse(kind, step, variables, *rates, first=False, **attributes):
        """`first`: the gradient stands before the rates. Behind it are indices, and momentum."""
        behind = rates[-1:] if kind.endswith("Momentum") else ()
        rates = rates[:-1] if behind else rates
        tensors = [one(r) for r in rates]
        for index in (torch.int32, torch.int64):
            inputs = (dy, rows.to(index), *tensors) if first else (*tensors, dy, rows.to(index), *[one(b) for b in behind])
            case(kind, *variables, *inputs, want=lambda *a: by_rows(step, variables, dy, rows.tolist()), tolerance=1e-4, **attributes)

    for slots in (True, False):
        grow = lambda a, g, slots=slots: a + g * g if slots else a  # noqa: E731
        sparse("SparseApplyAdagrad", lambda w, a, g, f=grow: (w - 0.1 * g / f(a, g).sqrt(), f(a, g)), [x, positive], 0.1, update_slots=slots)
        sparse("SparseApplyAdagradV2", lambda w, a, g, f=grow: (w - 0.1 * g / (f(a, g).sqrt() + 0.5), f(a, g)), [x, positive], 0.1, 0.5, update_slots=slots)
        sparse("SparseApplyAdagradD", lambda w, a, g, f=grow: (w - 0.1 * g / f(a, g).sqrt(), f(a, g)), [x, positive], lr=0.1, update_slots=slots)
        sparse("SparseApplyAdagradV2D", lambda w, a, g, f=grow: (w - 0.1 * g / (f(a, g).sqrt() + 0.5), f(a, g)), [x, positive], lr=0.1, epsilon=0.5,
               update_slots=slots)
    for nesterov in (False, True):
        sparse("SparseApplyMomentum", lambda w, a, g, n=nesterov: (w - 0.1 * (g + 0.9 * (a * 0.9 + g) if n else a * 0.9 + g), a * 0.9 + g), [x, y], 0.1, 0.9,
               use_nesterov=nesterov)
        sparse("SparseApplyKerasMomentum", lambda w, a, g, n=nesterov: (w + (0.9 * (a * 0.9 - 0.1 * g) - 0.1 * g if n else a * 0.9 - 0.1 * g), a * 0.9 - 0.1 * g),
               [x, y], 0.1, 0.9, use_nesterov=nesterov)

    def adadelta(w, a, u, g):
        a = 0.9 * a + 0.1 * g * g
        step = (u + 0.01).sqrt() / (a + 0.01).sqrt() * g
        return w - 0.1 * step, a, 0.9 * u + 0.1 * step * step

    def rms(w, ms, mom, g):
        ms = 0.9 * ms + 0.1 * g * g
        mom = 0.8 * mom + 0.1 * g / (ms + 0.01).sqrt()
        return w - mom, ms, mom

    def centred(w, mg, ms, mom, g):
        mg, ms = 0.9 * mg + 0.1 * g, 0.9 * ms + 0.1 * g * g
        mom = 0.8 * mom + 0.1 * g / (ms - mg * mg + 0.01).sqrt()
        return w - mom, mg, ms, mom

    def shrunk(p, rate):
        return p.sign() * (p.abs() - 0.05 * rate).clamp(min=0) / (1 + 0.2 * rate)

    sparse("SparseApplyAdadelta", adadelta, [x, positive, half], 0.1, 0.9, 0.01)
    sparse("SparseApplyRMSProp", rms, [x, positive, y], 0.1, 0.9, 0.8, 0.01)
    sparse("SparseApplyRMSPropD", rms, [x, positive, y], 0.1, rho=0.9, momentum=0.8, epsilon=0.01)
    sparse("SparseApplyCenteredRMSProp", centred, [x, y * 0.01, positive, dy], 0.1, 0.9, 0.8, 0.01)
    for power in (-0.5, -0.7):
        sparse("SparseApplyFtrl", lambda *a, p=power: ftrl(*a, 0.1, 0.3, 0.2, p), [x, positive, y], 0.1, 0.3, 0.2, power, first=True)
        sparse("SparseApplyFtrlV2", lambda *a, p=power: ftrl(*a, 0.1, 0.3, 0.2, p, 0.15), [x, positive, y], 0.1, 0.3, 0.2, 0.15, power, first=True)
        rates = {"lr": 0.1, "l1": 0.3, "l2": 0.2, "lr_power": power}
        sparse("SparseApplyFtrlD", lambda *a, p=power: ftrl(*a, 0.1, 0.3, 0.2, p), [x, positive, y], first=True, **rates)
        sparse("SparseApplyFtrlV2D", lambda *a, p=power: ftrl(*a, 0.1, 0.3, 0.2, p, 0.15), [x, positive, y], first=True, l2_shrinkage=0.15, **rates)
    case("ApplyFtrlV2", x, positive, y, dy, one(0.1), one(0.3), one(0.2), one(0.15), one(-0.5), tolerance=1e-3,
         want=lambda v, a, i, g, lr, l1, l2, shrinkage, power: ftrl(v, a, i, g, lr, l1, l2, power, shrinkage))
    for kind in ("SparseApplyProximalAdagrad", "SparseApplyProximalAdagradD"):
        sparse(kind, lambda w, a, g: (shrunk(w - 0.1 * g / (a + g * g).sqrt(), 0.1 / (a + g * g).sqrt()), a + g * g), [x, positive], 0.1, 0.05, 0.2)
    sparse("SparseApplyProximalGradientDescent", lambda w, g: (shrunk(w - 0.1 * g, 0.1),), [x], 0.1, 0.05, 0.2)


def one(value):
    return torch.tensor([value])


def add_cases(case, x, y, dy, positive):
    moved = y * 0.9 + dy
    sparse_cases(case, x, y, dy, positive)
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
