"""A package index on this machine, with small wheels of a toy framework that is called torch.

The toy is a real package: pip installs it, an interpreter imports it, and `bot.target.probe` finds what it
looks for. All it can do is `torch.answer()`: 42 where it is right, 41 where the build carries the bug.

    builds = [ToyBuild("20261101"), ToyBuild("20261102", fault=Fault.IMPORT), ToyBuild("20261103", bad=True)]
    with Index(tmp_path, builds) as index:
        index.url                       # for the setting nightly_index
        index.variables                 # environment variables that keep pip away from any other index
        index.answers["/torch/"] = Answer.HANG
        index.downloads                 # names of the wheels that were asked for, in order
"""

from __future__ import annotations

import hashlib
import io
import json
import threading
import time
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, unquote, urlsplit


class Fault(StrEnum):
    """What is wrong with a build, if anything."""

    NONE = "none"
    MISSING = "missing"
    """The index lists its wheel and does not have it."""
    METADATA = "metadata"
    DEPENDENCY = "dependency"
    """It needs a package that nobody has."""
    PYTHON = "python"
    """Its metadata, not the index, says that it is for another Python."""
    IMPORT = "import"


class Answer(StrEnum):
    """What the server does instead of answering well."""

    ERROR = "error"
    """500."""
    HANG = "hang"
    """Takes the request and says nothing."""
    DRIP = "drip"
    """Sends ten bytes a second."""
    TRUNCATED = "truncated"
    """Sends half of what it promised."""
    OTHER_BYTES = "other-bytes"
    """Sends the file with one more byte at its end."""
    PROSE = "prose"
    """Sends a web page that is no index."""


@dataclass(frozen=True)
class ToyBuild:
    """One dated build. `bad` carries the bug; `flaky` carries it every other time it is asked."""

    date: str
    """`20261101`."""
    bad: bool = False
    flaky: bool = False
    fault: Fault = Fault.NONE
    needs: tuple[str, ...] = ()
    kib: int = 0
    """How big it is when installed, beyond a few files."""
    import_seconds: float = 0.0
    variant: str = "cpu"

    @property
    def version(self) -> str:
        return f"2.15.0.dev{self.date}+{self.variant}"

    @property
    def git_sha(self) -> str:
        return hashlib.sha1(self.version.encode()).hexdigest()

    @property
    def filename(self) -> str:
        return f"torch-{self.version}-py3-none-any.whl"

    def wheel(self) -> bytes:
        """The bytes of its wheel, the same whenever they are made."""
        metadata = [f"Requires-Dist: {need}" for need in self.needs]
        if self.fault is Fault.DEPENDENCY:
            metadata.append("Requires-Dist: nightfuzz-toy-that-nobody-has==1.0")
        if self.fault is Fault.PYTHON:
            metadata.append("Requires-Python: >=99")
        files = {
            "torch/version.py": f'git_version = "{self.git_sha}"\ncuda = None\n',
            "torch/__init__.py": self._source(),
        }
        if self.kib:
            files["torch/weights.bin"] = "w" * 1024 * self.kib
        made = wheel("torch", self.version, files, metadata)
        return _without_metadata(made) if self.fault is Fault.METADATA else made

    def _source(self) -> str:
        lines = ["import os, time", "from . import version", f'__version__ = "{self.version}"']
        if self.import_seconds:
            lines.append(f"time.sleep({self.import_seconds})")
        if self.fault is Fault.IMPORT:
            lines.append("raise OSError('libtoy.so: cannot open shared object file')")
        lines += ["def answer():", f"    return {self._answer()}"]
        lines += ["def _toggled(path=os.path.join(os.path.dirname(__file__), 'toggle')):"]
        lines += ["    try: os.remove(path)", "    except FileNotFoundError: open(path, 'w').close()"]
        lines += ["    return os.path.exists(path)"]
        return "\n".join(lines) + "\n"

    def _answer(self) -> str:
        if self.flaky:
            return "41 if _toggled() else 42"
        return "41" if self.bad else "42"


def days(count: int, first_bad: int | None = None, **special: Any) -> list[ToyBuild]:
    """Builds of consecutive days from 1 October 2026; from the `first_bad`th on (from 0) they have the bug.
    `special` maps `at<index>` to fields of that build: `days(60, 31, at30={"fault": Fault.IMPORT})`."""
    start = time.mktime((2026, 10, 1, 12, 0, 0, 0, 0, -1))
    dates = [time.strftime("%Y%m%d", time.localtime(start + n * 86400)) for n in range(count)]
    return [
        ToyBuild(date, **{"bad": first_bad is not None and n >= first_bad, **special.get(f"at{n}", {})})
        for n, date in enumerate(dates)
    ]


def wheel(name: str, version: str, files: dict[str, str], metadata: Sequence[str] = ()) -> bytes:
    """A pure Python wheel."""
    info = f"{name}-{version}.dist-info"
    head = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *metadata]
    files = {
        **files,
        f"{info}/METADATA": "\n".join(head) + "\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: toy\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for path, text in files.items():
            archive.writestr(zipfile.ZipInfo(path, (2026, 1, 1, 0, 0, 0)), text)
    return made.getvalue()


def _without_metadata(made: bytes) -> bytes:
    kept = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(made)) as before, zipfile.ZipFile(kept, "w") as after:
        for member in before.infolist():
            if not member.filename.endswith("METADATA"):
                after.writestr(member, before.read(member))
    return kept.getvalue()


