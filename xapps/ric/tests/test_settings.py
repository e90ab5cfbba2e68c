"""Settings: sources, precedence, and the errors of invalid values."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, SecretStr, ValidationError
from ric.errors import SettingsError
from ric.explain import explain_validation_error
from ric.flags import (
    FormerName,
    ProgramParser,
    file_to_write,
    folder_to_write,
    number,
    whole_number,
)
from ric.settings import (
    GatewaySettings,
    HttpSettings,
    Section,
    XAppSettings,
    load_settings,
    printable,
    read_yaml_mapping,
    split_address,
)


class Settings(XAppSettings):
    """An xApp with settings of its own."""

    period_ms: Annotated[int, FormerName("interval_ms")] = Field(
        default=1, ge=1, description="Reporting period, ms."
    )
    bearers: list[int] = Field(default_factory=list, description="DRBs to watch; all when empty.")
    mode: Literal["live", "dry"] = Field(default="live", description="What to do.")
    password: SecretStr | None = Field(default=None, description="A secret.")


def load(
    *arguments: str, file: Path | None = None, environment: dict[str, str] | None = None
) -> Settings:
    config = ["--config", str(file)] if file else []
    return load_settings(
        Settings,
        prog="test",
        arguments=[*config, *arguments],
        environment=environment or {},
        example="test --gateway localhost:1",
    )


def problems(*arguments: str, **sources: Any) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load(*arguments, **sources)
    return caught.value.problems


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "settings.yaml"


def test_flags_win_over_environment_over_file_over_defaults(file: Path) -> None:
    file.write_text("period_ms: 2\nmode: dry\ngateway: {address: 'localhost:1', reconcile_s: 7}\n")
    environment = {"SOJOURN_PERIOD_MS": "3", "SOJOURN_GATEWAY__ADDRESS": "localhost:2"}

    settings = load("--gateway", "localhost:3", file=file, environment=environment)

    assert settings.gateway.address == "localhost:3"
    assert settings.period_ms == 3
    assert settings.mode == "dry"
    assert settings.gateway.reconcile_s == 7
    assert settings.gateway.control_timeout_s == GatewaySettings().control_timeout_s


def test_the_file_may_be_named_in_the_environment(file: Path) -> None:
    file.write_text("period_ms: 9\n")
    assert load(environment={"SOJOURN_CONFIG": str(file)}).period_ms == 9


def test_collections_are_yaml_everywhere() -> None:
    assert load("--bearers", "[1, 2]").bearers == [1, 2]
    assert load(environment={"SOJOURN_BEARERS": "[3]"}).bearers == [3]


def test_an_empty_variable_of_an_optional_setting_counts_as_unset(file: Path) -> None:
    file.write_text("password: secret\n")
    environment = {"SOJOURN_PASSWORD": "", "SOJOURN_HTTP__LISTEN": ""}
    settings = load(file=file, environment=environment)
    assert settings.password is not None
    assert settings.http.listen == ""
    assert load("--password", "", file=file).password is None


def test_variables_of_other_programs_are_ignored() -> None:
    environment = {
        "SOJOURN_SHARED": "x",
        "SOJOURN_FORECAST__MODEL": "y",
        "SOJOURN_GATEWAY": "localhost:1",
    }
    assert load(environment=environment) == Settings()


def test_settings_made_directly_read_no_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOJOURN_PERIOD_MS", "3")
    monkeypatch.setenv("PERIOD_MS", "3")
    assert Settings().period_ms == 1


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--gateway.address", "x"], "--gateway.address: unknown flag; expected --gateway"),
        (["--period_ms=3"], "--period_ms: unknown flag; expected --period-ms"),
        (["--interval-ms", "3"], "--interval-ms: unknown flag; expected --period-ms"),
        (["--http.listen", "x:1"], "--http.listen: unknown flag; expected --metrics-listen"),
        (["--gateway-address", "x"], "--gateway-address: unknown flag; expected --gateway"),
        (["--gateway.tls.enabled"], "--gateway.tls.enabled: unknown flag; expected --gateway-tls"),
        (["--gatway", "x"], "--gatway: unknown flag; expected --gateway"),
        (["--qqq"], "--qqq: unknown flag; expected one that --help lists"),
    ],
)
def test_a_misspelt_flag_is_refused_with_the_right_one(
    arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        load(*arguments)
    assert stopped.value.code == 2
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["show", "--log", "x"], "tool show: error: --log: unknown flag; expected one that --help"),
        (["show", "--fromat", "x"], "tool show: error: --fromat: unknown flag; expected --format"),
        (["run", "--lgo", "x"], "tool run: error: --lgo: unknown flag; expected --log"),
    ],
)
def test_unknown_flags_are_answered_by_the_command_that_was_given(
    words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = ProgramParser(prog="tool")
    commands = parser.add_subparsers(dest="action", required=True)
    commands.add_parser("run").add_argument("--log")
    commands.add_parser("show").add_argument("--format")
    with pytest.raises(SystemExit):
        parser.parse_args(words)
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize("text", ["x", "0", "11", "1.5", ""])
def test_a_number_out_of_range_is_refused_with_the_range(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = ProgramParser(prog="tool")
    parser.add_argument("--seeds", type=whole_number(1, 10))
    with pytest.raises(SystemExit):
        parser.parse_args(["--seeds", text])
    assert f"{text!r}; expected a whole number, 1 to 10" in capsys.readouterr().err
    parser.add_argument("--seconds", type=number(0.1, 5, "seconds"))
    with pytest.raises(SystemExit):
        parser.parse_args(["--seconds", "nan"])
    assert "'nan'; expected 0.1 to 5 seconds" in capsys.readouterr().err


def test_what_is_to_be_written_is_examined_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = ProgramParser(prog="tool")
    parser.add_argument("--out", type=folder_to_write)
    parser.add_argument("--json", type=file_to_write)

    def refused(*arguments: str) -> str:
        with pytest.raises(SystemExit):
            parser.parse_args(arguments)
        return capsys.readouterr().err.splitlines()[-1].removeprefix("tool: error: argument ")

    old = tmp_path / "old"
    old.write_text("old")
    given = parser.parse_args(["--out", f"{tmp_path}/a/b", "--json", str(old)])
    assert (given.out, given.json) == (tmp_path / "a" / "b", old)
    assert parser.parse_args(["--json", f"{tmp_path}/a/new"]).json == tmp_path / "a" / "new"
    assert [each.name for each in tmp_path.iterdir()] == ["old"]
    assert refused("--out", f"{old}/a") == f"--out: '{old}' is no folder; expected one"
    assert refused("--json", f"{old}/a") == f"--json: '{old}' is no folder; expected one"
    regular = f"--json: '{tmp_path}' is no regular file; expected one, or none"
    assert refused("--json", str(tmp_path)) == regular
    # Root may write everywhere.
    monkeypatch.setattr(os, "access", lambda *_: False)
    unwritable = f"'{tmp_path}' may not be written; expected a folder that may"
    assert refused("--out", f"{tmp_path}/a") == f"--out: {unwritable}"
    assert refused("--json", f"{tmp_path}/a") == f"--json: {unwritable}"
    file = f"--json: '{old}' may not be written; expected a file that may"
    assert refused("--json", str(old)) == file


def test_yes_or_no_settings_are_switches() -> None:
    assert load("--gateway-tls").gateway.tls.enabled
    environment = {"SOJOURN_GATEWAY__TLS__ENABLED": "true"}
    assert load(environment=environment).gateway.tls.enabled
    assert not load("--no-gateway-tls", environment=environment).gateway.tls.enabled


def test_all_problems_are_reported_with_their_places(file: Path) -> None:
    file.write_text(
        "period_ms: 0\nmode: wet\nbearers: [1, x]\ngateway: {adress: 'a:1'}\nlog: {level: loud}\n"
    )
    found = problems(
        "--gateway-backoff-factor",
        "1",
        file=file,
        environment={"SOJOURN_HTTP__FRESH_WITHIN_S": "soon", "SOJOURN_HTTP__LISTN": ""},
    )
    assert sorted(found) == sorted(
        [
            "SOJOURN_HTTP__LISTN: unknown key (did you mean listen?); expected one of "
            + ", ".join(sorted(HttpSettings.model_fields)),
            "--gateway-backoff-factor: '1' is out of range; expected > 1.0",
            "settings.yaml: gateway.adress: unknown key (did you mean address?); expected one of "
            + ", ".join(sorted(GatewaySettings.model_fields)),
            "SOJOURN_HTTP__FRESH_WITHIN_S: 'soon' does not fit; expected a number",
            "settings.yaml: log.level: 'loud' is not one of the choices; expected 'debug', 'info', "
            "'warning' or 'error'",
            "settings.yaml: period_ms: 0 is out of range; expected ≥ 1",
            "settings.yaml: bearers[1]: 'x' does not fit; expected a whole number",
            "settings.yaml: mode: 'wet' is not one of the choices; expected 'live' or 'dry'",
        ]
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "settings.yaml: empty; expected a mapping"),
        (b"# nothing\n", "settings.yaml: empty; expected a mapping"),
        (b"- a\n", "settings.yaml: a list; expected a mapping"),
        (b"a: [1\n", "settings.yaml: line 2: not YAML: "),
        (b"a: 1\nb: 2\na: 3\n", "settings.yaml: line 3: key 'a' given twice; expected one"),
        (b"a: \xff\n", "settings.yaml: byte 3 is not text; expected UTF-8"),
        (b"a: \x00\n", "settings.yaml: not YAML: unacceptable character"),
        (
            b"a: !!python/object:os.system {}\n",
            "settings.yaml: line 1: tag tag:yaml.org,2002:py",
        ),
        (b"? [1]\n: 2\n", "settings.yaml: line 1: a key that is no scalar; expected text"),
        (b"x: " + b"[" * 5000, "settings.yaml: line 1: nested deeper than 32"),
        (
            b"#" * (1024 * 1024 + 1),
            "settings.yaml: larger than 1048576 bytes; expected ",
        ),
        (b"gateway: 3\n", "settings.yaml: gateway: 3 does not fit; expected a mapping"),
    ],
)
def test_files_that_are_empty_wrong_or_huge(file: Path, content: bytes, expected: str) -> None:
    file.write_bytes(content)
    (problem,) = problems(file=file)
    assert problem.removeprefix(f"{file.parent}/").startswith(expected)
    assert "\n" not in problem


def test_a_group_overwritten_in_the_file_by_a_value(file: Path) -> None:
    file.write_text("gateway: 3\n")
    assert problems("--gateway", "localhost:1", file=file) == [
        "settings.yaml: gateway: 3 does not fit; expected a mapping"
    ]


def test_an_absent_file(tmp_path: Path) -> None:
    missing = tmp_path / "none.yaml"
    assert problems(file=missing) == [
        f"{missing}: No such file or directory; expected a readable file"
    ]
    with pytest.raises(SettingsError, match="a directory; expected a regular file"):
        read_yaml_mapping(tmp_path)


@pytest.mark.parametrize(
    "address", ["", "x", "x:", ":1", "x:70000", "x:-1", "x:y", "::1:5", "unix:", "1.2.3.4:٣"]
)
def test_invalid_addresses(address: str) -> None:
    (problem,) = problems("--gateway", address)
    assert problem == (
        f"--gateway: {address!r}: not an address; expected host:port, [IPv6]:port or unix:path"
    )


def test_addresses() -> None:
    assert split_address("[::1]:50") == ("::1", 50)
    assert split_address("gw.example:50") == ("gw.example", 50)
    assert split_address("unix:/run/gw.sock") == ("unix:/run/gw.sock", 0)


@pytest.mark.parametrize("address", ["10.0.0.1:1", "gw.example:1", "[2001:db8::1]:1"])
def test_plain_text_beyond_this_machine_is_refused(address: str) -> None:
    (problem,) = problems("--gateway", address)
    assert problem == (
        f"--gateway: plain text to {address}; expected tls.enabled: true, a loopback "
        "address, or insecure: true for a service mesh that encrypts"
    )
    assert load("--gateway", address, "--gateway-tls").gateway.tls.enabled


def test_a_former_name_of_a_setting_is_refused_with_the_present_one(file: Path) -> None:
    file.write_text("interval_ms: 2\n")
    (problem,) = problems(file=file)
    assert problem == "settings.yaml: interval_ms: unknown key; expected period_ms"
    (problem,) = problems(environment={"SOJOURN_INTERVAL_MS": "2"})
    assert problem == "SOJOURN_INTERVAL_MS: unknown variable; expected SOJOURN_PERIOD_MS"


def test_a_former_name_of_a_section_is_refused_for_each_setting_in_it(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Renamed(Settings):
        inner: Annotated[GatewaySettings, FormerName("outer")] = GatewaySettings()
        other: Annotated[GatewaySettings, FormerName("of_others", in_environment=False)] = (
            GatewaySettings()
        )

    def load_renamed(*arguments: str, **environment: str) -> None:
        load_settings(Renamed, prog="test", arguments=arguments, environment=environment)

    file.write_text("outer: {reconcile_s: 7}\n")
    with pytest.raises(SettingsError) as caught:
        load_renamed("--config", str(file))
    assert caught.value.problems == ["settings.yaml: outer: unknown key; expected inner"]
    with pytest.raises(SettingsError) as caught:
        load_renamed(SOJOURN_OUTER__TLS__CA_FILE="", SOJOURN_INNER__RECONCILE_S="0")
    assert caught.value.problems == [
        "SOJOURN_OUTER__TLS__CA_FILE: unknown variable; expected SOJOURN_INNER__TLS__CA_FILE",
        "SOJOURN_INNER__RECONCILE_S: '0' is out of range; expected > 0.0",
    ]
    with pytest.raises(SystemExit):
        load_renamed("--outer-tls-ca-file", "x")
    assert "--outer-tls-ca-file: unknown flag; expected --inner-tls-ca-file" in (
        capsys.readouterr().err
    )
    load_renamed(SOJOURN_OF_OTHERS__RECONCILE_S="7")


@pytest.mark.parametrize("address", ["127.1.2.3:1", "[::1]:1", "localhost:1", "unix:/x"])
def test_plain_text_on_this_machine_is_allowed(address: str) -> None:
    assert load("--gateway", address).gateway.address == address


def test_a_token_itself_is_no_setting(file: Path) -> None:
    file.write_text("gateway: {token: hunter2}\n")
    (problem,) = problems(file=file)
    assert problem == "settings.yaml: gateway.token: unknown key; expected token_file"


def test_a_secret_is_not_shown() -> None:
    settings = load("--password", "hunter2")
    assert "hunter2" not in repr(settings)
    assert printable(settings)["password"] == "**********"


def test_a_secret_of_the_wrong_type_is_not_shown_either(file: Path) -> None:
    file.write_text("password: 271828\n")
    assert problems(file=file) == ["settings.yaml: password: *** does not fit; expected text"]


def test_half_a_certificate(tmp_path: Path) -> None:
    (problem,) = problems("--gateway-tls-key-file", str(tmp_path / "k"))
    assert problem == (
        "--gateway-tls-key-file: one without the other; expected certificate_file and key_file both"
    )


def test_help_describes_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        load("--help")
    assert stopped.value.code == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "--period-ms NUMBER Reporting period, ms. Default: 1." in printed
    assert "--mode {live,dry} What to do." in printed
    assert "Gateway: --gateway ADDRESS" in printed
    assert "--gateway-control-timeout-s NUMBER" in printed
    assert "SOJOURN_GATEWAY__ADDRESS" in printed
    assert printed.endswith("example: test --gateway localhost:1")


def test_every_field_is_described() -> None:
    def check(model: type[BaseModel]) -> None:
        for name, field in model.model_fields.items():
            assert field.description, f"{model.__name__}.{name}"
            if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
                check(field.annotation)

    check(XAppSettings)


# ------------------------------------------------- explaining other people's models


class Step(Section):
    kind: Literal["step"]
    at_ms: int = Field(gt=0, description="When it is taken, ms. Counted from the start.")


class Wait(Section):
    kind: Literal["wait"]
    for_ms: float


class Plan(Section):
    steps: list[Step | Wait] = Field(min_length=1)
    tagged: list[Step | Wait] = Field(default_factory=list)
    rate: int | Literal["auto"] = "auto"


def explained(model: type[BaseModel], data: Any) -> list[str]:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(data)
    return explain_validation_error(caught.value, "policy.yaml", model, data)


def test_paths_are_those_of_the_file_even_through_unions() -> None:
    data = {"steps": [{"kind": "step", "at_ms": 0}], "rate": "fast"}
    lines = explained(Plan, data)
    assert "policy.yaml: steps[0].at_ms: 0 is out of range; expected > 0" in lines
    assert all(line.startswith(("policy.yaml: steps[0]", "policy.yaml: rate:")) for line in lines)


def test_a_missing_key_is_described() -> None:
    assert explained(Step, {"kind": "step"}) == [
        "policy.yaml: at_ms: missing; expected a whole number: when it is taken, ms"
    ]
    assert explained(Plan, {})[0].startswith("policy.yaml: steps: missing; expected a list")


def test_long_values_are_cut() -> None:
    (line,) = explained(Step, {"kind": "step", "at_ms": "x" * 10_000})
    assert len(line) < 140
