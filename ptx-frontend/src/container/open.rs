//! Telling formats apart, and finding the containers in a file.

use memchr::memmem;

use super::decompress::Payload;
use super::elf::ElfFile;
use super::{
    Compression, ContainerError, Contents, Cubin, Entry, EntryKind, FileKind, Limits, Target,
    fatbin,
};

const ELF_MAGIC: &[u8] = b"\x7fELF";
const ARCHIVE_MAGIC: &[u8] = b"!<arch>\n";
/// The sections that nvcc puts containers in, in the order in which `cuobjdump -all` reads them.
const SECTIONS: [&str; 2] = [".nv_fatbin", "__nv_relfatbin"];

/// Finds the device code in `data`: PTX text, a fatbin, a cubin, or a host object, executable or
/// library that embeds fatbins.
///
/// # Errors
///
/// Returns an error if there is no device code, or if a container is damaged.
pub fn open(data: &[u8]) -> Result<Contents<'_>, ContainerError> {
    open_with(data, Limits::default())
}

/// As [`open`], with other limits on the memory that the file may ask for.
///
/// # Errors
///
/// As [`open`].
pub fn open_with(data: &[u8], limits: Limits) -> Result<Contents<'_>, ContainerError> {
    if data.is_empty() {
        return Err(ContainerError::Empty);
    }
    if data.starts_with(&fatbin::MAGIC) {
        return Ok(Contents { kind: FileKind::Fatbin, entries: scan(data, None, limits)? });
    }
    if data.starts_with(ELF_MAGIC) {
        return open_elf(data, limits);
    }
    if data.starts_with(ARCHIVE_MAGIC) {
        let entries = scan(data, None, limits)?;
        return some_code(FileKind::Archive, entries);
    }
    if let Some(text) = ptx_text(data) {
        let entry = text_entry(data, text, limits);
        return Ok(Contents { kind: FileKind::PtxText, entries: vec![entry] });
    }
    let entries = scan(data, None, limits)?;
    if entries.is_empty() {
        return Err(ContainerError::Unrecognised { hint: hint(data) });
    }
    Ok(Contents { kind: FileKind::Other, entries })
}

fn some_code(kind: FileKind, entries: Vec<Entry<'_>>) -> Result<Contents<'_>, ContainerError> {
    if entries.is_empty() {
        return Err(ContainerError::NoDeviceCode { kind });
    }
    Ok(Contents { kind, entries })
}

fn open_elf(data: &[u8], limits: Limits) -> Result<Contents<'_>, ContainerError> {
    let header = ElfFile::header(data)?;
    if header.is_cubin() {
        let payload = Payload::stored(data, 0, limits);
        let target = Cubin::target_of(data)?;
        let entry = plain_entry(EntryKind::Cubin, Some(target), payload);
        return Ok(Contents { kind: FileKind::Cubin, entries: vec![entry] });
    }
    // Without a readable table of sections the containers are still there to be found.
    match ElfFile::parse(data) {
        Ok(elf) => some_code(elf.kind(), scan(data, Some(&elf), limits)?),
        Err(error) => match scan(data, None, limits)? {
            entries if entries.is_empty() => Err(error),
            entries => Ok(Contents { kind: header.kind(), entries }),
        },
    }
}

/// Every container of the file, by its magic number.
///
/// nvcc aligns containers to 8 bytes within their section. But members of a static library begin at
/// even offsets only, and sections of other names occur. So every byte is looked at. Four bytes of
/// magic number can be anything, above all the constant in the code of the CUDA runtime that checks
/// for it. A damaged candidate is therefore an error only where a container is due: at the
/// beginning of the file and in nvcc's own sections. Elsewhere it is an error if at least its
/// version is right and the file has nothing better.
fn scan<'a>(
    data: &'a [u8],
    elf: Option<&ElfFile<'a>>,
    limits: Limits,
) -> Result<Vec<Entry<'a>>, ContainerError> {
    let sections = SectionMap::new(elf);
    let finder = memmem::Finder::new(&fatbin::MAGIC);
    let mut containers = Vec::new();
    let mut doubtful = None;
    let mut at = 0;
    while let Some(distance) = data.get(at..).and_then(|rest| finder.find(rest)) {
        let start = at + distance;
        let section = sections.at(start);
        let rank = section.and_then(|name| SECTIONS.iter().position(|&known| known == name));
        match fatbin::parse(data, start, limits) {
            Ok((mut entries, end)) => {
                for entry in &mut entries {
                    entry.section = section;
                }
                // A fatbin without entries occurs: nvcc writes one where only the host's half
                // of a registration is needed.
                if !entries.is_empty() {
                    containers.push((rank.unwrap_or(SECTIONS.len()), entries));
                }
                at = end;
            }
            Err(error) if start == 0 || rank.is_some() => return Err(error),
            Err(error) => {
                let other = matches!(error, ContainerError::Version { .. });
                doubtful = doubtful.or((!other).then_some(error));
                at = start + fatbin::MAGIC.len();
            }
        }
    }
    if let (true, Some(error)) = (containers.is_empty(), doubtful) {
        return Err(error);
    }
    containers.sort_by_key(|&(rank, _)| rank);
    let numbered = containers.into_iter().enumerate().flat_map(|(module, (_, entries))| {
        entries.into_iter().map(move |entry| Entry { module, ..entry })
    });
    Ok(numbered.collect())
}