@dataclass
class Served:
    """A folder, served over HTTP. `answers` maps the end of a path to what happens instead; `requests` has
    every path that was asked for, in order. Both may be looked at and changed while it serves."""

    folder: Path
    answers: dict[str, Answer] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._over = threading.Event()
        handler = partial(_Handler, self, directory=str(self.folder))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def wait_for(self, end_of_path: str, seconds: float = 60.0) -> None:
        """Until a path with that end is asked for."""
        deadline = time.monotonic() + seconds
        while not any(path.endswith(end_of_path) for path in list(self.requests)):
            assert time.monotonic() < deadline, f"nobody asked for {end_of_path}: {self.requests}"
            time.sleep(0.01)

    def hold(self, seconds: float) -> bool:
        """Wait; whether the server is over."""
        return self._over.wait(seconds)


class Index(Served):
    """A package index (PEP 503; PEP 691 with `as_json`) of toy builds; `hashes`: whether it tells them."""

    def __init__(
        self, folder: Path, builds: Sequence[ToyBuild], *, hashes: bool = True, as_json: bool = False
    ) -> None:
        super().__init__(folder / "index")
        self.builds, self.hashes, self.as_json = list(builds), hashes, as_json
        self.extras = folder / "extras"
        self.extras.mkdir(parents=True)
        for name, version in (("expecttest", "0.3.0"), ("numpy", "1.26.0")):
            path = self.extras / f"{name}-{version}-py3-none-any.whl"
            path.write_bytes(wheel(name, version, {f"{name}.py": ""}))
        for build in self.builds:
            self.put("torch", build.filename, build.wheel(), listed_only=build.fault is Fault.MISSING)

    def put(self, project: str, filename: str, content: bytes, *, listed_only: bool = False) -> None:
        """Add a wheel, or replace it; `listed_only`: the page has it, the server does not."""
        place = self.folder / project
        place.mkdir(parents=True, exist_ok=True)
        if not listed_only:
            (place / filename).write_bytes(content)
        page = place / "page.json"
        known = json.loads(page.read_text()) if page.exists() else {}
        known[filename] = hashlib.sha256(content).hexdigest()
        page.write_text(json.dumps(known))

    def page(self, project: str) -> tuple[str, bytes]:
        """(media type, content) of a project's page."""
        known = json.loads((self.folder / project / "page.json").read_text())
        if self.as_json:
            files = [
                {"filename": name, "url": quote(name), "hashes": {"sha256": sha} if self.hashes else {}}
                for name, sha in known.items()
            ]
            plain = {"meta": {"api-version": "1.1"}, "name": project, "files": files, "versions": []}
            return "application/vnd.pypi.simple.v1+json", json.dumps(plain).encode()
        links = "".join(
            f'<a href="{quote(name)}{"#sha256=" + sha if self.hashes else ""}">{name}</a><br>\n'
            for name, sha in known.items()
        )
        return "text/html", f"<!DOCTYPE html><html><body>{links}</body></html>".encode()

    @property
    def variables(self) -> dict[str, str]:
        """With these pip knows of the extras (`expecttest`, `numpy`) and of nothing else."""
        return {"PIP_CONFIG_FILE": "/dev/null", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.extras)}

    @property
    def downloads(self) -> list[str]:
        """The names of the wheels that were asked for, in order."""
        return [path.rpartition("/")[2] for path in list(self.requests) if path.endswith(".whl")]


class _Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.0"

    def __init__(self, served: Served, *arguments: Any, directory: str) -> None:
        self.served = served
        super().__init__(*arguments, directory=directory)

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.served.requests.append(path)
        answer = next((a for end, a in list(self.served.answers.items()) if path.endswith(end)), None)
        # Whoever asked has had enough, as some are meant to.
        with suppress(BrokenPipeError, ConnectionResetError):
            self._answer(path, answer)

    def _answer(self, path: str, answer: Answer | None) -> None:
        place = Path(self.translate_path(self.path))
        if answer is Answer.HANG:
            self.served.hold(600.0)
        elif answer is Answer.ERROR:
            self.send_error(500)
        elif answer is Answer.PROSE:
            self._send("text/html", b"<html><body><h1>Welcome</h1><a href='news'>News</a></body></html>")
        elif isinstance(self.served, Index) and (place / "page.json").exists():
            kind, content = self.served.page(place.name)
            self._send(kind, content, answer)
        elif answer is not None:
            self._send("application/octet-stream", place.read_bytes(), answer)
        else:
            super().do_GET()

    def _send(self, kind: str, content: bytes, answer: Answer | None = None) -> None:
        if answer is Answer.OTHER_BYTES:
            content += b"x"
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if answer is Answer.TRUNCATED:
            content = content[: len(content) // 2]
        if answer is Answer.DRIP:
            for start in range(0, len(content), 10):
                self.wfile.write(content[start : start + 10])
                if self.served.hold(1.0):
                    return
        else:
            self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing: `requests` has it."""
