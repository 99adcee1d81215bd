//! Every target on its corpus, and on much that is one byte away from it, without libFuzzer.

use std::fs;
use std::path::PathBuf;

use giusto_fuzz::{TARGETS, Target};

/// One-byte changes that reach other branches: bounds of lengths, kinds, signs, text.
const BYTES: [u8; 8] = [0, 1, 2, 7, 0x20, 0x7F, 0x80, 0xFF];
/// Places of an input that are changed, at most.
const PLACES: usize = 32;

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    files.map(|file| fs::read(file.unwrap().path()).unwrap()).collect()
}

fn check_neighbours(check: Target, input: &[u8]) {
    let mut changed = input.to_vec();
    for at in (0..input.len()).step_by(input.len() / PLACES + 1) {
        for byte in BYTES {
            changed[at] = byte;
            check(&changed);
        }
        changed[at] = input[at];
        check(&input[..at]);
    }
}

#[test]
fn the_corpus_of_every_target_breaks_no_promise() {
    for (name, check) in TARGETS {
        let inputs = corpus(name);
        assert!(!inputs.is_empty(), "{name} has no corpus");
        inputs.iter().for_each(|input| check(input));
    }
}

#[test]
fn what_is_one_byte_away_from_the_corpus_breaks_no_promise() {
    for (name, check) in TARGETS {
        corpus(name).iter().for_each(|input| check_neighbours(check, input));
    }
}
