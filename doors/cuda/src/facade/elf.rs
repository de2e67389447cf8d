//! Writes a shared library that has nothing but names: each leads to a function of another library.
//!
//! ```text
//! cudaMalloc@@libcudart.so.13:  jmp *slot(%rip)     slot ◄── gpucast_cudaMalloc, by the linker
//! cudaFoo@@libcudart.so.13:     lea name(%rip), %rdi; jmp *slot(%rip)  ◄── gpucast_unsupported
//! ```
//!
//! The layout follows the System V ABI (gABI, chapters 4 and 5), its AMD64 supplement, and the
//! "Linux Standard Base" for symbol versions. The file has three parts: headers and tables with the
//! code, the writable slots, and the section headers for tools such as `nm` and the linker.

/// A name and the function behind it.
pub(super) struct Symbol<'a> {
    pub(super) name: &'a str,
    /// The function's name in the other library; none leads to the fallback.
    pub(super) target: Option<String>,
}

/// The library to write.
pub(super) struct SharedLibrary<'a> {
    /// Its own name.
    pub(super) name: &'a str,
    /// The version of all symbols.
    pub(super) version: Option<&'a str>,
    /// The path or name of the library with the functions.
    pub(super) needed: &'a str,
    pub(super) symbols: &'a [Symbol<'a>],
    /// The function for symbols without one. It gets the symbol's name.
    pub(super) fallback: &'a str,
}

const PAGE: u64 = 4096;
const HEADER_BYTES: u64 = 64;
const PROGRAM_HEADER_BYTES: u64 = 56;
const PROGRAM_HEADERS: u64 = 4;
const SECTION_HEADER_BYTES: u64 = 64;
const SYMBOL_BYTES: u64 = 24;
const RELOCATION_BYTES: u64 = 24;
const DYNAMIC_BYTES: u64 = 16;

// Types of sections.
const SHT_PROGBITS: u32 = 1;
const SHT_STRTAB: u32 = 3;
const SHT_RELA: u32 = 4;
const SHT_HASH: u32 = 5;
const SHT_DYNAMIC: u32 = 6;
const SHT_DYNSYM: u32 = 11;
const SHT_GNU_VERDEF: u32 = 0x6fff_fffd;
const SHT_GNU_VERSYM: u32 = 0x6fff_ffff;

// Flags of sections.
const WRITE: u64 = 1;
const ALLOC: u64 = 2;
const EXECUTE: u64 = 4;

const R_X86_64_GLOB_DAT: u64 = 6;

/// The index of the version of all symbols; 1 is that of the file itself.
const VERSION_INDEX: u16 = 2;

/// Strings with a zero behind each, by offset.
struct Strings(Vec<u8>);

impl Strings {
    fn new() -> Self {
        Self(vec![0])
    }

    fn add(&mut self, text: &str) -> u32 {
        let at = self.0.len() as u32;
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(0);
        at
    }
}

/// Little-endian numbers in a row.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn half(&mut self, value: u16) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn word(&mut self, value: u32) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn long(&mut self, value: u64) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }
}

/// A section with its place; addresses are offsets in the file.
struct Section {
    name: &'static str,
    kind: u32,
    flags: u64,
    address: u64,
    bytes: Vec<u8>,
    link: u32,
    info: u32,
    align: u64,
    entry: u64,
}

/// The hash of the tables of symbols and versions (gABI, chapter 5, "Hash Table").
fn hash(name: &str) -> u32 {
    name.bytes().fold(0_u32, |hash, byte| {
        let hash = (hash << 4).wrapping_add(u32::from(byte));
        let high = hash & 0xf000_0000;
        (hash ^ (high >> 24)) & !high
    })
}

