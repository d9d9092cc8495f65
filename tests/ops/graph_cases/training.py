"""Cases of test_graph_operators.py: batch normalisation in training, and with the channels last."""
import torch
import torch.nn.functional as F


def training(v, w, b, m, s, factor=1.0, epsilon=1e-4):
    """What TensorFlow's form gives for NCHW, in float64."""
    v, w, b, m, s = (t.double() for t in (v, w, b, m, s))
    n = v.numel() // v.shape[1]
    mean, variance = v.mean((0, 2, 3)), v.var((0, 2, 3), correction=0)
    by = [(slice(None), None, None)]
    out = (v - mean[by[0]]) / torch.sqrt(variance + epsilon)[by[0]] * w[by[0]] + b[by[0]]
    return [t.float() for t in (out, (1 - factor) * m + factor * mean, (1 - factor) * s + factor * variance * n / (n - 1), mean, variance)]


def training_gradient(dy, v, w, mean, variance, epsilon=1e-4):
    dy, v, w, mean, variance = (t.double() for t in (dy, v, w, mean, variance))
    by, n = (slice(None), None, None), v.numel() // v.shape[1]
    hat = (v - mean[by]) / torch.sqrt(variance + epsilon)[by]
    scale, offset = (dy * hat).sum((0, 2, 3)), dy.sum((0, 2, 3))
    dx = (w / torch.sqrt(variance + epsilon))[by] * (dy - offset[by] / n - hat * scale[by] / n)
    return [t.float() for t in (dx, scale, offset)]


def add_cases(case, r, to_last):
    image, scale, offset, mean, variance = r(2, 4, 6, 5), r(4, low=0.5), r(4), r(4), r(4, low=0.5)
    case("FusedBatchNormTraining", image, scale, offset, mean, variance, want=training, data_format="NCHW")
    case("FusedBatchNormTraining", to_last(image), scale, offset, mean, variance, exponential_avg_factor=0.25,
         want=lambda v, *o: [to_last(t) if t.dim() == 4 else t for t in training(v.permute(0, 3, 1, 2), *o, factor=0.25)])
    wide, more = r(3, 16, 20, 19), r(3, 16, 20, 19, low=-1)
    vectors = [r(16, low=0.5), r(16), r(16), r(16, low=0.5)]

    def with_tail(a, added, relu):
        out, *rest = training(*a)
        out = out if added is None else out + added
        return [out.relu() if relu else out, *rest]

    for added, relu in ((None, True), (more, False), (more, True)):
        case("FusedBatchNormTraining", wide, *vectors, added, relu=relu, data_format="NCHW", want=lambda *a, m=added, f=relu: with_tail(a[:5], m, f))
        case("FusedBatchNormTraining", to_last(wide), *vectors, None if added is None else to_last(added), relu=relu, tolerance=1e-4,
             want=lambda v, *o, m=added, f=relu: [to_last(t) if t.dim() == 4 else t for t in with_tail((v.permute(0, 3, 1, 2), *o[:4]), m, f)])
        case("FusedBatchNormTraining", to_last(wide).bfloat16(), *vectors, None if added is None else to_last(added).bfloat16(), relu=relu, tolerance=2e-2,
             want=lambda v, *o, m=added, f=relu: [to_last(t).bfloat16() if t.dim() == 4 else t
                                                  for t in with_tail((v.float().permute(0, 3, 1, 2), *o[:4]), m, f)])
    case("FusedBatchNormTrainingGrad", r(2, 4, 6, 5, low=-1), image, scale, image.mean((0, 2, 3)), image.var((0, 2, 3), correction=0),
         want=training_gradient, data_format="NCHW")

    sums = [image.sum((0, 2, 3)), (image ** 2).sum((0, 2, 3))]
    batch_mean, batch_variance = image.mean((0, 2, 3)), image.var((0, 2, 3), correction=0)
    case("BNTrainingUpdateV2", image, *sums, scale, offset, epsilon=1e-3, tolerance=1e-3,
         want=lambda *a: [F.batch_norm(image, None, None, scale, offset, True, eps=1e-3), batch_mean, batch_variance])
    case("BatchNormV3", image, scale, offset, mean, variance, tolerance=1e-3,
         want=lambda *a: [F.batch_norm(image, None, None, scale, offset, True), 0.9 * mean + 0.1 * batch_mean,
                          0.9 * variance + 0.1 * image.var((0, 2, 3)), batch_mean, 1 / (batch_variance + 1e-5).sqrt()])
    case("BNInferGrad", image, scale, variance, want=lambda g, s, q: g * (s / (q + 1e-4).sqrt())[:, None, None])
    case("BatchNorm", to_last(image), scale, offset, mean, variance, epsilon=1e-3, is_training=False,
         want=lambda v, *a: [to_last(F.batch_norm(image, a[2], a[3], a[0], a[1], eps=1e-3)), mean, variance, mean, variance, torch.empty(0)], outputs=6)
