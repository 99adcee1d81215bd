"""The configuration: where values come from, and what is said about wrong ones."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from giusto.config import SECTIONS, BrokerConfig, Realtime, load
from giusto.config.settings import TOPIC
from giusto.errors import InvalidInput
from giusto.protocol import ShareTerms

ROOT = Path(__file__).parents[3]


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "giusto.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_without_a_word_the_broker_listens_on_loopback_alone() -> None:
    config = load(environ={})
    assert config == BrokerConfig()
    assert config.listen == ("tcp://127.0.0.1:7447", "udp://127.0.0.1:7447")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("listen", "tcp://127.0.0.1:0"),
        ("listen", ("http://127.0.0.1:0",)),
        ("input", "foo"),
        ("output", "foo"),
        ("overflow", "foo"),
        ("mode", "foo"),
    ],
)
def test_a_configuration_in_a_program_is_checked_when_it_is_made(key: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=f"broker.{key}"):
        BrokerConfig(**{key: value})


def test_flags_win_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    text = '[broker]\ninput = "fair"\noutput = "lrt"\noverflow = "drop_new"\n'
    environ = {"GIUSTO_BROKER_OUTPUT": "priority", "GIUSTO_BROKER_OVERFLOW": "disconnect", "GIUSTO_SEED": "3"}
    flags = {"broker.overflow": "drop_oldest", "broker.input": None}
    config = load(written(tmp_path, text), environ=environ, flags=flags)
    assert (config.input, config.output, config.overflow) == ("fair", "priority", "drop_oldest")


def test_the_environment_speaks_in_texts() -> None:
    environ = {
        "GIUSTO_BROKER_LISTEN": "tcp://[::1]:0, unix:///run/giusto.sock",
        "GIUSTO_BROKER_HANDSHAKE": "250ms",
        "GIUSTO_REALTIME_CPUS": "2-3,5",
        "GIUSTO_REALTIME_LOCK_MEMORY": "yes",
        "GIUSTO_REALTIME_PRIORITY": "10",
        "GIUSTO_MTEP_EPSILON": "0.1",
    }
    config = load(environ=environ)
    assert config.listen == ("tcp://[::1]:0", "unix:///run/giusto.sock")
    assert config.handshake_ns == 250_000_000
    assert config.realtime == Realtime(priority=10, cpus=(2, 3, 5), lock_memory=True)
    assert config.mtep.epsilon == 0.1


def test_the_first_pattern_that_covers_a_topic_gives_its_share(tmp_path: Path) -> None:
    text = (
        '[topics."ward/+/alarm"]\nweight = 9\n[topics."ward/#"]\nrate = 2\ndeadline = "5ms"\n[topics.plain]\n'
    )
    config = load(written(tmp_path, text), environ={})
    assert config.share("ward/3/alarm") == ShareTerms(weight=9)
    assert config.share("ward/3") == ShareTerms(rate=2, deadline_ns=5_000_000)
    assert config.share("other") == ShareTerms()
    assert config.named_topics == ("plain",)


def test_time_driven_service_needs_a_period_and_a_budget() -> None:
    config = load(environ={}, flags={"broker.mode": "time", "broker.period": "10ms", "broker.budget": "2ms"})
    assert (config.plane_options()["period_ns"], config.plane_options()["budget_ns"]) == (
        10_000_000,
        2_000_000,
    )


WRONG = [
    (
        '[topics."ward/+/alarm"]\nweight = -1',
        'topics."ward/+/alarm".weight = -1: expected a whole number from 1',
    ),
    ('[topics."ward/+/alarm"]\nwieght = 1', 'topics."ward/+/alarm".wieght = unknown: expected weight,'),
    ('[topics."a/#/b"]\nweight = 1', 'topics."a/#/b" = "a/#/b": expected'),
    ("topics = 3", "topics = 3: expected a table"),
    ("[topics]\na = 3", "topics.a = 3: expected a table: [topics.a]"),
    ('[broker]\nlitsen = "tcp://127.0.0.1:1"', "broker.litsen = unknown: expected listen,"),
    ("[brokre]", "brokre = unknown: expected broker,"),
    ("broker = 1", "broker = 1: expected a table"),
    ('[broker]\ninput = "fare"', "broker.input = fare: expected twrr or smooth or fair or edf"),
    ('[broker]\nlisten = ["http://x:1"]', "broker.listen[0] = http://x:1: expected tcp://host:port"),
    ('[broker]\nlisten = ["tcp://127.0.0.1"]', "broker.listen[0] ="),
    ('[broker]\nlisten = ["tcp://h:1", "tcp://h:99999"]', "broker.listen[1] ="),
    ('[broker]\nlisten = ["unix://relative/path"]', "broker.listen[0] ="),
    ("[broker]\nlisten = []", "broker.listen = []"),
    (
        '[broker]\nlisten = "udp://127.0.0.1:1"',
        "broker.listen = udp://127.0.0.1:1: expected a tcp:// or unix://",
    ),
    ("[broker]\nlisten = [3]", "broker.listen[0] = 3"),
    ('[broker]\nhandshake = "soon"', "broker.handshake = soon: expected a duration"),
    ("[broker]\ndrain = [1]", "broker.drain = [1]: expected a duration"),
    ("[broker]\noutput_capacity = 0", "broker.output_capacity = 0: expected a whole number from 1"),
    ("[broker]\noutput_capacity = true", "broker.output_capacity = True"),
    ('[broker]\nmode = "time"', "broker.mode = time: expected --period and --budget"),
    (
        '[broker]\nmode = "time"\nperiod = "1ms"\nbudget = "2ms"',
        "broker.budget = 2 ms: expected a budget within",
    ),
    ('[broker]\nperiod = "1ms"', 'broker.period = 1 ms: expected mode = "time"'),
    ("[realtime]\npriority = 100", "realtime.priority = 100: expected a whole number from 0 to 99"),
    ("[realtime]\ncpus = [-1]", "realtime.cpus = [-1]: expected processors"),
    ('[realtime]\ncpus = "5-2"', "realtime.cpus = 5-2: expected processors from the lower"),
    ('[realtime]\ncpus = "0-99999"', "realtime.cpus = 0-99999: expected processors"),
    ('[realtime]\nlock_memory = "maybe"', "realtime.lock_memory = maybe: expected true or false"),
    ("[mtep]\nepsilon = 2", "mtep.epsilon = 2: expected a number from 0 to 0.99"),
    ('[mtep]\nweight = "x"', "mtep.weight = x: expected a number"),
    ("[broker\n", "a TOML file: "),
]


@pytest.mark.parametrize(("text", "message"), WRONG, ids=[message for _, message in WRONG])
def test_what_is_wrong_is_named_by_its_path(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        load(written(tmp_path, text), environ={})
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"environ": {"GIUSTO_BROKER_INPTU": "x"}},
            "GIUSTO_BROKER_INPTU = unknown: expected GIUSTO_BROKER_INPUT,",
        ),
        ({"environ": {"GIUSTO_BROKER_INPUT": "x"}}, "GIUSTO_BROKER_INPUT = x: expected twrr"),
        ({"environ": {"GIUSTO_BROKER_CONNECTIONS_MAX": "9" * 9_000}}, "expected a whole number from 1"),
        ({"environ": {"GIUSTO_REALTIME_CPUS": "9" * 9_000}}, "expected processors"),
        ({"environ": {}, "flags": {"broker.inptu": "x"}}, "broker.inptu = unknown: expected broker.input,"),
        ({"environ": {}, "path": "/nowhere/giusto.toml"}, "a file that can be read: No such file"),
    ],
)
def test_the_other_sources_name_themselves(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        load(**arguments)
    assert message in str(caught.value)


def test_the_example_is_accepted() -> None:
    config = load(ROOT / "examples" / "giusto.toml", environ={})
    assert config.share("ward/3/alarm").weight == 10
    assert config.named_topics == ("statistics",)


def shown(value: object) -> str:
    """A default as the page writes it."""
    from giusto.contract.duration import spell_ns

    if value is None or value == () or value == 0:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ", ".join(f"`{each}`" for each in value)
    return f"`{value}`" if isinstance(value, str) else f"{value:,}" if value < 10**5 else spell_ns(value)


def test_the_page_has_every_setting_with_its_default() -> None:
    page = (ROOT / "docs" / "reference" / "configuration.md").read_text(encoding="utf-8")
    config = BrokerConfig()
    for section, settings in SECTIONS.items():
        holder = config if section == "broker" else getattr(config, section)
        for key, setting in settings.items():
            row = re.search(rf"^\| `{section}\.{key}` \| (.*?) ?\| (.*) \|$", page, re.MULTILINE)
            assert row is not None, f"{section}.{key} is not on the page"
            assert row[2] == setting.about
            default = getattr(holder, key + setting.suffix)
            if setting.suffix or not isinstance(default, int) or isinstance(default, bool):
                assert row[1] == shown(default), key
            else:
                assert row[1] == (f"{default:,}" if default else "0"), key
    for key, setting in TOPIC.items():
        assert f"| `{key}` | {setting.about} |" in page


@pytest.mark.parametrize(
    ("given", "bits"),
    [("1Gbit/s", 10**9), ("2.5 Mbit/s", 2_500_000), ("9600bit/s", 9600), (0, 0), ("800", 800)],
)
def test_a_bandwidth_is_bits_per_second(given: object, bits: int) -> None:
    config = load(environ={}, flags={"guarantee.link_bandwidth_in": given})
    assert config.guarantee.link_bandwidth_in_bps == bits


@pytest.mark.parametrize("given", ["1 Gb", "-1bit/s", "1.5bit/s", True, 1.5, "1e9", "9" * 17, []])
def test_what_is_no_bandwidth_is_refused(given: object) -> None:
    with pytest.raises(InvalidInput, match=r'guarantee\.link_bandwidth_out = .*"1Gbit/s"'):
        load(environ={}, flags={"guarantee.link_bandwidth_out": given})


@pytest.mark.parametrize("given", ["", " ", 7, "a\0b"])
def test_what_is_no_path_is_refused(given: object) -> None:
    with pytest.raises(InvalidInput, match=r"guarantee\.store = .*the path of a file"):
        load(environ={}, flags={"guarantee.store": given})


def test_the_tolerance_covers_the_way_and_the_period() -> None:
    flags = {
        "broker.mode": "time",
        "broker.period": "4ms",
        "broker.budget": "2ms",
        "guarantee.link_delay_in": "8ms",
        "guarantee.tolerance": "1ms",
    }
    assert load(environ={}, flags=flags).tolerance_ns == 13_000_000


def test_paths_in_a_file_are_relative_to_its_folder_and_others_to_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "etc").mkdir()
    file = tmp_path / "etc" / "giusto.toml"
    file.write_text('[guarantee]\nstore = "kept/contracts.db"\ncalibration = "/var/calibration.json"\n')
    monkeypatch.chdir(tmp_path)
    for given in (file, "etc/giusto.toml"):
        terms = load(given, environ={}).guarantee
        assert Path(terms.store or "").absolute() == tmp_path / "etc" / "kept" / "contracts.db"
        assert terms.calibration == "/var/calibration.json"
    assert load(file, environ={"GIUSTO_GUARANTEE_STORE": "here.db"}).guarantee.store == "here.db"
    assert load(file, environ={}, flags={"guarantee.store": "here.db"}).guarantee.store == "here.db"


def test_an_empty_path_in_a_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "giusto.toml"
    file.write_text('[guarantee]\nstore = " "\n')
    with pytest.raises(InvalidInput, match=r"guarantee\.store"):
        load(file, environ={})