/// The file's bytes.
pub(super) fn write(library: &SharedLibrary<'_>) -> Vec<u8> {
    let mut strings = Strings::new();
    let mut targets: Vec<&str> =
        library.symbols.iter().filter_map(|symbol| symbol.target.as_deref()).collect();
    targets.push(library.fallback);
    targets.sort_unstable();
    targets.dedup();
    let slot = |target: &str| targets.binary_search(&target).unwrap_or(0) as u64;

    // The sizes of all parts are known before the places that they speak of.
    let symbols = (1 + targets.len() + library.symbols.len()) as u64;
    let own_names = library.symbols.iter().map(|symbol| symbol.name);
    let names = targets.iter().copied().chain(own_names).map(|name| strings.add(name));
    let names: Vec<u32> = std::iter::once(0).chain(names).collect();
    let needed = strings.add(library.needed);
    let own_name = strings.add(library.name);
    let version = library.version.map(|version| strings.add(version));
    let hashes = hash_table(
        std::iter::repeat_n("", 1 + targets.len())
            .chain(library.symbols.iter().map(|symbol| symbol.name)),
    );
    let mut at = HEADER_BYTES + PROGRAM_HEADERS * PROGRAM_HEADER_BYTES;
    let mut place = |bytes: u64, align: u64| {
        let start = at.next_multiple_of(align);
        at = start + bytes;
        start
    };
    let hash_at = place(hashes.len() as u64, 8);
    let symbols_at = place(symbols * SYMBOL_BYTES, 8);
    let strings_at = place(strings.0.len() as u64, 1);
    let versions_at = place(2 * symbols, 2);
    let definitions = library
        .version
        .zip(version)
        .map(|(version, name)| definitions(library.name, own_name, version, name));
    let definitions_at = place(definitions.as_ref().map_or(0, |bytes| bytes.len() as u64), 8);
    let relocations_at = place(targets.len() as u64 * RELOCATION_BYTES, 8);
    let text_at = place(0, 16);
    // Code refers to slots, whose place follows from its own size; each stub has a fixed size.
    let text_bytes = library.symbols.len() as u64 * STUB_BYTES;
    place(text_bytes, 16);
    let names_at = place(strings_of_unsupported(library).len() as u64, 1);
    let slots_at = place(targets.len() as u64 * 8, PAGE);
    let entries = dynamic_entries(library.version.is_some());
    let dynamic_at = place(entries as u64 * DYNAMIC_BYTES, 16);
    let end_of_load = at;

    let mut dynamic = Bytes::default();
    let mut tag = |tag: u64, value: u64| {
        dynamic.long(tag).long(value);
    };
    tag(1, u64::from(needed)); // DT_NEEDED
    tag(14, u64::from(own_name)); // DT_SONAME
    tag(4, hash_at); // DT_HASH
    tag(5, strings_at); // DT_STRTAB
    tag(6, symbols_at); // DT_SYMTAB
    tag(10, strings.0.len() as u64); // DT_STRSZ
    tag(11, SYMBOL_BYTES); // DT_SYMENT
    tag(7, relocations_at); // DT_RELA
    tag(8, targets.len() as u64 * RELOCATION_BYTES); // DT_RELASZ
    tag(9, RELOCATION_BYTES); // DT_RELAENT
    if definitions.is_some() {
        tag(0x6fff_fff0, versions_at); // DT_VERSYM
        tag(0x6fff_fffc, definitions_at); // DT_VERDEF
        tag(0x6fff_fffd, 2); // DT_VERDEFNUM
    }
    tag(0, 0);
    debug_assert_eq!(dynamic.0.len() as u64, entries as u64 * DYNAMIC_BYTES);

    let mut table = Bytes::default();
    const GLOBAL_FUNCTION: u8 = 1 << 4 | 2;
    const GLOBAL: u8 = 1 << 4;
    table.0.resize(SYMBOL_BYTES as usize, 0);
    for index in 0..targets.len() {
        table.word(names[1 + index]);
        table.0.extend_from_slice(&[GLOBAL, 0]);
        table.half(0).long(0).long(0);
    }
    for index in 0..library.symbols.len() {
        table.word(names[1 + targets.len() + index]);
        table.0.extend_from_slice(&[GLOBAL_FUNCTION, 0]);
        table.half(TEXT_SECTION).long(text_at + index as u64 * STUB_BYTES).long(STUB_BYTES);
    }
    let mut versions = Bytes::default();
    versions.half(0);
    targets.iter().for_each(|_| {
        versions.half(1);
    });
    let own_version = if definitions.is_some() { VERSION_INDEX } else { 1 };
    library.symbols.iter().for_each(|_| {
        versions.half(own_version);
    });
    let mut relocations = Bytes::default();
    for index in 0..targets.len() as u64 {
        relocations.long(slots_at + 8 * index).long((index + 1) << 32 | R_X86_64_GLOB_DAT).long(0);
    }
    let mut text = Vec::new();
    let mut unsupported = 0;
    for (index, symbol) in library.symbols.iter().enumerate() {
        let at = text_at + index as u64 * STUB_BYTES;
        let name = match &symbol.target {
            Some(_) => None,
            None => {
                let name = names_at + unsupported;
                unsupported += symbol.name.len() as u64 + 1;
                Some(name)
            }
        };
        let target = symbol.target.as_deref().unwrap_or(library.fallback);
        text.extend_from_slice(&stub(at, name, slots_at + 8 * slot(target)));
    }

    let section = |name, kind, flags, address, bytes: Vec<u8>| Section {
        name,
        kind,
        flags,
        address,
        bytes,
        link: 0,
        info: 0,
        align: 8,
        entry: 0,
    };
    // Section 0 is none; the numbers in `link` count from 1.
    const DYNSYM: u32 = 2;
    const DYNSTR: u32 = 3;
    let mut sections = vec![
        Section { link: DYNSYM, entry: 4, ..section(".hash", SHT_HASH, ALLOC, hash_at, hashes) },
        Section {
            link: DYNSTR,
            info: 1,
            entry: SYMBOL_BYTES,
            ..section(".dynsym", SHT_DYNSYM, ALLOC, symbols_at, table.0)
        },
        Section { align: 1, ..section(".dynstr", SHT_STRTAB, ALLOC, strings_at, strings.0) },
        Section {
            link: DYNSYM,
            info: 0,
            entry: RELOCATION_BYTES,
            ..section(".rela.dyn", SHT_RELA, ALLOC, relocations_at, relocations.0)
        },
        Section { align: 16, ..section(".text", SHT_PROGBITS, ALLOC | EXECUTE, text_at, text) },
        Section {
            align: 1,
            ..section(".rodata", SHT_PROGBITS, ALLOC, names_at, strings_of_unsupported(library))
        },
        section(".got", SHT_PROGBITS, ALLOC | WRITE, slots_at, vec![0; 8 * targets.len()]),
        Section {
            link: DYNSTR,
            entry: DYNAMIC_BYTES,
            ..section(".dynamic", SHT_DYNAMIC, ALLOC | WRITE, dynamic_at, dynamic.0)
        },
    ];
    if let Some(definitions) = definitions {
        sections.push(Section {
            link: DYNSYM,
            entry: 2,
            align: 2,
            ..section(".gnu.version", SHT_GNU_VERSYM, ALLOC, versions_at, versions.0)
        });
        sections.push(Section {
            link: DYNSTR,
            info: 2,
            ..section(".gnu.version_d", SHT_GNU_VERDEF, ALLOC, definitions_at, definitions)
        });
    }
    let segments = Segments { read_end: slots_at, slots_at, dynamic_at, end: end_of_load };
    assemble(sections, &segments)
}

