"""Environments: real ones, made by a real pip from a local index, and every way in which that fails."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot import fresh
from bot.builds.environments import CannotInstall, Environments
from bot.builds.nightly import DatedVersions
from bot.builds.offer import Offer
from bot.builds.pythons import examine
from bot.builds.web import Web
from bot.errors import MachineryFailure
from fuzzers.records import Build, Ending
from tests.integration.toy_index import Answer, Fault, Index, Served, ToyBuild, wheel

TREE = Path(__file__).parents[2]
PYTHON = examine(sys.executable)
QUICK = Web(page_seconds=5.0, wheel_seconds=5.0)
NIGHT = ToyBuild("20261101")
NEXT = ToyBuild("20261102", bad=True)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own; pip knows of no index."""
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    return tmp_path


class Cache:
    """The environments below a folder, with what they said."""

    def __init__(self, home: Path, **more: Any) -> None:
        self.said: list[str] = []
        self.root = home / "cache"
        told = {"bound_gib": 1.0, "extras": {}, "web": QUICK, **more}
        self.environments = Environments(self.root, warn=self.said.append, **told)

    def install(self, offer: Offer) -> Build | CannotInstall:
        with self.environments.using(offer) as got:
            return got

    @property
    def installs(self) -> int:
        return sum(line.startswith("installing") for line in self.said)


def offers(index: Index) -> list[Offer]:
    return DatedVersions("torch", "cpu", index.url, PYTHON, QUICK).offers()


def folders(root: Path) -> list[str]:
    """The names of the environments that are there."""
    return sorted(path.name for path in (root / "environments").glob("*"))


def assert_nothing_half_made(root: Path) -> None:
    assert list((root / "aside").glob("*")) == []
    for path in (root / "environments").glob("*"):
        assert (path / "nightfuzz.json").is_file()


def assert_fails_and_leaves_nothing(cache: Cache, offer: Offer, *said: str) -> None:
    with pytest.raises(MachineryFailure) as told:
        cache.install(offer)
    line = str(told.value)
    assert "\n" not in line
    for part in said:
        assert part in line
    assert folders(cache.root) == []
    assert_nothing_half_made(cache.root)


def test_an_environment_has_the_build_and_only_it_and_is_found_again(home: Path) -> None:
    with Index(home, [NIGHT, NEXT]) as index:
        cache = Cache(home)
        old, new = offers(index)
        got = cache.install(new)
        assert isinstance(got, Build)
        assert (got.framework, got.version, got.variant) == ("torch", NEXT.version, "cpu")
        assert (got.git_sha, got.python) == (NEXT.git_sha, PYTHON.version)
        assert Path(got.interpreter).is_relative_to(cache.root / "environments")
        assert fresh.run(got, "import torch\nassert torch.answer() == 42\n").ending is Ending.ASSERTION
        assert Cache(home).install(new) == got
        assert index.downloads == [NEXT.filename]
        kept = json.loads((Path(got.interpreter).parents[1] / "nightfuzz.json").read_text())
        assert f"sha256={kept['sha256']}" == new.digest
        assert cache.environments.has(new)
        assert not cache.environments.has(old)
    assert_nothing_half_made(cache.root)


