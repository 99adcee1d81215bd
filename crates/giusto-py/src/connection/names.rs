//! Names of topics and sources as strings that all messages share.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyString;

/// Strings by slot. A slot may stand for another name later, so the name is kept beside the string.
#[derive(Default)]
pub(crate) struct Cache {
    topics: Vec<Option<(Arc<str>, Py<PyString>)>>,
    sources: Vec<Option<(Arc<str>, Py<PyString>)>>,
    nobody: Option<Py<PyString>>,
}

impl Cache {
    #[inline]
    pub(super) fn topic(&mut self, py: Python<'_>, slot: u32, name: &Arc<str>) -> Py<PyString> {
        shared(&mut self.topics, py, slot, name)
    }

    #[inline]
    pub(super) fn source(&mut self, py: Python<'_>, slot: u32, name: &Arc<str>) -> Py<PyString> {
        if name.is_empty() {
            return self.nobody.get_or_insert_with(|| PyString::new(py, "").unbind()).clone_ref(py);
        }
        shared(&mut self.sources, py, slot, name)
    }
}

#[inline]
fn shared(
    strings: &mut Vec<Option<(Arc<str>, Py<PyString>)>>,
    py: Python<'_>,
    slot: u32,
    name: &Arc<str>,
) -> Py<PyString> {
    let at = slot as usize;
    if let Some(Some((known, string))) = strings.get(at) {
        if Arc::ptr_eq(known, name) {
            return string.clone_ref(py);
        }
    }
    if strings.len() <= at {
        strings.resize_with(at + 1, || None);
    }
    let string = PyString::new(py, name).unbind();
    strings[at] = Some((name.clone(), string.clone_ref(py)));
    string
}
