"""Compiles a C source by a profile of its own work: compiled to count, run on Python sources, compiled again (gcc).

What is parsed is the standard library of the interpreter that runs this, the same files in the same order each time. Where
counting or running fails the source is compiled without a profile, and a line says so.

usage: profile_guided.py SOURCE TRAINER OBJECT -- COMPILER [FLAG ...]
"""

import os
import pathlib
import subprocess
import sys
import sysconfig

BYTES = 1_500_000


def sources():
    """Names of modules of the standard library, up to BYTES in all."""
    left = BYTES
    for path in sorted(pathlib.Path(sysconfig.get_path("stdlib")).glob("*.py")):
        left -= path.stat().st_size
        if left < 0:
            return
        yield str(path)


def main():
    at = sys.argv.index("--")
    source, trainer, target = sys.argv[1:at]
    compiler = sys.argv[at + 1:]
    target = pathlib.Path(target).resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    names = list(sources())
    # gcc finds the counts of a static function by the object's name: both compilations write to one
    compile_ = [*compiler, "-c", source, "-o", str(target)]
    counts, program = target.with_suffix(".gcda"), target.with_name("train")
    guided = []
    try:
        counts.unlink(missing_ok=True)
        if not names:
            raise OSError("the interpreter has no standard library in sources")
        subprocess.run([*compile_, "-fprofile-generate", "-fprofile-update=single"], check=True)
        subprocess.run([*compiler, trainer, str(target), "-fprofile-generate", "-o", str(program)], check=True)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("GCOV_")}
        subprocess.run([str(program)], input="\n".join(names) + "\n", text=True, check=True, timeout=120, env=environment,
                       stdout=subprocess.DEVNULL)
        if not counts.is_file():
            raise OSError(f"{counts} was not written")
        guided = ["-fprofile-use", "-fprofile-partial-training"]
    except (OSError, subprocess.SubprocessError) as error:
        print(f"{source}: compiled without a profile: {error}", file=sys.stderr)
    subprocess.run([*compile_, *guided], check=True)


if __name__ == "__main__":
    main()