def test_what_a_worker_needs_is_installed_from_the_persons_own_configuration(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Index(
        home, [ToyBuild("20261101", needs=("numpy>=1", "colorama; sys_platform == 'win32'"))]
    ) as index:
        for name, value in index.variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("PIP_CONSTRAINT", str(home / "constraints.txt"))
        (home / "constraints.txt").write_text("torch<=2.14.1\nnumpy<2\n")
        index.put("numpy", "numpy-99.0-py3-none-any.whl", wheel("numpy", "99.0", {"numpy.py": ""}))
        (offer,) = offers(index)
        got = Cache(home, extras={"torch": ("expecttest",)}).install(offer)
        assert isinstance(got, Build)
        asked = "import numpy, expecttest, importlib.metadata as m; print(m.version('numpy'))"
        told = subprocess.run([got.interpreter, "-c", asked], capture_output=True, text=True, check=True)
        assert told.stdout == "1.26.0\n"
        assert [path for path in index.requests if "numpy" in path] == []


def test_a_constraint_in_the_persons_configuration_file_does_not_keep_a_build_out(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "constraints.txt").write_text("torch<=2.14.1\n")
    (home / "pip.conf").write_text(f"[global]\nconstraint = {home / 'constraints.txt'}\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(home / "pip.conf"))
    with Index(home, [NIGHT]) as index:
        assert isinstance(Cache(home).install(offers(index)[0]), Build)


def test_what_is_pinned_to_the_same_night_comes_from_the_nights_own_index(home: Path) -> None:
    with Index(home, [ToyBuild("20261101", needs=("triton==3.6.0+gitabc",))]) as index:
        name = "triton-3.6.0+gitabc-py3-none-any.whl"
        index.put("triton", name, wheel("triton", "3.6.0+gitabc", {"triton.py": ""}))
        (offer,) = offers(index)
        got = Cache(home).install(offer)
        assert isinstance(got, Build)
        subprocess.run([got.interpreter, "-c", "import triton"], check=True)
        assert index.downloads == [offer.url.rpartition("/")[2].replace("%2B", "+"), name]


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (replace(NIGHT, fault=Fault.MISSING), "listed, but not there"),
        (replace(NIGHT, fault=Fault.METADATA), "pip fell over it"),
        (replace(NIGHT, fault=Fault.DEPENDENCY), "nightfuzz-toy-that-nobody-has"),
        (replace(NIGHT, fault=Fault.PYTHON), "requires a different Python"),
        (replace(NIGHT, fault=Fault.IMPORT), "does not import: OSError: libtoy.so"),
        (replace(NIGHT, needs=("triton==3.6.0+gitabc",)), "triton==3.6.0+gitabc"),
        (replace(NIGHT, needs=("not a requirement",)), "not a requirement"),
        (replace(NIGHT, needs=("colorama @ https://nobody.test/c.zip",)), "no index has a say"),
        (replace(NIGHT, needs=("colorama; os_name ~= 'a'",)), "Undefined"),
    ],
)
def test_a_build_that_cannot_be_installed_is_told_with_its_reason(
    home: Path, build: ToyBuild, said: str
) -> None:
    with Index(home, [build]) as index:
        cache = Cache(home)
        (offer,) = offers(index)
        got = cache.install(offer)
    assert isinstance(got, CannotInstall)
    assert got.offer == offer
    assert said in got.reason
    assert "\n" not in got.reason
    assert folders(cache.root) == []
    assert_nothing_half_made(cache.root)


def test_what_is_no_wheel_cannot_be_installed(home: Path) -> None:
    with Index(home, []) as index:
        index.put("torch", NIGHT.filename, b"<html>moved</html>")
        got = Cache(home).install(offers(index)[0])
    assert isinstance(got, CannotInstall)
    assert "no wheel" in got.reason


def test_a_build_of_another_framework_is_known_by_its_offer(home: Path) -> None:
    folder = home / "folder"
    folder.mkdir()
    name = "mindspore-2.8.0-py3-none-any.whl"
    (folder / name).write_bytes(wheel("mindspore", "2.8.0", {"mindspore.py": ""}))
    with Served(folder) as served:
        version, sha = "2.8.0+20261101010017", "1261ff4ce06d6f2dc4ce446139948a3e4e9c966b"
        offer = Offer("mindspore", version, "cpu", "2026-11-01", f"{served.url}/{name}", git_sha=sha)
        cache = Cache(home)
        got = cache.install(offer)
        assert isinstance(got, Build)
        assert (got.name, got.variant, got.git_sha) == (f"mindspore {version}", "cpu", sha)
        assert cache.install(offer) == got
        assert served.requests == [f"/{name}"]

        (folder / name).write_bytes(wheel("mindspore", "2.8.0", {"other.py": ""}))
        later = cache.install(replace(offer, version="2.8.0+20261102010017"))
    assert isinstance(later, CannotInstall)
    assert "does not import: ModuleNotFoundError" in later.reason


# Hashes


def test_other_bytes_than_the_index_tells_are_refused(home: Path) -> None:
    with Index(home, [NIGHT]) as index:
        (offer,) = offers(index)
        index.answers[".whl"] = Answer.OTHER_BYTES
        cache = Cache(home)
        assert_fails_and_leaves_nothing(cache, offer, offer.digest, "has sha256=", "its index says")
        index.answers.clear()
        assert isinstance(cache.install(offer), Build)


def test_other_bytes_than_were_fetched_first_are_refused(home: Path) -> None:
    with Index(home, [NIGHT], hashes=False) as index:
        (offer,) = offers(index)
        cache = Cache(home)
        first = cache.install(offer)
        assert isinstance(first, Build)
        shutil.rmtree(Path(first.interpreter).parents[1])  # as when others needed the room
        index.answers[".whl"] = Answer.OTHER_BYTES
        with pytest.raises(
            MachineryFailure, match=r"has sha256=\w{64}, but when first fetched .* sha256=\w{64}"
        ):
            cache.install(offer)
        assert_nothing_half_made(cache.root)


def test_a_build_whose_index_tells_another_hash_is_made_anew(home: Path) -> None:
    with Index(home, [NIGHT]) as index:
        cache = Cache(home)
        cache.install(offers(index)[0])
        index.put("torch", NIGHT.filename, replace(NIGHT, kib=1).wheel())
        (offer,) = offers(index)
        assert not cache.environments.has(offer)
        got = cache.install(offer)
        assert isinstance(got, Build)
        assert list(Path(got.interpreter).parents[1].glob("lib/*/site-packages/torch/weights.bin"))
    assert_nothing_half_made(cache.root)


