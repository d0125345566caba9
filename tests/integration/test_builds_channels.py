"""Channels over real HTTP and through a real pip: what is offered, and what a bad index comes to."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from bot.builds.channels import Installed, OneWheel, Release, channel
from bot.builds.nightly import DatedFolders, DatedVersions
from bot.builds.offer import Offer
from bot.builds.pythons import examine
from bot.builds.web import Web
from bot.errors import MachineryFailure, UserMistake
from bot.settings import load
from tests.integration.toy_index import Answer, Fault, Index, Served, ToyBuild, days, wheel

PYTHON = examine(sys.executable)
QUICK = Web(page_seconds=1.5)
BUILDS = days(4)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index(tmp_path, BUILDS) as served:
        yield served


def nightly(index: Served, variant: str = "cpu", web: Web = QUICK) -> DatedVersions:
    return DatedVersions("torch", variant, index.url, PYTHON, web)


def versions(offers: list[Offer]) -> list[str]:
    return [offer.version for offer in offers]


def assert_fails_in_one_line(index: Served, *said: str) -> None:
    with pytest.raises(MachineryFailure) as told:
        nightly(index).offers()
    line = str(told.value)
    assert "\n" not in line
    for part in (index.url, *said):
        assert part in line


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("hashes", [False, True])
def test_an_index_of_either_kind_gives_its_dated_builds_oldest_first(
    tmp_path: Path, as_json: bool, hashes: bool
) -> None:
    with Index(tmp_path, BUILDS[::-1], hashes=hashes, as_json=as_json) as index:
        offers = nightly(index).offers()
    assert versions(offers) == [build.version for build in BUILDS]
    assert [offer.date for offer in offers] == ["2026-10-01", "2026-10-02", "2026-10-03", "2026-10-04"]
    assert all(offer.variant == "cpu" for offer in offers)
    assert all(offer.digest.startswith("sha256=") == hashes for offer in offers)


def test_only_wheels_of_the_variant_and_for_the_interpreter_are_offered(index: Index) -> None:
    for name in (
        "torch-2.15.0.dev20261009+cu130-py3-none-any.whl",
        "torch-2.15.0.dev20261009+cpu-cp27-cp27m-manylinux1_x86_64.whl",
        "torch-2.15.0.dev20261009+cpu-py3-none-win_amd64.whl",
        "torchvision-2.15.0.dev20261009+cpu-py3-none-any.whl",
        "torch-2.15.0-py3-none-any.whl",
        "torch-2.15.0.dev20261009.tar.gz",
    ):
        index.put("torch", name, b"")
    assert versions(nightly(index).offers()) == [build.version for build in BUILDS]
    assert versions(nightly(index, "cu130").offers()) == ["2.15.0.dev20261009+cu130"]


def test_of_two_wheels_of_a_version_the_interpreters_own_is_taken(index: Index) -> None:
    own = f"torch-{BUILDS[0].version}-{next(iter(PYTHON.tags))}.whl"
    index.put("torch", own, b"")
    assert nightly(index).offers()[0].url.endswith(own.replace("+", "%2B"))


def test_the_variant_is_put_into_the_address(index: Index) -> None:
    settings = load({"build": "nightly", "nightly_index": index.url + "/{variant}", "variant": "cu130"})
    with pytest.raises(MachineryFailure, match="404"):
        channel(settings).offers()
    assert index.requests == ["/cu130/torch/"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer.ERROR, "500"),
        (Answer.PROSE, "is no index of torch"),
        (Answer.TRUNCATED, "bytes"),
        (Answer.HANG, "timed out"),
        (Answer.DRIP, "in time"),
    ],
)
def test_a_bad_index_is_a_failure_in_one_line_and_in_time(index: Index, answer: Answer, said: str) -> None:
    index.answers["/torch/"] = answer
    began = time.monotonic()
    assert_fails_in_one_line(index, said)
    assert time.monotonic() - began < 10


def test_an_index_that_is_ill_once_is_asked_again(index: Index) -> None:
    index.answers["/torch/"] = Answer.ERROR

    class Heals(dict[str, Answer]):
        def items(self) -> list[tuple[str, Answer]]:  # type: ignore[override]
            now = list(super().items())
            self.clear()
            return now

    index.answers = Heals(index.answers)
    assert len(nightly(index).offers()) == len(BUILDS)
    assert index.requests == ["/torch/", "/torch/"]


def test_no_server_at_all_is_a_failure_in_one_line(index: Index, tmp_path: Path) -> None:
    with Served(tmp_path) as gone:
        url = gone.url
    with pytest.raises(MachineryFailure, match="refused"):
        DatedVersions("torch", "cpu", url, PYTHON, QUICK).offers()


def test_an_address_that_names_no_host_is_a_failure_in_one_line() -> None:
    for address in (f"http://{'a' * 300}/", "http://[", "file:///etc"):
        with pytest.raises(MachineryFailure) as raised:
            DatedVersions("torch", "cpu", address, PYTHON, QUICK).offers()
        assert "\n" not in str(raised.value)


def test_a_redirect_to_nowhere_is_a_failure_in_one_line() -> None:
    class Redirects(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", "http://[")
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Redirects) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        with pytest.raises(MachineryFailure, match="Invalid IPv6 URL"):
            DatedVersions("torch", "cpu", address, PYTHON, QUICK).offers()
        thread.join()


# MindSpore's folders

SHAS = ("43ccb91e45899b64fe31d304497ab17e3ada3cea", "1261ff4ce06d6f2dc4ce446139948a3e4e9c966b")


def a_folder(root: Path, stamp: str, sha: str, branch: str = "master", filename: str = "") -> None:
    machine = PYTHON.platform.partition("-")[2]
    folder = f"{branch}_{stamp}_{sha}_newest"
    place = root / stamp[:6] / stamp[:8] / folder / "unified" / machine
    place.mkdir(parents=True)
    name = filename or f"mindspore-2.8.0-{next(iter(PYTHON.tags))}.whl"
    (place / name).write_bytes(wheel("mindspore", "2.8.0", {"mindspore.py": ""}))
    (place / (name + ".sha256")).write_text("")


def test_dated_folders_are_told_apart_by_their_time_and_commit(tmp_path: Path) -> None:
    root = tmp_path / "version"
    a_folder(root, "20260901010017", SHAS[0])  # of a month that is too long ago
    a_folder(root, "20261031160020", SHAS[0])
    a_folder(root, "20261101160020", SHAS[1])
    a_folder(root, "20261101010017", SHAS[0])
    a_folder(root, "20261101220000", SHAS[0], branch="br_infer")
    a_folder(root, "20261102010017", SHAS[1], filename="mindspore-2.8.0-cp27-cp27m-linux_x86_64.whl")
    (root / "202611" / "20261103" / f"master_20261103010017_{SHAS[0]}_newest").mkdir(parents=True)
    (root / "202611" / "20261104").mkdir()
    with Served(tmp_path) as served:
        offers = DatedFolders("mindspore", f"{served.url}/version", PYTHON, QUICK).offers()
    assert versions(offers) == [
        "2.8.0+20261031160020", "2.8.0+20261101010017", "2.8.0+20261101160020",
    ]  # fmt: skip
    assert [offer.date for offer in offers] == ["2026-10-31", "2026-11-01", "2026-11-01"]
    assert [offer.git_sha for offer in offers] == [SHAS[0], SHAS[0], SHAS[1]]
    assert all(offer.url.endswith(".whl") and offer.digest == "" for offer in offers)


def test_a_page_without_dated_folders_is_a_failure(tmp_path: Path) -> None:
    with Served(tmp_path) as served, pytest.raises(MachineryFailure, match="no index of dated folders"):
        DatedFolders("mindspore", served.url, PYTHON, QUICK).offers()


# Releases


def test_releases_are_what_pip_finds_and_would_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("2.1.0", "2.2.0", "2.2.0+cpu", "2.2.0+cu130", "2.3.0rc1", "2.10.0", "2.11.0")
    for version in names:
        (tmp_path / f"torch-{version}-py3-none-any.whl").write_bytes(
            wheel("torch", version, {"torch.py": ""})
        )
    (tmp_path / "constraints.txt").write_text("torch<2.11\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    assert versions(Release("torch", "cpu", PYTHON).offers()) == ["2.1.0", "2.2.0+cpu", "2.10.0", "2.11.0"]
    monkeypatch.setenv("PIP_CONSTRAINT", str(tmp_path / "constraints.txt"))
    assert versions(Release("torch", "cu130", PYTHON).offers()) == ["2.1.0", "2.2.0+cu130", "2.10.0"]
    with pytest.raises(MachineryFailure, match="nightfuzz-toy"):
        Release("nightfuzz-toy-that-nobody-has", "cpu", PYTHON).offers()


def test_the_machines_own_pip_lists_the_releases_of_a_real_package() -> None:
    found = versions(Release("expecttest", "cpu", PYTHON).offers())
    assert "0.2.1" in found
    assert found.index("0.2.1") < found.index("0.3.0")


# One wheel


def test_a_wheel_is_offered_by_its_path_with_its_hash(tmp_path: Path) -> None:
    build = ToyBuild("20261101")
    path = tmp_path / build.filename
    path.write_bytes(build.wheel())
    (offer,) = channel(load({"build": str(path)})).offers()
    assert (offer.framework, offer.version, offer.variant) == ("torch", build.version, "cpu")
    assert (offer.url, len(offer.digest)) == (str(path), len("sha256=") + 64)


def test_a_wheel_is_offered_by_its_address_with_the_hash_that_it_carries() -> None:
    address = "https://example.org/torch-2.15.0-py3-none-any.whl"
    (offer,) = OneWheel(f"{address}#sha256={'a' * 64}", PYTHON).offers()
    assert (offer.url, offer.digest) == (address, f"sha256={'a' * 64}")
    (offer,) = OneWheel(f"{address}#sha256={'A' * 64}", PYTHON).offers()
    assert offer.digest == f"sha256={'a' * 64}"
    with pytest.raises(UserMistake, match="no hash"):
        OneWheel(f"{address}#sha256={'a' * 63}", PYTHON).offers()
    (offer,) = OneWheel(address, PYTHON).offers()
    assert offer.digest == ""


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("torch.whl", "torch.whl"),
        ("torch-2.15.0-cp27-cp27m-win32.whl", f"not for Python {PYTHON.version}"),
        ("torch-2.15.0-py3-none-any.whl", "no such file"),
    ],
)
def test_a_wheel_that_cannot_be_used_is_the_persons_mistake(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(UserMistake, match=said):
        OneWheel(str(tmp_path / name), PYTHON).offers()


def test_what_is_no_channel_is_the_persons_mistake() -> None:
    with pytest.raises(UserMistake, match="neither installed, release, nightly nor"):
        load({"build": "weekly"})


def test_the_installed_build_is_the_interpreters_own() -> None:
    (offer,) = Installed(sys.executable).offers()
    assert (offer.framework, offer.interpreter) == ("torch", sys.executable)


def test_faults_of_builds_do_not_show_in_the_list(tmp_path: Path) -> None:
    broken = [ToyBuild(f"2026110{n}", fault=fault) for n, fault in enumerate(Fault, 1)]
    with Index(tmp_path, broken) as index:
        assert versions(nightly(index).offers()) == [build.version for build in broken]
