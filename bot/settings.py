"""Settings: from `[tool.nightfuzz]` in pyproject.toml or from nightfuzz.toml, then NIGHTFUZZ_*, then flags.

Invariant: a setting is valid or the command ends with one line that names the setting and where it came
from; a key that does not exist is never ignored, and the line names the one that was probably meant.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from bot import endpoints
from bot.durations import seconds
from bot.errors import UserMistake
from bot.pulls.routes import ROUTES, Route
from fuzzers.engines import ENGINES
from fuzzers.records import Json, Kind

PREFIX = "NIGHTFUZZ_"
CHANNELS = ("installed", "release", "nightly")
REPOSITORY = r"^(?:[\w.-]+/[\w.-]+)?$"
"""`owner/name`, or nothing."""

SECRETS = frozenset({"token", "app_key", "marker_key", "llm_key"})
"""What may not stand in a file: files are committed."""


def _duration(value: object) -> object:
    return seconds(value) if isinstance(value, str | int | float) else value


def _engines(value: object) -> object:
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",")]
    if not isinstance(value, list | tuple):
        return value
    for name in value:
        if name not in ENGINES and ":" not in str(name):
            raise ValueError(f"no engine {name!r}; there is {', '.join(ENGINES)}")
    return tuple(value)


def _build(value: object) -> object:
    if isinstance(value, str) and value not in CHANNELS and not urlsplit(value).path.endswith(".whl"):
        raise ValueError(f"neither {', '.join(CHANNELS)} nor the path or address of a wheel")
    return value


def _cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nightfuzz"


Duration = Annotated[float, BeforeValidator(_duration)]


class Settings(BaseSettings):
    """What a command may be told; the field's description is its help text."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True, enable_decoding=False)

    engine: Annotated[tuple[str, ...], BeforeValidator(_engines)] = Field(
        default=tuple(ENGINES), description="Bug finders to run, separated by commas."
    )
    seed: int = Field(
        default=0, ge=0, description="Seed of the campaign: the same seed, the same candidates."
    )
    budget: Duration = Field(
        default=300.0, description="Time for all campaigns together, such as 90s or 10m."
    )
    triage_budget: Duration = Field(default=600.0, description="Time for triage.")
    workers: int = Field(
        default_factory=lambda: len(os.sched_getaffinity(0)),
        ge=1,
        description="Worker processes; default: cores.",
    )
    out: Path = Field(default=Path("out"), description="Folder for the store, the campaigns and the issues.")
    build: Annotated[str, BeforeValidator(_build)] = Field(
        default="installed",
        description="Which build to test: `installed`, or the newest `release` or `nightly`, or the path or "
        "address of a wheel.",
    )
    framework: Literal["torch", "mindspore"] = Field(
        default="torch", description="Framework of a release or nightly: `torch` or `mindspore`."
    )
    variant: str = Field(
        default="cpu", min_length=1, description="Variant of a release or nightly: `cpu`, `cu130`."
    )
    interpreter: Path | None = Field(
        default=None,
        description="Python that has the installed build, or that environments for others are made with; "
        "default: the one that runs nightfuzz.",
    )
    nightly_index: str = Field(
        default="https://download.pytorch.org/whl/nightly/{variant}",
        description="Package index of torch's nightlies; `{variant}` stands for the variant.",
    )
    mindspore_index: str = Field(
        default="https://repo.mindspore.cn/mindspore/mindspore/version",
        description="Folder with MindSpore's daily builds by month and day.",
    )
    index_timeout: Duration = Field(default=60.0, description="Longest wait for a page of an index.")
    cache: Path = Field(
        default_factory=_cache_folder,
        description="Folder for the environments of builds; default: nightfuzz in the user's cache.",
    )
    cache_gib: float = Field(
        default=30.0,
        gt=0,
        allow_inf_nan=False,
        description="Environments that nobody uses go when they take more than this.",
    )
    aspects: Literal["forward", "full", "mixed"] = Field(
        default="mixed",
        description="What is compared: `full`, `forward` (no gradients) or `mixed` (one step of four full).",
    )
    engine_path: Path | None = Field(
        default=None, description="Folder that an engine named `module:attribute` is imported from."
    )
    candidates: int | None = Field(default=None, ge=1, description="Stop after this many candidates.")
    publish_down_to: Kind = Field(
        default=Kind.ALIASING, description="Least severe kind of finding that becomes an issue."
    )
    tracker: Literal["outbox", "github", "gitee"] = Field(
        default="outbox", description="Where issues live: `outbox` (a folder), `github` or `gitee`."
    )
    repository: str = Field(
        default="",
        pattern=REPOSITORY,
        description="Triage repository, `owner/name`: the bot's own, where it files.",
    )
    api: str = Field(
        default="",
        description="Address of the tracker's API; default: GitHub's, or Gitee's v5.",
    )
    token: SecretStr = Field(
        default=SecretStr(""), description="Token of the tracker; only from the environment."
    )
    app_id: str = Field(default="", pattern=r"^\d*$", description="GitHub App's id, instead of a token.")
    app_key: SecretStr = Field(
        default=SecretStr(""), description="GitHub App's private key (PEM); only from the environment."
    )
    marker_key: SecretStr = Field(
        default=SecretStr(""),
        description="Key that authenticates the bot's marks in issues; only from the environment.",
    )
    kind: Literal["user", "framework"] = Field(
        default="user",
        description="What the repository is: `user` (models, kernels, tests) or `framework` (builds wheels).",
    )
    wheel_url: str = Field(
        default="", description="Address of a commit's wheel, `{sha}` for the commit; for a `framework`."
    )
    shards: int = Field(default=1, ge=1, le=64, description="Shards of a night, an engine.")
    state_remote: str = Field(
        default="", description="Repository that has the store's branch; default: the triage repository."
    )
    state_branch: str = Field(
        default="nightfuzz-state",
        pattern=r"^\w[\w./-]*$",
        description="Branch that holds the store.",
    )
    bot_login: str = Field(
        default="",
        pattern=r"^[\w-]*(?:\[bot\])?$",
        description="Login that the token writes as, where it cannot tell, such as github-actions[bot].",
    )
    write_pause: float = Field(
        default=1.0, ge=0, allow_inf_nan=False, description="Seconds between writes to a tracker."
    )
    new_a_run: int = Field(default=5, ge=0, description="Most new issues a run.")
    new_a_day: int = Field(default=10, ge=0, description="Most new issues a day.")
    open_issues: int = Field(default=100, ge=0, description="Most open issues of the bot.")
    quiet_hours: float = Field(
        default=48.0,
        ge=0,
        description="Hours in which the bot leaves an issue alone that a person has closed.",
    )
    upstream: str = Field(
        default="",
        pattern=REPOSITORY,
        description="Upstream repository, `owner/name`, for approved findings.",
    )
    upstream_form: Literal["pt2", "general", "mindspore"] = Field(
        default="pt2", description="Issue form of the upstream: PyTorch's `pt2` or `general`, or `mindspore`."
    )
    upstream_filed_by: Literal["person", "bot"] = Field(
        default="person",
        description="Who files upstream: a `person`, from a prepared link, or the `bot`.",
    )
    upstream_a_day: int = Field(default=2, ge=0, description="Most issues filed upstream a day.")
    llm_url: str = Field(
        default="",
        description="Address of an OpenAI-compatible endpoint, without `/chat/completions`; empty: mutation "
        "by rules only.",
    )
    llm_model: str = Field(default="", description="Name of the model there.")
    llm_key: SecretStr = Field(
        default=SecretStr(""), description="Key of the endpoint, if it wants one; only from the environment."
    )
    llm_calls: int = Field(default=200, ge=0, description="Most requests to the model, a run.")
    llm_tokens: int = Field(
        default=1_000_000, ge=0, description="Most tokens of prompts and answers together, a run."
    )
    llm_money: float | None = Field(
        default=None, ge=0, allow_inf_nan=False, description="Most money, a run, at the two prices."
    )
    llm_price_in: float = Field(
        default=0.0, ge=0, allow_inf_nan=False, description="Price of a million tokens of prompts."
    )
    llm_price_out: float = Field(
        default=0.0, ge=0, allow_inf_nan=False, description="Price of a million tokens of answers."
    )
    llm_seconds: Duration = Field(default=60.0, description="Longest wait for one answer of the model.")
    proposals: Path | None = Field(
        default=None, description="File of `nightfuzz propose`, whose programs AlignGuard runs as well."
    )
    routes: tuple[Route, ...] = Field(
        default=ROUTES,
        description="Which engine looks at which changed file: a list of {pattern, engine}, the first that "
        "fits; `*` takes slashes too.",
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags over environment over file."""
        return (init_settings, env_settings, InitSettingsSource(settings_cls, _from_file(Path.cwd())[0]))


def load(flags: Mapping[str, Any]) -> Settings:
    """The settings of one command; flags that are None were not given. Raises `UserMistake`."""
    _check_environment(os.environ)
    given = {name: value for name, value in flags.items() if value is not None}
    try:
        settings = Settings(**given)
    except ValidationError as error:
        # Not `from error`: it holds what was given, which may be a secret.
        raise UserMistake(_explained(error, given)) from None
    if why := endpoints.flaw(settings):
        raise UserMistake(why)
    return settings


def _from_file(folder: Path) -> tuple[Json, str]:
    """(settings, name of the file) of the folder's settings file, keys checked; empty without one."""
    for name, table in (("nightfuzz.toml", ()), ("pyproject.toml", ("tool", "nightfuzz"))):
        path = folder / name
        if not path.is_file():
            continue
        try:
            found: Any = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UserMistake(f"{name} is not TOML: {error}") from error
        for depth, key in enumerate(table, 1):
            found = found.get(key, {})
            if not isinstance(found, dict):
                raise UserMistake(f"{name}: {'.'.join(table[:depth])} is not a table")
        if found:
            plain = {str(key).replace("-", "_"): value for key, value in found.items()}
            for key in plain:
                _check_key(key, name)
                if key in SECRETS:
                    raise UserMistake(f"{key} in {name}: a secret; set {PREFIX}{key.upper()} instead")
            return plain, name
    return {}, ""


def _check_environment(environment: Mapping[str, str]) -> None:
    for variable in environment:
        if variable.startswith(PREFIX):
            _check_key(variable.removeprefix(PREFIX).lower(), "the environment", variable)


def _check_key(key: str, where: str, written: str = "") -> None:
    known = list(Settings.model_fields)
    if key in known:
        return
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.0)[0]
    right = f"{PREFIX}{close.upper()}" if written else close
    raise UserMistake(f"unknown setting {written or key!r} in {where}; did you mean {right!r}?")


def _explained(error: ValidationError, flags: Mapping[str, Any]) -> str:
    """One line for the first problem: the setting as it was written, what is wrong with it."""
    first = error.errors(include_url=False)[0]
    name = str(first["loc"][0])
    variable = PREFIX + name.upper()
    if name in flags:
        place = f"--{name.replace('_', '-')}"
    elif variable in os.environ:
        place = variable
    else:
        place = f"{name} in {_from_file(Path.cwd())[1]}"
    given = "what was given" if name in SECRETS else repr(first["input"])
    return f"{place}: {given}: {first['msg'].removeprefix('Value error, ')}"
