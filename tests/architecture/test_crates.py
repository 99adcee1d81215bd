"""Rust crates point one way, and the core stays free of effects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from rules import rust

ROOT = Path(__file__).parents[2]
Plant = Callable[[dict[str, str]], Path]


def manifest(name: str, rest: str) -> dict[str, str]:
    text = f'[package]\nname = "{name}"\n[lints]\nworkspace = true\n{rest}\n'
    return {f"crates/{name}/Cargo.toml": text}


def core(code: str) -> dict[str, str]:
    return {"crates/giusto-core/src/lib.rs": code}


def test_crates_depend_only_on_what_lies_below_them() -> None:
    assert rust.dependency_problems(ROOT) == []


def test_the_core_has_no_effects() -> None:
    assert (ROOT / "crates/giusto-core/src/lib.rs").exists()
    assert rust.purity_problems(ROOT) == []


@pytest.mark.parametrize(
    ("crate", "rest", "reason"),
    [
        ("giusto-core", "[dependencies]\ngiusto-sim = { workspace = true }", "dependencies point one way"),
        ("giusto-sim", "[dev-dependencies]\ngiusto-net.workspace = true", "dependencies point one way"),
        ("giusto-net", "[dependencies]\ngiusto-sim.workspace = true", "dependencies point one way"),
        ("giusto-sim", '[dependencies]\npyo3 = "0.30"', "only giusto-py knows Python"),
        ("giusto-core", '[dependencies]\npy = { package = "pyo3-ffi", version = "1" }', "knows Python"),
        ("giusto-core", '[target."cfg(unix)".dependencies]\nlibc = "0.2"', "decides without effects"),
        ("giusto-core", '[dependencies]\nrand_core = "0.9"', "decides without effects"),
        ("giusto-web", "", "has no place in the order of crates"),
    ],
)
def test_a_wrong_dependency_is_found(plant: Plant, crate: str, rest: str, reason: str) -> None:
    problems = rust.dependency_problems(plant(manifest(crate, rest)))
    assert len(problems) == 1
    assert reason in problems[0]


def test_a_right_dependency_is_no_problem(plant: Plant) -> None:
    text = '[dependencies]\ngiusto-core.workspace = true\ngiusto-sim.workspace = true\npyo3 = "0.30"'
    assert rust.dependency_problems(plant(manifest("giusto-py", text))) == []


def test_a_crate_without_the_lints_of_the_workspace_is_found(plant: Plant) -> None:
    root = plant({"crates/giusto-sim/Cargo.toml": '[package]\nname = "giusto-sim"\n'})
    assert rust.dependency_problems(root) == ["giusto-sim does not take the lints of the workspace"]


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("use std::time::Instant;", "a clock"),
        ("use std::{fmt, time::{Duration, SystemTime}};", "a clock"),
        ("fn f() { std::thread::yield_now(); }", "a thread"),
        ("use std::net::TcpStream;", "the network"),
        ("use std::{collections::{BTreeMap, HashMap}, fs};", "files"),
        ("use std::io::{self, Read};", "input or output"),
        ('fn f() { println!("x"); }', "input or output"),
        ("fn f() -> bool { std::env::var_os(NAME).is_some() }", "the process"),
        ("fn f() -> u8 { rand::random() }", "chance"),
        ("fn f() { unsafe { g() } }", "unsafe code"),
        ("const Q: char = '\"'; fn f<'a>(x: &'a str) { unsafe { g(x, b'\"') } }", "unsafe code"),
        ("const Q: char = '\\''; fn f() { unsafe { g() } }", "unsafe code"),
    ],
)
def test_an_effect_in_the_core_is_found(plant: Plant, code: str, what: str) -> None:
    assert rust.purity_problems(plant(core(code))) == [f"crates/giusto-core/src/lib.rs uses {what}"]


def test_words_in_comments_and_strings_are_not_code(plant: Plant) -> None:
    code = '//! No unsafe, no std::thread.\nuse std::time::Duration;\nconst A: &str = "std::fs \\" unsafe";\n'
    code += '/* std::net */ const B: &str = r#"a " unsafe"#;\n'
    assert rust.purity_problems(plant(core(code))) == []


def workspace(oldest: str, code: str) -> dict[str, str]:
    return {"Cargo.toml": f'[workspace.package]\nrust-version = "{oldest}"\n'} | core(code)


def test_the_oldest_compiler_that_we_promise_knows_the_syntax() -> None:
    assert rust.chain_problems(ROOT) == []


@pytest.mark.parametrize(
    "code", ["fn f() { if let Some(x) = g()\n && x { h() } }", "fn f() { if a && let Some(x) = g() { h() } }"]
)
def test_syntax_that_is_too_new_is_found(plant: Plant, code: str) -> None:
    assert len(rust.chain_problems(plant(workspace("1.85", code)))) == 1
    assert rust.chain_problems(plant(workspace("1.88", code))) == []


def test_a_condition_inside_brackets_is_no_chain(plant: Plant) -> None:
    code = "fn f() { if let Some(x) = g(|y| y && z) { a && b } while let [x, ..] = y[a && b] {} }"
    assert rust.chain_problems(plant(workspace("1.85", code))) == []