# The network


@pytest.mark.parametrize(
    ("answer", "said"), [(Answer.ERROR, "500"), (Answer.HANG, "timed out"), (Answer.TRUNCATED, "bytes")]
)
def test_a_server_that_fails_is_not_the_builds_fault(home: Path, answer: Answer, said: str) -> None:
    with Index(home, [NIGHT]) as index:
        (offer,) = offers(index)
        index.answers[".whl"] = answer
        cache = Cache(home, web=Web(page_seconds=1.5, wheel_seconds=1.5))
        assert_fails_and_leaves_nothing(cache, offer, said, index.url)


@pytest.mark.parametrize(("url", "said"), [("http://127.0.0.1:9", "refused"), ("", "500")])
def test_an_index_of_dependencies_that_fails_is_not_the_builds_fault(
    home: Path, monkeypatch: pytest.MonkeyPatch, url: str, said: str
) -> None:
    with Index(home, [ToyBuild("20261101", needs=("numpy",))]) as index:
        (offer,) = offers(index)
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.setenv("PIP_RETRIES", "0")
        monkeypatch.setenv("PIP_INDEX_URL", url or index.url)
        index.answers["/numpy/"] = Answer.ERROR
        assert_fails_and_leaves_nothing(Cache(home), offer, "pip install failed", said)


