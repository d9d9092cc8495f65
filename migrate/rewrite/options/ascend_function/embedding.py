"""Bags of embeddings."""

import torch


# replaces torch.nn.functional.embedding_bag
def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean", sparse=False,
                  per_sample_weights=None, include_last_offset=False, padding_idx=None):
    if input.dtype == weight.dtype and input.is_floating_point():  # the old order of the two
        input, weight = weight, input
    if mode not in ("sum", "mean", "max"):
        raise ValueError("embedding_bag: mode is sum, mean or max, not %r" % (mode,))
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError("embedding_bag: per_sample_weights needs mode sum, not %s" % mode)
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError("embedding_bag: a 2-D input has no offsets")
        bags, each = input.shape
        offsets = torch.arange(bags, device=input.device) * each
        input = input.reshape(-1)
        per_sample_weights = per_sample_weights.reshape(-1) if per_sample_weights is not None else None
    elif offsets is None:
        raise ValueError("embedding_bag: a 1-D input needs offsets")
    else:
        bags = offsets.shape[0] - (1 if include_last_offset else 0)
        offsets = offsets[:bags]
    rows = torch.nn.functional.embedding(input, weight, max_norm=max_norm, norm_type=norm_type,
                                         scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)
    places = torch.arange(input.shape[0], device=input.device)
    bag = (places.unsqueeze(1) >= offsets.unsqueeze(0)).sum(1) - 1
    counted = torch.ones_like(input, dtype=torch.bool)
    if padding_idx is not None:
        counted = input != (padding_idx if padding_idx >= 0 else weight.shape[0] + padding_idx)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1).to(rows.dtype)
    sums = torch.zeros(bags, weight.shape[1], dtype=weight.dtype, device=weight.device)
    if mode == "max":
        return _largest(rows, bag, counted, bags)
    sums = sums.index_add(0, bag, torch.where(counted.unsqueeze(1), rows, torch.zeros_like(rows)))
    if mode == "sum":
        return sums
    sizes = torch.zeros(bags, dtype=weight.dtype, device=weight.device).index_add(0, bag, counted.to(weight.dtype))
    return sums / sizes.clamp(min=1).unsqueeze(1)


def _largest(rows, bag, counted, bags):
    """Each bag's rows side by side, padded; an empty bag gives 0."""
    members = (bag.unsqueeze(0) == torch.arange(bags, device=bag.device).unsqueeze(1)) & counted.unsqueeze(0)
    low = torch.full((), float("-inf"), dtype=rows.dtype, device=rows.device)
    largest = torch.where(members.unsqueeze(2), rows.unsqueeze(0), low).max(1).values if rows.shape[0] else \
        rows.new_zeros(bags, rows.shape[1])
    return torch.where(members.any(1).unsqueeze(1), largest, torch.zeros_like(largest))
