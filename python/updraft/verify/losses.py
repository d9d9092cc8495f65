"""The losses and measures in what a training script prints, and their comparison."""

import math
import re

# after a word: not inside another one (accumulate, glossary, terror)
_WORD = r"(?:loss(?:es)?|acc|accuracy|perplexity|ppl|nll|mse|mae|rmse|psnr|m?iou|bleu|f1|auc|top-?[15]|acc@[15]|prec@[15]|err|error|score)"
_NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf)"
_LABEL = re.compile(r"(?<![A-Za-z])(?:[A-Za-z0-9]+[_./-])*" + _WORD + r"(?![A-Za-z])(?:[_./@-][A-Za-z0-9]+)*", re.IGNORECASE)
# between a label and its number: "loss after epoch 3: ", 'loss': tensor(
_BETWEEN = re.compile(r"""["')\]]*(?:\s+(?:after|at|in|of|for|on|is|was))*
                          (?:[\s(\[]*(?:epoch|step|iter(?:ation)?|batch)\s*[:#=\[]?\s*\d+(?:\s*/\s*\d+)?[\])]*)?
                          (?:[\s:=>(\[|,]|-(?!\d|\.|inf|nan))*(?:tensor\(|np\.float\d+\()?[\s\[]*""", re.IGNORECASE | re.VERBOSE)
_VALUE = re.compile(_NUMBER + r"(?![\w/])(?!\.\d)", re.IGNORECASE)
_AVERAGE = re.compile(r"\s*\(\s*(" + _NUMBER + r")\s*%?\s*\)", re.IGNORECASE)
FIRST = 3  # what is computed before errors have grown is compared more strictly


class Loss:
    """A number with where it stands."""

    def __init__(self, label, text, line, number):
        self.label, self.text, self.line, self.number = label, text, line, number
        self.value = float(text)

    @property
    def accuracy(self):
        return bool(re.search(r"acc|top-?[15]|prec@|iou|f1|auc|err", self.label, re.IGNORECASE))

    @property
    def digit(self):
        """One unit of the last digit printed."""
        mantissa, _, exponent = self.text.lower().partition("e")
        decimals = len(mantissa.partition(".")[2])
        return 10.0 ** (int(exponent or 0) - decimals)


def losses(text):
    """Of all lines, in order. What a progress bar writes over (a carriage return) depends on the time and is left out."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")
        if "\r" in line:
            continue
        for label in _LABEL.finditer(line):
            between = _BETWEEN.match(line, label.end())
            value = _VALUE.match(line, between.end())
            if not value or value.start() == label.end():  # loss3 is a name
                continue
            found.append(Loss(label.group(), value.group(), line, number))
            average = _AVERAGE.match(line, value.end())
            if average:
                found.append(Loss(label.group() + " (average)", average.group(1), line, number))
    return found


def distance(a, b):
    """Relative; 0 for two NaN or equal infinities, infinite where only one is finite."""
    if a.value == b.value or (math.isnan(a.value) and math.isnan(b.value)):
        return 0.0
    if not (math.isfinite(a.value) and math.isfinite(b.value)):
        return math.inf
    return abs(a.value - b.value) / max(abs(a.value), abs(b.value))


def agree(a, b, rtol):
    """Within rtol and what was rounded away in printing. A measure that counts samples may differ by a hundredth of its
    scale."""
    if distance(a, b) == 0:
        return True
    if not (math.isfinite(a.value) and math.isfinite(b.value)):
        return False
    allowed = rtol * max(abs(a.value), abs(b.value)) + 1.001 * max(a.digit, b.digit)
    if a.accuracy:
        allowed = max(allowed, rtol * (100 if max(abs(a.value), abs(b.value)) > 1 else 1))
    return abs(a.value - b.value) <= allowed


class Comparison:
    """first: index of the first pair that differs, or None. Where one side has more, that is `first` = the shorter's length."""

    def __init__(self, ours, theirs, rtol):
        self.ours, self.theirs, self.first, self.largest = ours, theirs, None, 0.0
        for i, (a, b) in enumerate(zip(ours, theirs)):
            self.largest = max(self.largest, distance(a, b))
            if a.label.lower() != b.label.lower() or not agree(a, b, rtol / 10 if i < FIRST else rtol):
                self.first = i
                return
        if len(ours) != len(theirs):
            self.first = min(len(ours), len(theirs))

    @property
    def compared(self):
        return min(len(self.ours), len(self.theirs)) if self.first is None else self.first