def test_pip_has_its_time(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Index(home, [ToyBuild("20261101", needs=("numpy",))]) as index:
        (offer,) = offers(index)
        index.answers["/elsewhere/"] = Answer.HANG
        monkeypatch.setenv("PIP_FIND_LINKS", f"{index.url}/elsewhere/")
        assert_fails_and_leaves_nothing(Cache(home, pip_seconds=8.0), offer, "did not end within 8 s")
        assert "/elsewhere/" in index.requests


def test_a_person_who_has_had_enough_is_heard_while_pip_runs(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Index(home, [ToyBuild("20261101", needs=("numpy",))]) as index:
        (offer,) = offers(index)
        index.answers["/elsewhere/"] = Answer.HANG
        monkeypatch.setenv("PIP_FIND_LINKS", f"{index.url}/elsewhere/")
        cache = Cache(home, stopped=lambda: "/elsewhere/" in index.requests)
        with pytest.raises(KeyboardInterrupt):
            cache.install(offer)
        assert folders(cache.root) == []
        assert_nothing_half_made(cache.root)


# The bound


def test_the_least_recently_used_goes_and_what_is_used_stays(home: Path) -> None:
    builds = [ToyBuild(f"2026110{n}", kib=1024) for n in (1, 2, 3, 4)]
    with Index(home, builds) as index:
        first, second, third, fourth = offers(index)
        cache = Cache(home, bound_gib=3.5 / 1024)  # one, and one that is being made with its wheel
        with cache.environments.using(first) as got:
            assert isinstance(got, Build)
            cache.install(second)
            cache.install(third)
            assert [cache.environments.has(one) for one in (first, second, third)] == [True, False, True]
        cache.install(third)
        cache.install(fourth)
        assert [cache.environments.has(one) for one in (first, second, third, fourth)] == [
            False, False, True, True,
        ]  # fmt: skip
    assert sum("took away" in line for line in cache.said) == 2
    assert_nothing_half_made(cache.root)


def test_an_environment_whose_interpreter_is_gone_is_made_anew(home: Path) -> None:
    with Index(home, [NIGHT]) as index:
        (offer,) = offers(index)
        got = Cache(home).install(offer)
        assert isinstance(got, Build)
        for name in ("python", "python3", f"python3.{sys.version_info[1]}"):
            path = Path(got.interpreter).with_name(name)
            path.unlink(missing_ok=True)
            path.symlink_to("/no/such/python")
        cache = Cache(home)
        assert not cache.environments.has(offer)
        assert cache.install(offer) == got
        assert cache.installs == 1


# Other processes


def command(home: Path, index: Index, *flags: str) -> list[str]:
    """`nightfuzz builds install` of the newest night."""
    line = [
        sys.executable,
        "-m",
        "bot",
        "builds",
        "install",
        "--build",
        "nightly",
        "--nightly-index",
        index.url,
    ]
    return [*line, "--cache", str(home / "cache"), "--json", *flags]


def variables(index: Index) -> dict[str, str]:
    return {**os.environ, **index.variables, "PYTHONPATH": str(TREE)}


def start(home: Path, index: Index) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(home, index), cwd=home, env=variables(index), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def test_two_processes_that_want_the_same_build_install_it_once(home: Path) -> None:
    with Index(home, [NIGHT]) as index:
        both = [start(home, index), start(home, index)]
        told = [process.communicate(timeout=120) for process in both]
        assert [process.returncode for process in both] == [0, 0], told
        assert told[0][0] == told[1][0]
        assert index.downloads == [NIGHT.filename]
        assert sum("installing" in err for _, err in told) == 1


def processes_below(folder: Path) -> Iterator[int]:
    """Processes whose current folder or command line is below a folder."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
                if (entry / "stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                    continue
            except OSError:
                continue
            if str(folder / "cache" / "aside") in line:
                yield int(entry.name)


@pytest.mark.parametrize("moment", ["download", "pip", "import"])
def test_a_killed_install_leaves_nothing_that_counts(home: Path, moment: str) -> None:
    build = ToyBuild("20261101", needs=("numpy",), import_seconds=30.0 if moment == "import" else 0.0)
    with Index(home, [build]) as index:
        index.answers.update(
            {"download": {".whl": Answer.HANG}, "pip": {"/elsewhere/": Answer.HANG}}.get(moment, {})
        )
        env = variables(index)
        if moment == "pip":
            env["PIP_FIND_LINKS"] = f"{index.url}/elsewhere/"
        process = subprocess.Popen(
            command(home, index), cwd=home, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        if moment == "import":
            deadline = time.monotonic() + 60
            while not any((home / "cache" / "aside").glob("*/env/lib/*/site-packages/torch/__pycache__")):
                assert time.monotonic() < deadline
                time.sleep(0.02)
        else:
            index.wait_for(NIGHT.filename if moment == "download" else "/elsewhere/")
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert folders(home / "cache") == []
        assert len(list((home / "cache" / "aside").glob("*"))) == 1
        if moment == "pip":
            deadline = time.monotonic() + 5
            while list(processes_below(home)):
                assert time.monotonic() < deadline, "pip lives on"
                time.sleep(0.02)
        index.answers.clear()
        for pid in processes_below(home):
            os.kill(pid, signal.SIGKILL)  # the import, which ends by itself later

        other = ToyBuild("20261031")
        index.put("torch", other.filename, other.wheel())
        old, new = offers(index)
        cache = Cache(home)
        assert isinstance(cache.install(old), Build)
        assert_nothing_half_made(cache.root)
        if moment != "import":
            done = start(home, index)
            out, err = done.communicate(timeout=120)
            assert done.returncode == 0, err
            assert json.loads(out)["build"]["version"] == new.version


KILLED_AT = """
import os, signal, sys
from bot.cli import exit_code

cache, left = sys.argv[1], int(sys.argv[2])
CHANGES = {"os.rename", "os.mkdir", "shutil.rmtree"}

def count(event, told):
    global left
    if event in CHANGES or (event == "open" and told[1] is not None and told[1][0] in "wax"):
        if str(told[0]).startswith(cache):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(count)
sys.exit(exit_code(sys.argv[3:]))
"""
"""The command line, killed before the n-th time that it changes anything in the cache."""


def test_killed_before_any_change_on_the_disk_the_next_install_works(home: Path) -> None:
    with Index(home, [NIGHT]) as index:
        arguments = command(home, index)[3:]
        cache = home / "cache"
        for change in range(1, 100):
            line = [sys.executable, "-c", KILLED_AT, str(cache), str(change), *arguments]
            done = subprocess.run(
                line, cwd=home, env=variables(index), capture_output=True, text=True, check=False
            )
            for name in folders(cache):
                assert (cache / "environments" / name / "nightfuzz.json").is_file()
                shutil.rmtree(cache / "environments" / name)
            if done.returncode == 0:
                break
            assert done.returncode == -signal.SIGKILL, done.stderr
        assert change > 8
        assert_nothing_half_made(cache)


@pytest.mark.parametrize(("kib", "said"), [(8192, "download"), (3072, "install")])
def test_a_full_disk_is_one_line_and_a_clean_cache(home: Path, kib: int, said: str) -> None:
    """On a file system of four mebibytes: the wheel does not fit, or leaves no room to unpack it."""
    alone = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*alone, "true"], check=False).returncode:
        pytest.skip("this machine lets nobody mount a file system of their own")
    with Index(home, [replace(NIGHT, kib=kib)]) as index:
        (home / "cache").mkdir()
        line = (
            f'mount -t tmpfs -o size=4m none "{home}/cache" && {{ "$@"; code=$?; '
            f'find "{home}/cache" -type f ! -path "*/locks/*" ! -path "*/first/*"; exit $code; }}'
        )
        done = subprocess.run(
            [*alone, "sh", "-c", line, "sh", *command(home, index)],
            cwd=home, env=variables(index), capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert done.stdout == ""
    last = done.stderr.strip().splitlines()[-1]
    assert "No space left on device" in last
    assert last.startswith("nightfuzz: ")
    assert ("pip install" in last) == (said == "install")