/// `.text` among the sections, counted from 1.
const TEXT_SECTION: u16 = 5;

fn dynamic_entries(versioned: bool) -> usize {
    if versioned { 14 } else { 11 }
}

/// The names that the fallback is told, one after the other.
fn strings_of_unsupported(library: &SharedLibrary<'_>) -> Vec<u8> {
    let unsupported = library.symbols.iter().filter(|symbol| symbol.target.is_none());
    unsupported.flat_map(|symbol| symbol.name.bytes().chain([0])).collect()
}

/// The definitions of the file's own version and of that of all symbols.
fn definitions(own: &str, own_name: u32, version: &str, version_name: u32) -> Vec<u8> {
    const DEFINITION_BYTES: u32 = 20;
    const NAME_BYTES: u32 = 8;
    const BASE: u16 = 1;
    let mut bytes = Bytes::default();
    let mut define = |flags, index, text: &str, name, next| {
        bytes.half(1).half(flags).half(index).half(1).word(hash(text));
        bytes.word(DEFINITION_BYTES).word(next).word(name).word(0);
    };
    define(BASE, 1, own, own_name, DEFINITION_BYTES + NAME_BYTES);
    define(0, VERSION_INDEX, version, version_name, 0);
    bytes.0
}

/// The hash table of symbols; those that are not defined here have no name.
fn hash_table<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Vec<u8> {
    let count = names.clone().count() as u32;
    let buckets = (count / 2).max(1);
    let mut first = vec![0; buckets as usize];
    let mut next = vec![0; count as usize];
    for (index, name) in names.enumerate().filter(|(_, name)| !name.is_empty()) {
        let bucket = &mut first[(hash(name) % buckets) as usize];
        next[index] = *bucket;
        *bucket = index as u32;
    }
    let mut bytes = Bytes::default();
    bytes.word(buckets).word(count);
    first.into_iter().chain(next).for_each(|value| {
        bytes.word(value);
    });
    bytes.0
}

/// Bytes of a stub, the longer kind rounded up.
const STUB_BYTES: u64 = 32;

