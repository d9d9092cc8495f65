"""Distances and losses."""

import torch
from torch.nn.functional import logsigmoid, pairwise_distance


def _reduce(loss, reduction):
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError("reduction is none, mean or sum, not %r" % (reduction,))


def _reduction(size_average, reduce, reduction):
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


# replaces torch.nn.functional.pdist
def pdist(input, p=2.0):
    if input.dim() != 2:
        raise RuntimeError("pdist: a 2-D tensor is needed, not one of %d dimensions" % input.dim())
    rows = input.shape[0]
    upper = torch.triu(torch.ones(rows, rows, dtype=torch.bool, device=input.device), 1).nonzero()
    difference = (input[upper[:, 0]] - input[upper[:, 1]]).abs()
    if p == 0:
        return (difference != 0).to(input.dtype).sum(1)
    if p == 1:
        return difference.sum(1)
    if p == float("inf"):
        return difference.amax(1)
    total = difference.pow(p).sum(1)
    same = total == 0  # the gradient of the root is infinite there, that of pdist 0
    return torch.where(same, torch.zeros_like(total), torch.where(same, torch.ones_like(total), total).pow(1.0 / p))


# replaces torch.nn.functional.triplet_margin_loss
def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None,
                        reduction="mean"):
    return triplet_margin_with_distance_loss(anchor, positive, negative, margin=margin, swap=swap,
                                             distance_function=lambda a, b: pairwise_distance(a, b, p, eps),
                                             reduction=_reduction(size_average, reduce, reduction))


# replaces torch.nn.functional.triplet_margin_with_distance_loss
def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False,
                                      reduction="mean"):
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = torch.minimum(far, distance(positive, negative))
    return _reduce((margin + near - far).clamp(min=0), reduction)


# replaces torch.nn.functional.multilabel_soft_margin_loss
def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return _reduce(loss.mean(-1), _reduction(size_average, reduce, reduction))


# replaces torch.nn.CosineEmbeddingLoss
class CosineEmbeddingLoss(torch.nn.Module):
    def __init__(self, margin=0.0, size_average=None, reduce=None, reduction="mean"):
        super().__init__()
        self.margin, self.reduction = margin, _reduction(size_average, reduce, reduction)

    def forward(self, input1, input2, target):
        tiny = 1e-12
        cosine = (input1 * input2).sum(-1) / (((input1 * input1).sum(-1) + tiny) * ((input2 * input2).sum(-1) + tiny)).sqrt()
        zero = torch.zeros_like(cosine)
        loss = torch.where(target == 1, 1 - cosine, zero) + torch.where(target == -1, (cosine - self.margin).clamp(min=0), zero)
        return _reduce(loss, self.reduction)


# replaces torch.nn.MultiLabelMarginLoss
class MultiLabelMarginLoss(torch.nn.Module):
    def __init__(self, size_average=None, reduce=None, reduction="mean"):
        super().__init__()
        self.reduction = _reduction(size_average, reduce, reduction)

    def forward(self, input, target):
        one = input.dim() == 1
        scores, labels = (input.unsqueeze(0), target.unsqueeze(0)) if one else (input, target)
        counts = (labels >= 0).to(torch.int64).cumprod(1).bool()  # up to the first -1
        index = labels.clamp(min=0)
        is_target = torch.zeros_like(scores).scatter_add(1, index, counts.to(scores.dtype)) > 0
        margins = (1 - (scores.gather(1, index).unsqueeze(2) - scores.unsqueeze(1))).clamp(min=0)  # [n, label, class]
        taken = counts.unsqueeze(2) & ~is_target.unsqueeze(1)
        loss = torch.where(taken, margins, torch.zeros_like(margins)).sum((1, 2)) / scores.shape[1]
        return _reduce(loss[0] if one else loss, self.reduction)
