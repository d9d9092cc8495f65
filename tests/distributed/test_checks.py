"""The checks of tests/distributed/checks, by 2 and by 4 ranks."""
import importlib
import pkgutil

import pytest

from . import checks
from .registry import run_all, wanted


def load():
    for module in pkgutil.iter_modules(checks.__path__):
        importlib.import_module(f"{checks.__name__}.{module.name}")


load()


class Reports:
    """Runs the selected checks of a number of ranks when the first is asked for."""

    def __init__(self, items, folder, **options):
        self.folder, self.options, self.results, self.selected = folder, options, {}, {}
        for item in items:
            if item.originalname == "test_check":
                self.selected.setdefault(item.callspec.params["ranks"], []).append(item.callspec.params["name"])

    def verdict(self, ranks, name):
        if ranks not in self.results:
            self.results[ranks] = run_all(self.folder, ranks, self.selected[ranks], **self.options)
        problem = self.results[ranks][name]
        if problem:
            pytest.fail(problem, pytrace=False)


@pytest.fixture(scope="module")
def reports(request, tmp_path_factory):
    return Reports([i for i in request.session.items if i.module is request.module], tmp_path_factory.mktemp("checks"))


@pytest.mark.timeout(3600)  # the first test of each number of ranks waits for all; run_all has its own limits
@pytest.mark.parametrize("ranks, name", [(n, name) for n in (2, 4) for name in wanted(n)])
def test_check(reports, ranks, name):
    reports.verdict(ranks, name)
