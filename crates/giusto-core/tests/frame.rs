//! Frames: what is written is read back, and no bytes can do worse than an error.

use giusto_core::frame::{
    Credit, Data, DataHeader, DataMut, Decoded, Decoder, EncodeError, Failure, Frame, Hello, LIMIT_BYTES,
    Probe, Reason,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// A frame that owns its bytes, so that proptest can hold it.
#[derive(Clone, Debug)]
enum Owned {
    Hello(u16),
    Data(DataHeader, Vec<u8>, Vec<u8>),
    Control(Vec<u8>),
    Credit(u32, u32),
    Probe(Probe),
    Error(u32, String),
    Goodbye,
}

impl Owned {
    fn frame(&self) -> Frame<'_> {
        match self {
            Self::Hello(version) => Frame::Hello(Hello { version: *version }),
            Self::Data(header, attributes, payload) => {
                Frame::Data(Data { header: *header, attributes, payload })
            }
            Self::Control(body) => Frame::Control(body),
            Self::Credit(stream, amount) => Frame::Credit(Credit { stream: *stream, amount: *amount }),
            Self::Probe(probe) => Frame::Probe(*probe),
            Self::Error(code, text) => Frame::Error(Failure { code: *code, text }),
            Self::Goodbye => Frame::Goodbye,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        encode(&self.frame())
    }
}

fn encode(frame: &Frame<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    frame.encode(&mut out, LIMIT_BYTES).unwrap();
    out
}

fn reason(bytes: &[u8]) -> (usize, Reason) {
    let error = Decoder::default().decode(bytes).unwrap_err();
    (error.offset, error.reason)
}

fn header() -> impl Strategy<Value = DataHeader> {
    let stamps = (any::<i64>(), any::<i64>(), 0..=i64::MAX);
    let numbers = (0u8..=7, any::<u16>(), any::<u32>(), any::<u32>(), any::<u64>());
    (numbers, stamps).prop_map(|((priority, flags, stream, source, sequence), stamps)| {
        let (t_intended_ns, t_sent_ns, timeout_ns) = stamps;
        DataHeader { priority, flags, stream, source, sequence, t_intended_ns, t_sent_ns, timeout_ns }
    })
}

fn probe() -> impl Strategy<Value = Probe> {
    (any::<bool>(), any::<u64>(), any::<i64>(), any::<i64>())
        .prop_map(|(echo, sequence, t_sent_ns, t_echoed_ns)| Probe { echo, sequence, t_sent_ns, t_echoed_ns })
}

fn owned() -> impl Strategy<Value = Owned> {
    prop_oneof![
        any::<u16>().prop_map(Owned::Hello),
        (header(), vec(any::<u8>(), 0..40), vec(any::<u8>(), 0..200))
            .prop_map(|(header, attributes, payload)| Owned::Data(header, attributes, payload)),
        vec(any::<u8>(), 0..100).prop_map(Owned::Control),
        (any::<u32>(), any::<u32>()).prop_map(|(stream, amount)| Owned::Credit(stream, amount)),
        probe().prop_map(Owned::Probe),
        (any::<u32>(), ".{0,20}").prop_map(|(code, text)| Owned::Error(code, text)),
        Just(Owned::Goodbye),
    ]
}

/// A frame that has been decoded is whole, within the limit, and is written as the bytes it came from.
fn check_decoded(bytes: &[u8], limit_bytes: u32) {
    match Decoder::new(limit_bytes).decode(bytes) {
        Ok(Decoded::Frame { frame, consumed }) => {
            assert!(consumed <= bytes.len() && consumed <= limit_bytes as usize);
            assert_eq!(encode(&frame), &bytes[..consumed]);
        }
        Ok(Decoded::Incomplete { needed }) => {
            assert!(needed > bytes.len() && needed <= (limit_bytes as usize).max(8));
        }
        Err(error) => assert!(error.offset < bytes.len()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4 * ProptestConfig::default().cases))]

    #[test]
    fn decoding_undoes_encoding(frame in owned(), behind in vec(any::<u8>(), 0..20)) {
        let mut bytes = frame.bytes();
        let length = bytes.len();
        bytes.extend(behind);
        let decoded = Decoder::default().decode(&bytes);
        prop_assert_eq!(decoded, Ok(Decoded::Frame { frame: frame.frame(), consumed: length }));
    }

    #[test]
    fn every_truncation_asks_for_more(frame in owned()) {
        let bytes = frame.bytes();
        for cut in 0..bytes.len() {
            match Decoder::default().decode(&bytes[..cut]) {
                Ok(Decoded::Incomplete { needed }) => prop_assert!(cut < needed && needed <= bytes.len()),
                other => prop_assert!(false, "cut at {}: {:?}", cut, other),
            }
        }
    }

    #[test]
    fn any_bytes_are_survived(bytes in vec(any::<u8>(), 0..120), limit_bytes in 0u32..300) {
        check_decoded(&bytes, limit_bytes);
    }

    #[test]
    fn any_bytes_behind_a_plausible_start_are_survived(
        kind in 0u8..9, length in 0u32..130, rest in vec(prop_oneof![3 => Just(0u8), 1 => any::<u8>()], 0..130)
    ) {
        let mut bytes = length.to_le_bytes().to_vec();
        bytes.push(kind);
        bytes.extend(rest);
        check_decoded(&bytes, 128);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(4)))]

    #[test]
    fn every_corrupted_byte_gives_an_error_or_another_frame(frame in owned(), flip in 1u8..=255) {
        let bytes = frame.bytes();
        for at in 0..bytes.len() {
            let mut corrupted = bytes.clone();
            corrupted[at] ^= flip;
            check_decoded(&corrupted, LIMIT_BYTES);
        }
    }

    #[test]
    fn stamping_changes_only_the_stamped_fields(header in header(), payload in vec(any::<u8>(), 0..30)) {
        let mut bytes = encode(&Frame::Data(Data { header, attributes: b"ab", payload: &payload }));
        let mut data = DataMut::new(&mut bytes).unwrap();
        data.set_stream(7);
        data.set_source(8);
        data.set_t_intended_ns(9);
        data.set_t_sent_ns(-10);
        let header = DataHeader { stream: 7, source: 8, t_intended_ns: 9, t_sent_ns: -10, ..header };
        prop_assert_eq!(bytes, encode(&Frame::Data(Data { header, attributes: b"ab", payload: &payload })));
    }
}