/// Finds the section in which a byte of the file lies.
struct SectionMap<'a> {
    /// First byte, the byte behind the last, name; by first byte.
    extents: Vec<(u64, u64, &'a str)>,
}

impl<'a> SectionMap<'a> {
    fn new(elf: Option<&ElfFile<'a>>) -> Self {
        let mut extents: Vec<_> = elf
            .into_iter()
            .flat_map(|elf| &elf.sections)
            .map(|section| (section.extent(), section.name))
            .filter(|&((_, length), name)| length > 0 && !name.is_empty())
            .map(|((start, length), name)| (start, start.saturating_add(length), name))
            .collect();
        extents.sort_unstable();
        Self { extents }
    }

    fn at(&self, offset: usize) -> Option<&'a str> {
        let offset = offset as u64;
        let behind = self.extents.partition_point(|&(start, ..)| start <= offset);
        let &(_, end, name) = self.extents.get(behind.checked_sub(1)?)?;
        (offset < end).then_some(name)
    }
}

fn plain_entry(kind: EntryKind, target: Option<Target>, payload: Payload<'_>) -> Entry<'_> {
    Entry {
        kind,
        target,
        version: None,
        name: None,
        options: None,
        compression: Compression::None,
        debug: false,
        offset: 0,
        section: None,
        module: 0,
        payload,
    }
}

/// The text of a file that is PTX: text with a line that begins with `.version`, which is the
/// first directive of every module (PTX manual, section 11.1).
fn ptx_text(data: &[u8]) -> Option<&str> {
    let length = memchr::memchr(0, data).unwrap_or(data.len());
    let text = std::str::from_utf8(&data[..length]).ok()?;
    directive(text, ".version").is_some().then_some(text)
}

/// The first line that begins with `name`, behind it.
fn directive<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.trim_start_matches('\u{feff}').lines().find_map(|line| {
        let mut line = line.trim_start();
        while let Some((_, rest)) = line.strip_prefix("/*").and_then(|c| c.split_once("*/")) {
            line = rest.trim_start();
        }
        let rest = line.strip_prefix(name)?;
        rest.starts_with([' ', '\t']).then(|| rest.trim_start())
    })
}

fn text_entry<'a>(data: &'a [u8], text: &str, limits: Limits) -> Entry<'a> {
    let version = directive(text, ".version").and_then(|rest| {
        let word = rest.split(|c: char| c != '.' && !c.is_ascii_digit()).next()?;
        let (major, minor) = word.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    });
    let target = directive(text, ".target").and_then(|rest| {
        let words = rest.split(|c: char| c != '_' && !c.is_ascii_alphanumeric());
        words.filter(|word| word.starts_with("sm_")).find_map(|word| word.parse().ok())
    });
    let entry = plain_entry(EntryKind::Ptx, target, Payload::stored(data, 0, limits));
    Entry { version, ..entry }
}

/// Describes a file without device code.
fn hint(data: &[u8]) -> &'static str {
    const LOOKS: [(&[u8], &str); 6] = [
        (b"PK\x03\x04", "it is a zip archive or a Python wheel; unpack it and give a file in it"),
        (b"\x1f\x8b", "it is compressed with gzip; unpack it first"),
        (b"\x28\xb5\x2f\xfd", "it is compressed with zstd; unpack it first"),
        (b"BC\xc0\xde", "it is LLVM bitcode; compile it to PTX first, with `llc -march=nvptx64`"),
        (
            b"\xed\x43\x4e\x4c",
            "it is LTO-IR of NVIDIA's compiler; compile with `nvcc -ptx` instead",
        ),
        (b"MZ", "it is a Windows program or library, and no fatbin is in it"),
    ];
    if let Some((_, hint)) = LOOKS.iter().find(|(magic, _)| data.starts_with(magic)) {
        return hint;
    }
    match std::str::from_utf8(data) {
        Ok(text) if text.contains("__global__") => {
            "it is CUDA C++; compile it first, with `nvcc -ptx` or `clang --cuda-device-only -S`"
        }
        Ok(_) => "it is text, but no line begins with `.version`, as every PTX module does",
        Err(_) => "its format is not known",
    }
}
