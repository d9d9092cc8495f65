"""Amounts of different sizes, some of nothing."""


def blocks(ranks, count):
    """The block of each rank."""
    return [(r * 5 + 3) % 7 * count for r in range(ranks)]


def matrix(ranks, count):
    """What each rank has for each, by sender."""
    return [[(s * 3 + d * 5 + 1) % 4 * count for d in range(ranks)] for s in range(ranks)]
