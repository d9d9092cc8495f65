"""What scripts of pyACL ask of its answers, and where they register. It needs acl alone."""

import acl

PROGRAMS = {}


def program(f):
    PROGRAMS[f.__name__] = f
    return f


def good(ret):
    assert ret == 0, (ret, acl.get_recent_err_msg())


def value(pair):
    good(pair[-1])
    return pair[0] if len(pair) == 2 else pair[:-1]


def refused(ret, code, *words):
    text = acl.get_recent_err_msg()
    assert ret == code, (ret, text)
    for word in words:
        assert word in text, (word, text)
