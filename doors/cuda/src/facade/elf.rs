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
    let parts = Parts::of(library);
    let layout = Layout::of(&parts);
    assemble(sections(&parts, &layout), &layout)
}

/// The parts of the file whose bytes do not speak of places.
struct Parts<'a> {
    symbols: &'a [Symbol<'a>],
    fallback: &'a str,
    /// The functions of the other library, each with a slot, in order.
    targets: Vec<&'a str>,
    strings: Strings,
    /// The name of each symbol in `strings`: of none, of targets, of own symbols.
    names: Vec<u32>,
    needed: u32,
    own_name: u32,
    hashes: Vec<u8>,
    /// The definitions of versions, if the symbols have one.
    definitions: Option<Vec<u8>>,
    /// The names that the fallback is told.
    unsupported: Vec<u8>,
}

impl<'a> Parts<'a> {
    fn of(library: &SharedLibrary<'a>) -> Self {
        let mut strings = Strings::new();
        let mut targets: Vec<&str> =
            library.symbols.iter().filter_map(|symbol| symbol.target.as_deref()).collect();
        targets.push(library.fallback);
        targets.sort_unstable();
        targets.dedup();
        let own_names = library.symbols.iter().map(|symbol| symbol.name);
        let names = targets.iter().copied().chain(own_names.clone()).map(|name| strings.add(name));
        let names: Vec<u32> = std::iter::once(0).chain(names).collect();
        let needed = strings.add(library.needed);
        let own_name = strings.add(library.name);
        let version = library.version.map(|version| (version, strings.add(version)));
        Self {
            symbols: library.symbols,
            fallback: library.fallback,
            hashes: hash_table(std::iter::repeat_n("", 1 + targets.len()).chain(own_names)),
            targets,
            strings,
            names,
            needed,
            own_name,
            definitions: version
                .map(|(text, name)| definitions(library.name, own_name, text, name)),
            unsupported: strings_of_unsupported(library),
        }
    }

    /// Symbols of the table: none, targets and own ones.
    fn symbol_count(&self) -> u64 {
        (1 + self.targets.len() + self.symbols.len()) as u64
    }

    /// The table of symbols.
    fn symbol_table(&self, text_at: u64) -> Vec<u8> {
        const GLOBAL_FUNCTION: u8 = 1 << 4 | 2;
        const GLOBAL: u8 = 1 << 4;
        let mut table = Bytes::default();
        table.0.resize(SYMBOL_BYTES as usize, 0);
        for index in 0..self.targets.len() {
            table.word(self.names[1 + index]);
            table.0.extend_from_slice(&[GLOBAL, 0]);
            table.half(0).long(0).long(0);
        }
        for index in 0..self.symbols.len() {
            table.word(self.names[1 + self.targets.len() + index]);
            table.0.extend_from_slice(&[GLOBAL_FUNCTION, 0]);
            table.half(TEXT_SECTION).long(text_at + index as u64 * STUB_BYTES).long(STUB_BYTES);
        }
        table.0
    }

    /// The version of each symbol.
    fn versions(&self) -> Vec<u8> {
        let own_version = if self.definitions.is_some() { VERSION_INDEX } else { 1 };
        let of_targets = self.targets.iter().map(|_| 1);
        let of_symbols = self.symbols.iter().map(|_| own_version);
        let mut versions = Bytes::default();
        for version in std::iter::once(0).chain(of_targets).chain(of_symbols) {
            versions.half(version);
        }
        versions.0
    }

    /// The relocations that fill the slots.
    fn relocations(&self, slots_at: u64) -> Vec<u8> {
        let mut relocations = Bytes::default();
        for index in 0..self.targets.len() as u64 {
            let place = relocations.long(slots_at + 8 * index);
            place.long((index + 1) << 32 | R_X86_64_GLOB_DAT).long(0);
        }
        relocations.0
    }

    /// The stubs of all symbols.
    fn text(&self, layout: &Layout) -> Vec<u8> {
        let slot = |target: &str| self.targets.binary_search(&target).unwrap_or(0) as u64;
        let mut text = Vec::new();
        let mut next_name = layout.names_at;
        for (index, symbol) in self.symbols.iter().enumerate() {
            let at = layout.text_at + index as u64 * STUB_BYTES;
            let name = symbol.target.is_none().then_some(next_name);
            if name.is_some() {
                next_name += symbol.name.len() as u64 + 1;
            }
            let target = symbol.target.as_deref().unwrap_or(self.fallback);
            text.extend_from_slice(&stub(at, name, layout.slots_at + 8 * slot(target)));
        }
        text
    }

    /// What the loader reads first.
    fn dynamic(&self, layout: &Layout) -> Vec<u8> {
        let mut dynamic = Bytes::default();
        let mut tag = |tag: u64, value: u64| {
            dynamic.long(tag).long(value);
        };
        tag(1, u64::from(self.needed)); // DT_NEEDED
        tag(14, u64::from(self.own_name)); // DT_SONAME
        tag(4, layout.hash_at); // DT_HASH
        tag(5, layout.strings_at); // DT_STRTAB
        tag(6, layout.symbols_at); // DT_SYMTAB
        tag(10, self.strings.0.len() as u64); // DT_STRSZ
        tag(11, SYMBOL_BYTES); // DT_SYMENT
        tag(7, layout.relocations_at); // DT_RELA
        tag(8, self.targets.len() as u64 * RELOCATION_BYTES); // DT_RELASZ
        tag(9, RELOCATION_BYTES); // DT_RELAENT
        if self.definitions.is_some() {
            tag(0x6fff_fff0, layout.versions_at); // DT_VERSYM
            tag(0x6fff_fffc, layout.definitions_at); // DT_VERDEF
            tag(0x6fff_fffd, 2); // DT_VERDEFNUM
        }
        tag(0, 0);
        debug_assert_eq!(dynamic.0.len(), dynamic_bytes(self.definitions.is_some()) as usize);
        dynamic.0
    }
}