fn data_bytes() -> Vec<u8> {
    encode(&Frame::Data(Data { header: DataHeader::default(), attributes: b"abc", payload: b"hello" }))
}

#[test]
fn a_long_frame_is_refused_from_its_first_four_bytes() {
    let length = LIMIT_BYTES + 1;
    let wrong = (0, Reason::TooLong { length, limit: LIMIT_BYTES });
    assert_eq!(reason(&length.to_le_bytes()), wrong);
}

#[test]
fn a_wrong_header_is_refused_before_its_payload_is_buffered() {
    let mut bytes = data_bytes();
    bytes[..4].copy_from_slice(&(1u32 << 20).to_le_bytes());
    bytes[5] = 8;
    assert_eq!(reason(&bytes), (5, Reason::Priority(8)));
}

#[test]
fn each_field_that_can_be_wrong_is_named_with_its_place() {
    let wrong = |at: usize, byte: u8| {
        let mut bytes = data_bytes();
        bytes[at] = byte;
        reason(&bytes)
    };
    assert_eq!(wrong(0, 7), (0, Reason::TooShort { length: 7, least: 8 }));
    assert_eq!(wrong(0, 55), (0, Reason::TooShort { length: 55, least: 56 }));
    assert_eq!(wrong(4, 0), (4, Reason::UnknownKind(0)));
    assert_eq!(wrong(4, 1), (0, Reason::NotFixed { length: 64, fixed: 16 }));
    assert_eq!(wrong(47, 0x80), (40, Reason::Timeout(i64::MIN)));
    assert_eq!(wrong(48, 9), (48, Reason::Attributes { bytes: 9, room: 8 }));
    assert_eq!(wrong(55, 1), (52, Reason::Reserved));
}

#[test]
fn a_stranger_is_recognised_by_the_magic() {
    let mut bytes = encode(&Frame::Hello(Hello { version: 1 }));
    bytes[9] = b'?';
    assert_eq!(reason(&bytes), (8, Reason::Magic));
}

#[test]
fn reserved_bytes_outside_data_frames_must_be_zero() {
    for (at, offset) in [(5, 5), (6, 6), (7, 6), (14, 14)] {
        let mut bytes = encode(&Frame::Hello(Hello { version: 1 }));
        bytes[at] = 2;
        assert_eq!(reason(&bytes), (offset, Reason::Reserved));
    }
}

#[test]
fn text_that_is_not_utf8_is_refused_where_it_stops_being_text() {
    let mut bytes = encode(&Frame::Error(Failure { code: 1, text: "abc" }));
    bytes[13] = 0xFF;
    assert_eq!(reason(&bytes), (13, Reason::Text));
}

#[test]
fn a_refused_frame_leaves_the_buffer_as_it_was() {
    let mut out = b"before".to_vec();
    let high = DataHeader { priority: 8, ..DataHeader::default() };
    let past = DataHeader { timeout_ns: -1, ..DataHeader::default() };
    for (header, field) in [(high, "priority"), (past, "timeout_ns")] {
        let refused = Data { header, attributes: b"", payload: b"" }.encode(&mut out, 100);
        assert!(matches!(refused, Err(EncodeError::Invalid(invalid)) if invalid.field == field));
    }
    let refused = Frame::Control(&[0; 93]).encode(&mut out, 100);
    assert_eq!(refused, Err(EncodeError::TooLarge { field: "frame", bytes: 101, limit: 100 }));
    assert_eq!(out, b"before");
}

#[test]
fn only_data_frames_can_be_stamped() {
    assert!(DataMut::new(&mut encode(&Frame::Control(&[0; 80]))).is_none());
    assert!(DataMut::new(&mut data_bytes()[..55]).is_none());
}
