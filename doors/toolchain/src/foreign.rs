//! Functions of C libraries that are found at run time.
//!
//! A table has a row for each function: its name and the types of its documentation. A row of safe
//! types is a safe method: references stand for places of results and for structures, [`Text`] for
//! a text that ends in zero, and [`Handle`] for what the library gave. A row that takes a pointer
//! with a length beside it is an unsafe method.

#![allow(
    unsafe_code,
    reason = "a C library that is found at run time can only be called through its symbols"
)]

use std::ffi::{CStr, CString, NulError, OsStr, c_char, c_void};
use std::marker::PhantomData;
use std::ptr;

use libloading::Symbol;

/// A loaded library of a vendor.
pub(crate) struct Library(libloading::Library);

impl Library {
    /// Loads NVIDIA's library of this name or path.
    ///
    /// # Errors
    ///
    /// The loader's complaint.
    pub(crate) fn load(name: impl AsRef<OsStr>) -> Result<Self, String> {
        // SAFETY: the callers name libraries of NVIDIA, whose initialisers are those of a C++
        // runtime and rely on nothing here.
        let library = unsafe { libloading::Library::new(name.as_ref()) };
        library.map(Self).map_err(|error| error.to_string())
    }

    /// A function of the library.
    ///
    /// # Errors
    ///
    /// A sentence that names a function which the library lacks.
    ///
    /// # Safety
    ///
    /// `T` is the type that the vendor's documentation declares for the function.
    pub(crate) unsafe fn function<T>(&self, name: &str) -> Result<Symbol<'_, T>, String> {
        // SAFETY: by the contract.
        let found = unsafe { self.0.get(name.as_bytes()) };
        found.map_err(|error| format!("the library lacks {name}: {error}"))
    }
}

/// An object of a library, of one kind. Only the library makes any but [`Self::NONE`].
#[repr(transparent)]
pub(crate) struct Handle<K>(*mut c_void, PhantomData<K>);

impl<K> Handle<K> {
    /// No object: the place of one that is to come, or a default.
    pub(crate) const NONE: Self = Self(ptr::null_mut(), PhantomData);
}

impl<K> Clone for Handle<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Handle<K> {}

/// A text that ends in zero.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Text<'a>(*const c_char, PhantomData<&'a CStr>);

impl<'a> From<&'a CString> for Text<'a> {
    fn from(text: &'a CString) -> Self {
        Self(text.as_ptr(), PhantomData)
    }
}

/// The text with a zero at its end.
///
/// # Errors
///
/// A sentence, if there is a zero in it.
pub(crate) fn terminated(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|_: NulError| "a text holds a zero byte".to_owned())
}

/// The text that a library keeps at an address; `None` at the null address.
///
/// # Safety
///
/// The text ends in zero and never changes.
pub(crate) unsafe fn constant_text(text: *const c_char) -> Option<String> {
    // SAFETY: by the contract.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// Gives a type methods for the functions of a library. The type has three methods of its own:
/// `library` lends the library, `check` makes a result of a function's name and number, and `lacks`
/// makes an error of the sentence that a function is missing.
macro_rules! functions {
    (
        $ty:ty, $error:ty;
        safe { $($(#[$of:meta])* $sv:vis $safe:ident = $name:literal ($($at:ident: $as:ty),*);)* }
        unsafe { $($(#[$uf:meta])* $uv:vis $unsafe:ident = $uname:literal ($($ut:ident: $us:ty),*);)* }
    ) => {
        impl $ty {
            $(
                $(#[$of])*
                #[allow(unsafe_code, reason = "a C library is called through its symbols")]
                $sv fn $safe(&self, $($at: $as),*) -> Result<(), $error> {
                    type Function = extern "C" fn($($as),*) -> std::ffi::c_int;
                    // SAFETY: the row has the types of the documentation, and they are safe: the
                    // function keeps no reference and takes every number.
                    let function = unsafe { self.library().function::<Function>($name) };
                    let function = function.map_err(Self::lacks)?;
                    self.check($name, function($($at),*))
                }
            )*
            $(
                $(#[$uf])*
                ///
                /// # Safety
                ///
                /// Pointers are good for what the lengths beside them say.
                #[allow(unsafe_code, reason = "a C library is called through its symbols")]
                #[allow(clippy::too_many_arguments, reason = "the signature is the library's")]
                $uv unsafe fn $unsafe(&self, $($ut: $us),*) -> Result<(), $error> {
                    type Function = unsafe extern "C" fn($($us),*) -> std::ffi::c_int;
                    // SAFETY: the row has the types of the documentation.
                    let function = unsafe { self.library().function::<Function>($uname) };
                    let function = function.map_err(Self::lacks)?;
                    // SAFETY: by the contract.
                    self.check($uname, unsafe { function($($ut),*) })
                }
            )*
        }
    };
}

pub(crate) use functions;