/// The places of all parts; addresses are offsets in the file.
struct Layout {
    hash_at: u64,
    symbols_at: u64,
    strings_at: u64,
    versions_at: u64,
    definitions_at: u64,
    relocations_at: u64,
    text_at: u64,
    names_at: u64,
    /// Where the writable part begins, at a page.
    slots_at: u64,
    dynamic_at: u64,
    end: u64,
}

impl Layout {
    fn of(parts: &Parts<'_>) -> Self {
        let mut at = HEADER_BYTES + PROGRAM_HEADERS * PROGRAM_HEADER_BYTES;
        let mut place = |bytes: u64, align: u64| {
            let start = at.next_multiple_of(align);
            at = start + bytes;
            start
        };
        let targets = parts.targets.len() as u64;
        let bytes = |part: &[u8]| part.len() as u64;
        let mut layout = Self {
            hash_at: place(bytes(&parts.hashes), 8),
            symbols_at: place(parts.symbol_count() * SYMBOL_BYTES, 8),
            strings_at: place(bytes(&parts.strings.0), 1),
            versions_at: place(2 * parts.symbol_count(), 2),
            definitions_at: place(parts.definitions.as_deref().map_or(0, bytes), 8),
            relocations_at: place(targets * RELOCATION_BYTES, 8),
            // Code refers to slots, whose place follows from its own size: each stub has a fixed
            // one.
            text_at: place(parts.symbols.len() as u64 * STUB_BYTES, 16),
            names_at: place(bytes(&parts.unsupported), 1),
            slots_at: place(targets * 8, PAGE),
            dynamic_at: place(dynamic_bytes(parts.definitions.is_some()), 16),
            end: 0,
        };
        layout.end = at;
        layout
    }
}

/// The sections of the file but for that of their own names.
fn sections(parts: &Parts<'_>, layout: &Layout) -> Vec<Section> {
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
    let strings = || parts.strings.0.clone();
    let slots = vec![0; 8 * parts.targets.len()];
    // Section 0 is none; the numbers in `link` count from 1.
    const DYNSYM: u32 = 2;
    const DYNSTR: u32 = 3;
    let mut sections = vec![
        Section {
            link: DYNSYM,
            entry: 4,
            ..section(".hash", SHT_HASH, ALLOC, layout.hash_at, parts.hashes.clone())
        },
        Section {
            link: DYNSTR,
            info: 1,
            entry: SYMBOL_BYTES,
            ..section(
                ".dynsym",
                SHT_DYNSYM,
                ALLOC,
                layout.symbols_at,
                parts.symbol_table(layout.text_at),
            )
        },
        Section { align: 1, ..section(".dynstr", SHT_STRTAB, ALLOC, layout.strings_at, strings()) },
        Section {
            link: DYNSYM,
            info: 0,
            entry: RELOCATION_BYTES,
            ..section(
                ".rela.dyn",
                SHT_RELA,
                ALLOC,
                layout.relocations_at,
                parts.relocations(layout.slots_at),
            )
        },
        Section {
            align: 16,
            ..section(".text", SHT_PROGBITS, ALLOC | EXECUTE, layout.text_at, parts.text(layout))
        },
        Section {
            align: 1,
            ..section(".rodata", SHT_PROGBITS, ALLOC, layout.names_at, parts.unsupported.clone())
        },
        section(".got", SHT_PROGBITS, ALLOC | WRITE, layout.slots_at, slots),
        Section {
            link: DYNSTR,
            entry: DYNAMIC_BYTES,
            ..section(
                ".dynamic",
                SHT_DYNAMIC,
                ALLOC | WRITE,
                layout.dynamic_at,
                parts.dynamic(layout),
            )
        },
    ];
    if let Some(definitions) = &parts.definitions {
        sections.push(Section {
            link: DYNSYM,
            entry: 2,
            align: 2,
            ..section(".gnu.version", SHT_GNU_VERSYM, ALLOC, layout.versions_at, parts.versions())
        });
        sections.push(Section {
            link: DYNSTR,
            info: 2,
            ..section(
                ".gnu.version_d",
                SHT_GNU_VERDEF,
                ALLOC,
                layout.definitions_at,
                definitions.clone(),
            )
        });
    }
    sections
}

/// `.text` among the sections, counted from 1.
const TEXT_SECTION: u16 = 5;

/// Bytes of what the loader reads first.
fn dynamic_bytes(is_versioned: bool) -> u64 {
    DYNAMIC_BYTES * if is_versioned { 14 } else { 11 }
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

/// Puts headers and sections together.
fn assemble(sections: Vec<Section>, layout: &Layout) -> Vec<u8> {
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
    let names_at = layout.end;
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
    segment(LOAD, READ | EXECUTABLE, 0, layout.slots_at, PAGE);
    segment(LOAD, READ | WRITABLE, layout.slots_at, layout.end, PAGE);
    segment(DYNAMIC, READ | WRITABLE, layout.dynamic_at, layout.end, 8);
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
