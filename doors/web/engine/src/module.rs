//! The functions that the page calls.
//!
//! The page asks for room, writes a request there, and calls. It then reads the answer where it is
//! told that it lies. Files, clocks and random numbers come by WASI; the page's part of it has no
//! file but those of the request.

#![allow(
    unsafe_code,
    reason = "the page finds functions by their names, and calls the C library's beginning"
)]

use std::sync::{LazyLock, Mutex, PoisonError};

use crate::{Engine, Limits};

/// A request, then its answer.
static TEXT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

static ENGINE: LazyLock<Mutex<Option<Engine>>> =
    LazyLock::new(|| Mutex::new(Engine::new(Limits::default(), None).ok()));

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// Tells the page how much of a launch has run: a share of a million.
    safe fn progress(parts: u32);
}

unsafe extern "C" {
    fn __wasm_call_ctors();
}

/// Begins. Without a function of this name, each call would begin the C library anew.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn _initialize() {
    // SAFETY: the page calls this once, before everything else.
    unsafe { __wasm_call_ctors() };
    tempfile::env::override_temp_dir("/".as_ref()).ok();
}

/// Makes room for a request of so many bytes, and returns its place.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn room(bytes: usize) -> *mut u8 {
    let mut text = TEXT.lock().unwrap_or_else(PoisonError::into_inner);
    text.clear();
    text.resize(bytes, 0);
    text.as_mut_ptr()
}

/// Answers the request that lies in the room. Returns the bytes of the answer.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn call() -> usize {
    let mut text = TEXT.lock().unwrap_or_else(PoisonError::into_inner);
    let mut engine = ENGINE.lock().unwrap_or_else(PoisonError::into_inner);
    let request = String::from_utf8_lossy(&text).into_owned();
    let tell = |done: u128, ctas: u128| progress((done * 1_000_000 / ctas.max(1)) as u32);
    let answer = engine.as_mut().map(|engine| engine.answer(&request, &tell));
    *text = answer.unwrap_or_default().into_bytes();
    text.len()
}

/// The place of the answer.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn answer() -> *const u8 {
    TEXT.lock().unwrap_or_else(PoisonError::into_inner).as_ptr()
}
