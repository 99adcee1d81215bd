//! Where a broker is: what the text of an address means.

use std::path::PathBuf;

use giusto_core::error::Invalid;

/// The port of a broker unless it is told otherwise.
pub const PORT: u16 = 7447;
const EXPECTED: &str = "giusto://host:port, giusto+udp://host:port or giusto+unix:///path";

/// A broker's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Everything over TCP.
    Tcp(Place),
    /// Control over TCP, data in datagrams.
    Udp(Place),
    /// A socket in the file system.
    Unix(PathBuf),
}

/// A host with a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Name or number; an IPv6 number without its brackets.
    pub host: String,
    /// TCP port, and UDP port of the broker's data socket unless it says otherwise.
    pub port: u16,
}

impl Address {
    /// Reads `giusto://…`; the port may be left out.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let refuse = || Invalid::new("address", text, EXPECTED);
        let (scheme, rest) = text.split_once("://").ok_or_else(refuse)?;
        match scheme {
            "giusto" => place(rest).map(Self::Tcp).ok_or_else(refuse),
            "giusto+udp" => place(rest).map(Self::Udp).ok_or_else(refuse),
            "giusto+unix" if rest.starts_with('/') => Ok(Self::Unix(rest.into())),
            _ => Err(refuse()),
        }
    }
}

fn place(text: &str) -> Option<Place> {
    let text = text.strip_suffix('/').unwrap_or(text);
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            (host, if after.is_empty() { None } else { Some(after.strip_prefix(':')?) })
        }
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    let port = port.map_or(Some(PORT), |port| port.parse().ok().filter(|&port| port > 0))?;
    let plain = !host.is_empty() && !host.contains(['/', ' ', '[']);
    plain.then(|| Place { host: host.to_owned(), port })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(host: &str, port: u16) -> Place {
        Place { host: host.into(), port }
    }

    #[test]
    fn addresses_are_read() {
        assert_eq!(Address::parse("giusto://h:1"), Ok(Address::Tcp(at("h", 1))));
        assert_eq!(Address::parse("giusto://h"), Ok(Address::Tcp(at("h", PORT))));
        assert_eq!(Address::parse("giusto://[::1]:2/"), Ok(Address::Tcp(at("::1", 2))));
        assert_eq!(Address::parse("giusto+udp://[::1]"), Ok(Address::Udp(at("::1", PORT))));
        assert_eq!(Address::parse("giusto+unix:///run/g"), Ok(Address::Unix("/run/g".into())));
    }

    #[test]
    fn what_is_no_address_is_refused_with_what_would_be() {
        for text in [
            "",
            "h:1",
            "mqtt://h:1",
            "giusto://",
            "giusto://h:0",
            "giusto://h:x",
            "giusto://h:70000",
            "giusto+unix://run/g",
            "giusto://a/b",
            "giusto://[::1",
            "giusto://[::1]7",
        ] {
            let refused = Address::parse(text).unwrap_err();
            assert_eq!((refused.field.as_str(), refused.expected.as_str()), ("address", EXPECTED), "{text}");
        }
    }
}