/// The code of a symbol at `at`: jumps through a slot, with a name as the first argument if there
/// is one.
fn stub(at: u64, name: Option<u64>, slot: u64) -> [u8; STUB_BYTES as usize] {
    // endbr64, for processors that check where jumps go.
    let mut code = vec![0xf3, 0x0f, 0x1e, 0xfa];
    let distance = |code: &[u8], to: u64| {
        let next = at + code.len() as u64 + 4;
        (to.wrapping_sub(next) as u32).to_le_bytes()
    };
    if let Some(name) = name {
        // lea name(%rip), %rdi
        code.extend_from_slice(&[0x48, 0x8d, 0x3d]);
        let bytes = distance(&code, name);
        code.extend_from_slice(&bytes);
    }
    // jmp *slot(%rip)
    code.extend_from_slice(&[0xff, 0x25]);
    let bytes = distance(&code, slot);
    code.extend_from_slice(&bytes);
    // int3 behind it.
    let mut stub = [0xcc; STUB_BYTES as usize];
    stub[..code.len()].copy_from_slice(&code);
    stub
}

/// The parts of the file as the loader maps them.
struct Segments {
    /// End of what is read and executed, a multiple of pages.
    read_end: u64,
    slots_at: u64,
    dynamic_at: u64,
    end: u64,
}

/// Puts headers and sections together.
fn assemble(sections: Vec<Section>, segments: &Segments) -> Vec<u8> {
    let mut names = Strings::new();
    let mut table = Bytes::default();
    table.0.resize(SECTION_HEADER_BYTES as usize, 0);
    for section in &sections {
        let name = names.add(section.name);
        table.word(name).word(section.kind).long(section.flags).long(section.address);
        table.long(section.address).long(section.bytes.len() as u64);
        table.word(section.link).word(section.info).long(section.align).long(section.entry);
    }
    let own_name = names.add(".shstrtab");
    let names_at = segments.end;
    let table_at = (names_at + names.0.len() as u64).next_multiple_of(8);
    table.word(own_name).word(SHT_STRTAB).long(0).long(0);
    table.long(names_at).long(names.0.len() as u64).word(0).word(0).long(1).long(0);
    let count = sections.len() as u16 + 2;

    let mut file = Bytes::default();
    file.0.extend_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    const SHARED: u16 = 3;
    const X86_64: u16 = 62;
    file.half(SHARED).half(X86_64).word(1).long(0).long(HEADER_BYTES).long(table_at).word(0);
    file.half(HEADER_BYTES as u16).half(PROGRAM_HEADER_BYTES as u16).half(PROGRAM_HEADERS as u16);
    file.half(SECTION_HEADER_BYTES as u16).half(count).half(count - 1);
    let mut segment = |kind: u32, flags: u32, from: u64, to: u64, align: u64| {
        file.word(kind).word(flags).long(from).long(from).long(from);
        file.long(to - from).long(to - from).long(align);
    };
    const LOAD: u32 = 1;
    const DYNAMIC: u32 = 2;
    const GNU_STACK: u32 = 0x6474_e551;
    const READ: u32 = 4;
    const WRITABLE: u32 = 2;
    const EXECUTABLE: u32 = 1;
    segment(LOAD, READ | EXECUTABLE, 0, segments.read_end, PAGE);
    segment(LOAD, READ | WRITABLE, segments.slots_at, segments.end, PAGE);
    segment(DYNAMIC, READ | WRITABLE, segments.dynamic_at, segments.end, 8);
    segment(GNU_STACK, READ | WRITABLE, 0, 0, 16);

    let mut file = file.0;
    for section in sections {
        let end = section.address as usize + section.bytes.len();
        if file.len() < end {
            file.resize(end, 0);
        }
        file[section.address as usize..end].copy_from_slice(&section.bytes);
    }
    file.resize(names_at as usize, 0);
    file.extend_from_slice(&names.0);
    file.resize(table_at as usize, 0);
    file.extend_from_slice(&table.0);
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_the_abi() {
        // Values of `readelf -V` for glibc's own names.
        assert_eq!(hash("GLIBC_2.2.5"), 0x0969_1a75);
        assert_eq!(hash(""), 0);
    }

    #[test]
    fn stubs_jump_to_their_slots() {
        let code = stub(0x1000, None, 0x2000);
        assert_eq!(code[4..6], [0xff, 0x25]);
        let distance = i32::from_le_bytes(code[6..10].try_into().unwrap());
        assert_eq!(0x1000 + 10 + i64::from(distance), 0x2000);
        let code = stub(0x3000, Some(0x2800), 0x2000);
        let name = i32::from_le_bytes(code[7..11].try_into().unwrap());
        assert_eq!(0x3000 + 11 + i64::from(name), 0x2800);
        let slot = i32::from_le_bytes(code[13..17].try_into().unwrap());
        assert_eq!(0x3000 + 17 + i64::from(slot), 0x2000);
    }
}
