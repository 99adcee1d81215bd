"""Frames as Python reads and writes them; the format's own tests are in the core."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from giusto import _core
from giusto.errors import InvalidInput, ProtocolError, TooLarge

WIRE = Path(__file__).parents[2] / "docs/reference/wire.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", WIRE.read_text(), re.DOTALL)


def test_the_example_in_the_reference_is_the_frame_it_describes() -> None:
    (example,) = blocks("hex")
    # The bytes end where the explanation starts: behind at least three spaces.
    octets = bytes.fromhex("".join(re.split(r" {3,}", line)[0] for line in example.splitlines()))
    frame, consumed = _core.decode(octets)
    assert isinstance(frame, _core.Data)
    assert consumed == len(octets) == 64
    assert (frame.stream, frame.source, frame.sequence, frame.priority, frame.flags) == (3, 0, 258, 6, 0)
    assert (frame.t_intended_ns, frame.t_sent_ns) == (1_000_000_000, 1_000_004_096)
    assert (frame.timeout_ns, frame.attributes, frame.payload) == (5_000_000, b"", b"SpO2 low")


def test_the_program_in_the_reference_runs() -> None:
    (program,) = blocks("python")
    exec(program, {})


def test_a_message_without_a_plan_was_meant_to_be_sent_when_it_was() -> None:
    frame, _ = _core.decode(_core.encode_data(b"x", stream=1, sequence=2, t_sent_ns=3))
    assert isinstance(frame, _core.Data)
    assert frame.t_intended_ns == 3


def test_each_kind_prints_as_python_would_write_it() -> None:
    def printed(data: bytes) -> str:
        return repr(_core.decode(data)[0])

    assert printed(_core.encode_hello()) == f"Hello(version={_core.WIRE_VERSION})"
    assert printed(_core.encode_control(b"\x80")) == r"Control(body=b'\x80')"
    assert printed(_core.encode_error(3, "no")) == "Failure(code=3, text='no')"
    assert printed(_core.encode_goodbye()) == "Goodbye()"
    assert printed(_core.encode_probe(sequence=1, t_sent_ns=2, t_echoed_ns=3, echo=True)) == (
        "Probe(echo=True, sequence=1, t_sent_ns=2, t_echoed_ns=3)"
    )


def test_the_offset_of_an_error_counts_from_the_start_of_the_stream() -> None:
    decoder = _core.FrameDecoder()
    decoder.feed(_core.encode_goodbye() * 2)
    assert len(list(decoder)) == 2
    decoder.feed(_core.encode_goodbye() + b"\x08\0\0\0\x63\0\0\0")
    assert isinstance(next(decoder), _core.Goodbye)
    for _ in range(2):
        with pytest.raises(ProtocolError, match="unknown kind of frame 99") as raised:
            next(decoder)
        assert raised.value.offset == 3 * 8 + 4


def test_a_decoder_does_not_hoard_what_nobody_takes() -> None:
    decoder = _core.FrameDecoder(limit_bytes=64)
    decoder.feed(_core.encode_goodbye() * 8)
    with pytest.raises(InvalidInput, match="take the frames first"):
        decoder.feed(b"x")
    assert len(list(decoder)) == 8
    decoder.feed(b"x")
    assert decoder.pending_bytes == 1


def test_a_frame_above_the_limit_is_not_written_and_not_read() -> None:
    with pytest.raises(TooLarge) as raised:
        _core.encode_control(bytes(100), limit_bytes=107)
    assert (raised.value.field, raised.value.value, raised.value.limit) == ("frame", 108, 107)
    with pytest.raises(ProtocolError, match="longer than the limit of 107"):
        _core.decode(_core.encode_control(bytes(100)), limit_bytes=107)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("stream", 2**32),
        ("sequence", -1),
        ("t_sent_ns", 2**63),
        ("t_intended_ns", float("nan")),
        ("source", "client"),
        ("priority", 8),
        ("flags", 2**16),
        ("timeout_ns", -1),
        ("limit_bytes", 2**200),
    ],
)
def test_a_field_out_of_range_is_refused_by_name(field: str, value: object) -> None:
    fields: dict[str, object] = {"stream": 1, "sequence": 2, "t_sent_ns": 3, field: value}
    with pytest.raises(InvalidInput) as raised:
        _core.encode_data(b"", **fields)  # type: ignore[arg-type]
    assert (raised.value.field, raised.value.value) == (field, str(value))
