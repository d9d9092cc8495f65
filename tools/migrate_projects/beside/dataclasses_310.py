"""Since Python 3.11 a dataclass takes no dataclass as a default that cannot be hashed; fairseq 0.12.2 and the hydra that it
wants are written so. They get a hash, as if this were Python 3.10."""
import dataclasses

_process = dataclasses._process_class


def _with_hashes(cls, *args, **keywords):
    for value in vars(cls).values():
        default = value.default if isinstance(value, dataclasses.Field) else value
        if dataclasses.is_dataclass(default) and not isinstance(default, type) and type(default).__hash__ is None:
            type(default).__hash__ = object.__hash__
    return _process(cls, *args, **keywords)


dataclasses._process_class = _with_hashes
