"""The result of a line, and rows of numbers side by side."""

import math
from dataclasses import asdict, dataclass, field

PASS, FAIL, UNKNOWN = "PASS", "FAIL", "NOT KNOWN"


@dataclass
class Line:
    """A line of the guide's list. `number` is its number there."""

    number: str
    id: str
    title: str
    status: str
    evidence: list = field(default_factory=list)  # sentences
    advice: str = ""
    columns: tuple = ()
    rows: list = field(default_factory=list)

    def json(self):
        return asdict(self)


class Gathering:
    """Collects what speaks for and against a line."""

    def __init__(self, number, name, title):
        self._head, self.evidence, self.failed, self.unknown, self.known = (number, name, title), [], False, False, False
        self.columns, self.rows, self._advice = (), [], []

    def good(self, text):
        self.known = True
        self.evidence.append(text)

    def bad(self, text, advice=""):
        self.known = self.failed = True
        self.evidence.insert(0, text)
        if advice and advice not in self._advice:
            self._advice.insert(0, advice)

    def open(self, text, advice=""):
        """Something that a PASS would need is not known."""
        self.unknown = True
        self.evidence.append(text)
        if advice and advice not in self._advice:
            self._advice.append(advice)

    def told(self, text):
        self.evidence.append(text)

    def line(self):
        status = FAIL if self.failed else UNKNOWN if self.unknown or not self.known else PASS
        return Line(*self._head, status, self.evidence, "" if status == PASS else " ".join(self._advice), self.columns, self.rows)


def relative(a, b):
    """|a - b| against the larger; 0 for two NaN or equal infinities, infinite where one alone is finite."""
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.inf
    return abs(a - b) / max(abs(a), abs(b))


def number(value):
    return "%.6g" % value if isinstance(value, float) else str(value)


def ending(values):
    """What a row of losses ends at: the mean of its last tenth, five numbers at least, so that one odd batch does not decide."""
    last = values[-max(min(5, len(values)), len(values) // 10):]
    return sum(last) / len(last)


def first_difference(a, b, tolerance):
    """The index of the first pair that differs by more, or None."""
    return next((i for i, (x, y) in enumerate(zip(a, b)) if relative(x, y) > tolerance), None)
