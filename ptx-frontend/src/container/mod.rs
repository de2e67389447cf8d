//! The formats in which CUDA's tools wrap PTX: fatbins, host objects and libraries, cubins.
//!
//! ```text
//! &[u8] ── open ──► Contents ── best_ptx ──► Selection ── Entry::ptx_text ──► PTX for `parse`
//!                      │                        └─ why this one
//!                      └─ Entry::cubin ──► registers, shared memory, parameter layout
//! ```
//!
//! The bytes are hostile until proven otherwise. Every offset is checked, and payloads stay
//! compressed until they are asked for. No claim about a size is believed before it was held
//! against [`Limits`]. Machine code is never executed; of a [`Cubin`] only the launch facts are
//! read.

mod bytes;
mod compression;
mod cubin;
mod decompress;
mod elf;
mod error;
mod fatbin;
mod open;
mod select;
mod target;

use std::borrow::Cow;

pub use compression::Compression;
pub use cubin::{ConstantBank, Cubin, CubinKernel, CubinParam};
pub use decompress::Limits;
pub use error::ContainerError;
pub use open::{open, open_with};
pub use select::{
    Reason, SelectError, Selection, best_ptx, best_ptx_of_each_module, best_ptx_with_kernel,
};
pub use target::{ParseTargetError, Suffix, Target};

use decompress::Payload;

/// The kind of a file, and the device code in it.
#[derive(Clone, Debug)]
pub struct Contents<'a> {
    /// The wrapping.
    pub kind: FileKind,
    /// The device code, in the order in which `cuobjdump -all` lists it: the containers of
    /// `.nv_fatbin`, then those of `__nv_relfatbin`, then any found elsewhere; inside a
    /// container, the order of the file.
    pub entries: Vec<Entry<'a>>,
}

impl<'a> Contents<'a> {
    /// The PTX entries.
    pub fn ptx(&self) -> impl Iterator<Item = &Entry<'a>> {
        self.entries.iter().filter(|entry| entry.kind == EntryKind::Ptx)
    }

    /// The machine code entries.
    pub fn cubins(&self) -> impl Iterator<Item = &Entry<'a>> {
        self.entries.iter().filter(|entry| entry.kind == EntryKind::Cubin)
    }
}

/// The wrapping of the device code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// PTX text, not wrapped at all.
    PtxText,
    /// One or more fatbin containers and nothing else.
    Fatbin,
    /// An ELF file of machine code for a GPU.
    Cubin,
    /// A relocatable host object (`.o`).
    HostObject,
    /// A host executable that is not position independent.
    HostExecutable,
    /// A host shared library, or an executable that is position independent: ELF does not
    /// distinguish them.
    SharedLibrary,
    /// A static library (`.a`).
    Archive,
    /// A file of an unknown format that holds fatbin containers (for example a Windows DLL).
    Other,
}

impl std::fmt::Display for FileKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::PtxText => "PTX text",
            Self::Fatbin => "a fatbin",
            Self::Cubin => "a cubin",
            Self::HostObject => "a host object",
            Self::HostExecutable => "a host executable",
            Self::SharedLibrary => "a shared library or position-independent executable",
            Self::Archive => "a static library",
            Self::Other => "a file of an unknown format",
        })
    }
}

/// The kinds of an entry's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// PTX text.
    Ptx,
    /// Machine code, an ELF file.
    Cubin,
    /// The compiler's encrypted intermediate code for link-time optimisation. It is listed and
    /// cannot be read.
    LtoIr,
    /// A kind that this reader does not know, by its number in the file.
    Other(u16),
}

impl std::fmt::Display for EntryKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ptx => f.write_str("PTX"),
            Self::Cubin => f.write_str("cubin"),
            Self::LtoIr => f.write_str("LTO-IR"),
            Self::Other(number) => write!(f, "entry of unknown kind {number}"),
        }
    }
}

/// One piece of device code: a kernel module for one architecture, in one form.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// PTX, machine code or something that cannot be used.
    pub kind: EntryKind,
    /// The architecture that it was compiled for. `None` only in PTX text without a readable
    /// `.target` line.
    pub target: Option<Target>,
    /// The version in the entry's header, major then minor: for PTX the ISA version, for a cubin
    /// the version of its ABI. `None` where there is no header and the text names none.
    pub version: Option<(u16, u16)>,
    /// The source file, recorded by `-lineinfo` and `-G`, and by nvcc 12.4 always.
    pub name: Option<String>,
    /// The options that the driver is to assemble the PTX with.
    pub options: Option<String>,
    /// Storage format of the payload.
    pub compression: Compression,
    /// True if it was compiled with `-G`.
    pub debug: bool,
    /// Position of the entry's header in the file, in bytes; of its bundle's header where the
    /// entry is part of one.
    pub offset: usize,
    /// The section of the host file that holds the entry.
    pub section: Option<&'a str>,
    /// Index of the module of which the entry is a form. Each translation unit of a library brings
    /// one container. The entries of one container are the same code for different architectures.
    pub module: usize,
    payload: Payload<'a>,
}

impl<'a> Entry<'a> {
    /// The entry's bytes as they are in the file, decompressed.
    ///
    /// Nothing is kept: every call decompresses again, for a member of a bundle the whole
    /// bundle.
    ///
    /// # Errors
    ///
    /// Returns an error if the payload is damaged, is larger than the limits allow, or is LTO-IR.
    pub fn payload(&self) -> Result<Cow<'a, [u8]>, ContainerError> {
        if self.kind == EntryKind::LtoIr {
            return Err(ContainerError::LtoIr { offset: self.offset });
        }
        self.payload.bytes()
    }

    /// The PTX up to its terminating NUL, byte for byte as `cuobjdump -xptx all` writes it.
    ///
    /// # Errors
    ///
    /// As [`Entry::payload`]; and when the entry is not PTX.
    pub fn ptx(&self) -> Result<Cow<'a, [u8]>, ContainerError> {
        if self.kind != EntryKind::Ptx {
            return Err(ContainerError::NotPtx { kind: self.kind, offset: self.offset });
        }
        let payload = self.payload()?;
        let length = memchr::memchr(0, &payload).unwrap_or(payload.len());
        Ok(match payload {
            Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[..length]),
            Cow::Owned(mut bytes) => {
                bytes.truncate(length);
                Cow::Owned(bytes)
            }
        })
    }

    /// [`Entry::ptx`] as text.
    ///
    /// # Errors
    ///
    /// As [`Entry::ptx`]; and when the text is not UTF-8.
    pub fn ptx_text(&self) -> Result<Cow<'a, str>, ContainerError> {
        let not_utf8 = |valid| ContainerError::NotUtf8 { offset: self.offset, valid };
        match self.ptx()? {
            Cow::Borrowed(bytes) => std::str::from_utf8(bytes)
                .map(Cow::Borrowed)
                .map_err(|error| not_utf8(error.valid_up_to())),
            Cow::Owned(bytes) => String::from_utf8(bytes)
                .map(Cow::Owned)
                .map_err(|error| not_utf8(error.utf8_error().valid_up_to())),
        }
    }

    /// The launch facts of a machine code entry.
    ///
    /// # Errors
    ///
    /// As [`Entry::payload`]; and when the entry is not a cubin or a damaged one.
    pub fn cubin(&self) -> Result<Cubin, ContainerError> {
        if self.kind != EntryKind::Cubin {
            return Err(ContainerError::NotCubin { kind: self.kind, offset: self.offset });
        }
        Cubin::parse(&self.payload()?)
    }
}
