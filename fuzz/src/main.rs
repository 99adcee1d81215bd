//! The targets as a libFuzzer program; the environment variable `GIUSTO_TARGET` names the one to run.
#![no_main]

use std::sync::OnceLock;

use giusto_fuzz::Target;
use libfuzzer_sys::fuzz_target;

static CHOSEN: OnceLock<Target> = OnceLock::new();

fuzz_target!(|input: &[u8]| CHOSEN.get_or_init(choose)(input));

fn choose() -> Target {
    let name = std::env::var("GIUSTO_TARGET").unwrap_or_default();
    giusto_fuzz::target(&name).unwrap_or_else(|| panic!("GIUSTO_TARGET = {name:?} is not a target"))
}
