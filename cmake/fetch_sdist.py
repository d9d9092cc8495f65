"""Puts the sdists of a lock file, unpacked, into a folder: from a cache, from pip's indexes, or from PyPI.

Only a file with the locked SHA-256 is ever unpacked. Looked into, in this order: the folder named by UPDRAFT_SDISTS,
the cache ($XDG_CACHE_HOME/updraft), the folders and indexes that pip is configured with (find-links, index-url,
extra-index-url), https://pypi.org/simple.

usage: fetch_sdist.py LOCK.toml FOLDER
"""

import hashlib
import html.parser
import io
import os
import pathlib
import shutil
import ssl
import subprocess
import sys
import tarfile
import urllib.parse
import urllib.request

try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib


class Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        if tag == "a":
            self.found += [value for key, value in attrs if key == "href" and value]


def pip_places():
    """(folders, indexes) that pip looks into."""
    folders, indexes = [], []
    try:
        lines = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True).stdout.splitlines()
    except OSError:
        lines = []
    lines += ["env.%s=%r" % (k[4:].lower().replace("_", "-"), v) for k, v in os.environ.items() if k.startswith("PIP_")]
    for line in lines:
        key, _, value = line.partition("=")
        values = value.strip("'\"").replace("\\n", " ").split()
        if key.endswith("find-links"):
            folders += values
        elif key.endswith("index-url"):
            indexes += values
    return folders, indexes + ["https://pypi.org/simple"]


def read(url):
    cert = os.environ.get("PIP_CERT") or os.environ.get("SSL_CERT_FILE")
    context = ssl.create_default_context(cafile=cert) if url.startswith("https") else None
    request = urllib.request.Request(url, headers={"User-Agent": "updraft-build"})
    with urllib.request.urlopen(request, timeout=60, context=context) as answer:
        return answer.read()


def candidates(name, version):
    file = "%s-%s.tar.gz" % (name, version)
    names = {file, file.replace(name, name.replace("-", "_"), 1)}
    yield from ((pathlib.Path(folder) / n).as_uri() for folder in local_folders() for n in sorted(names))
    folders, indexes = pip_places()
    yield from ((pathlib.Path(f.removeprefix("file://")) / n).as_uri() for f in folders if not f.startswith("http")
                for n in sorted(names))
    for index in indexes:
        page = index.rstrip("/") + "/" + name + "/"
        try:
            text = read(page if not page.startswith("file:") else page + "index.html").decode()
        except (OSError, ValueError):
            continue
        links = Links()
        links.feed(text)
        for link in links.found:
            url = urllib.parse.urljoin(page, link).split("#")[0]
            if urllib.parse.unquote(url.rsplit("/", 1)[-1]) in names:
                yield url


def cache():
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "updraft"


def local_folders():
    given = os.environ.get("UPDRAFT_SDISTS")
    return ([pathlib.Path(given).resolve()] if given else []) + [cache()]


def fetch(name, version, sha256):
    tried = []
    for url in candidates(name, version):
        try:
            data = read(url)
        except (OSError, ValueError) as error:
            if not url.startswith("file:"):
                tried.append("%s: %s" % (url, error))
            continue
        if hashlib.sha256(data).hexdigest() == sha256:
            return data
        tried.append("%s: another file (SHA-256 differs)" % url)
    sys.exit("%s %s could not be had:\n  %s\nPut %s-%s.tar.gz from https://pypi.org/project/%s/ into a folder and name it in "
             "UPDRAFT_SDISTS." % (name, version, "\n  ".join(tried) or "no index has it", name, version, name))


def keep(name, version, data):
    """In the cache; where that cannot be written, nowhere."""
    try:
        cache().mkdir(parents=True, exist_ok=True)
        partial = cache() / ("%s-%s.%d" % (name, version, os.getpid()))
        partial.write_bytes(data)
        partial.replace(cache() / ("%s-%s.tar.gz" % (name, version)))
    except OSError:
        pass


def unpack(data, folder):
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive.getmembers():
            parts = pathlib.PurePosixPath(member.name).parts[1:]
            if member.isfile() and parts and ".." not in parts:
                target = folder.joinpath(*parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.extractfile(member).read())


def main():
    lock, folder = map(pathlib.Path, sys.argv[1:])
    for sdist in tomllib.loads(lock.read_text())["sdist"]:
        name, version, sha256 = sdist["name"], sdist["version"], sdist["sha256"]
        target, stamp = folder / name, folder / (name + ".sha256")
        if stamp.is_file() and stamp.read_text() == sha256 and target.is_dir():
            continue
        data = fetch(name, version, sha256)
        keep(name, version, data)
        shutil.rmtree(target, ignore_errors=True)
        unpack(data, target)
        stamp.write_text(sha256)


main()
