//! Whether a stream of any bytes is decoded into frames that are written as the same bytes.
//!
//! The first two bytes of the input are the longest frame that is accepted, the rest is the stream.

use giusto_core::frame::data::HEADER_BYTES;
use giusto_core::frame::{Data, DataHeader, DataMut, Decoded, Decoder, Frame, LIMIT_BYTES, PREFIX_BYTES};

/// Panics if the decoder loses, invents or misplaces a byte.
pub fn check(input: &[u8]) {
    let Some((limit, mut stream)) = input.split_first_chunk::<2>() else { return };
    let limit_bytes = u32::from(u16::from_le_bytes(*limit));
    let decoder = Decoder::new(limit_bytes);
    loop {
        match decoder.decode(stream) {
            Ok(Decoded::Frame { frame, consumed }) => {
                assert!(consumed >= PREFIX_BYTES && consumed <= limit_bytes as usize);
                let (bytes, rest) = stream.split_at(consumed);
                check_frame(decoder, &frame, bytes);
                stream = rest;
            }
            Ok(Decoded::Incomplete { needed }) => {
                assert!(needed > stream.len() && needed <= (limit_bytes as usize).max(PREFIX_BYTES));
                return;
            }
            Err(error) => {
                assert!(error.offset < stream.len());
                return;
            }
        }
    }
}

fn check_frame(decoder: Decoder, frame: &Frame<'_>, bytes: &[u8]) {
    assert_eq!(written(frame), bytes);
    let boundaries = [0, 3, 4, PREFIX_BYTES - 1, PREFIX_BYTES, HEADER_BYTES, bytes.len() - 1];
    for cut in boundaries.into_iter().filter(|cut| *cut < bytes.len()) {
        let part = decoder.decode(&bytes[..cut]);
        assert!(matches!(part, Ok(Decoded::Incomplete { needed }) if needed > cut && needed <= bytes.len()));
    }
    match frame {
        Frame::Data(data) => check_stamps(data, bytes),
        _ => assert!(DataMut::new(&mut bytes.to_vec()).is_none()),
    }
}

/// Stamping changes what is stamped and nothing else.
fn check_stamps(data: &Data<'_>, bytes: &[u8]) {
    let mut stamped = bytes.to_vec();
    let mut fields = DataMut::new(&mut stamped).expect("a data frame can be stamped");
    fields.set_stream(!data.header.stream);
    fields.set_source(!data.header.source);
    fields.set_t_sent_ns(!data.header.t_sent_ns);
    fields.set_t_intended_ns(!data.header.t_intended_ns);
    let header = DataHeader {
        stream: !data.header.stream,
        source: !data.header.source,
        t_sent_ns: !data.header.t_sent_ns,
        t_intended_ns: !data.header.t_intended_ns,
        ..data.header
    };
    assert_eq!(written(&Frame::Data(Data { header, ..*data })), stamped);
}

fn written(frame: &Frame<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    frame.encode(&mut out, LIMIT_BYTES).expect("what was decoded can be encoded");
    out
}
