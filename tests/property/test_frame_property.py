"""A stream of frames is the same frames however the network cuts it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from giusto import _core
from giusto.errors import ProtocolError

U32 = st.integers(0, 2**32 - 1)
U64 = st.integers(0, 2**64 - 1)
I64 = st.integers(-(2**63), 2**63 - 1)

FRAMES = st.one_of(
    st.builds(_core.encode_hello, st.integers(0, 2**16 - 1)),
    st.builds(
        _core.encode_data,
        st.binary(max_size=60),
        stream=U32,
        source=U32,
        sequence=U64,
        t_sent_ns=I64,
        t_intended_ns=I64,
        priority=st.integers(0, 7),
        flags=st.integers(0, 2**16 - 1),
        timeout_ns=st.integers(0, 2**63 - 1),
        attributes=st.binary(max_size=20),
    ),
    st.builds(_core.encode_control, st.binary(max_size=60)),
    st.builds(_core.encode_credit, stream=U32, amount=U32),
    st.builds(_core.encode_probe, sequence=U64, t_sent_ns=I64, t_echoed_ns=I64, echo=st.booleans()),
    st.builds(_core.encode_error, U32, st.text(max_size=20)),
    st.just(_core.encode_goodbye()),
)


@given(st.lists(FRAMES, max_size=8), st.lists(st.integers(1, 40), min_size=1))
def test_cutting_a_stream_anywhere_changes_nothing(frames: list[bytes], cuts: list[int]) -> None:
    decoder, stream, seen, turn = _core.FrameDecoder(), b"".join(frames), [], 0
    while stream:
        cut = cuts[turn % len(cuts)]
        decoder.feed(stream[:cut])
        seen += list(decoder)
        stream, turn = stream[cut:], turn + 1
    assert seen == [_core.decode(frame)[0] for frame in frames]
    assert decoder.pending_bytes == 0


def decoded(data: bytes, limit_bytes: int) -> str:
    """What the bytes are, with its place checked."""
    try:
        frame, count = _core.decode(data, limit_bytes=limit_bytes)
    except ProtocolError as error:
        return "error" if 0 <= error.offset < len(data) else "error outside the data"
    if frame is None:
        return "wish" if len(data) < count <= max(limit_bytes, 8) else "wish that cannot be met"
    return "frame" if count <= min(len(data), limit_bytes) else "frame beyond the data"


@given(st.one_of(st.binary(max_size=100), FRAMES), st.integers(0, 200))
def test_any_bytes_give_a_frame_or_a_wish_or_a_protocol_error(data: bytes, limit_bytes: int) -> None:
    assert decoded(data, limit_bytes) in {"frame", "wish", "error"}
