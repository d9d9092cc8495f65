"""English or Chinese: UPDRAFT_LANG, else the locale's variables."""

import os


def chinese():
    for name in ("UPDRAFT_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(name)
        if value:
            return value.lower().startswith("zh")
    return False


def t(english, zh):
    return zh if chinese() else english
