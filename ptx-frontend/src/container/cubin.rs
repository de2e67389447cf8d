//! The launch facts that a cubin records about its kernels.
//!
//! They stand in two places: the sizes of sections named after a kernel (`.nv.shared.K`,
//! `.nv.constant0.K`, `.nv.local.K`), and records in `.nv.info` (per symbol) and `.nv.info.K`
//! (about the kernel `K`):
//!
//! ```text
//! record  u8 format · u8 attribute · u16 value, or for format 4 the size of the value behind it
//! ```

use std::collections::HashMap;

use goblin::elf::sym::STT_FUNC;

use super::bytes::{c_string, u16_at, u32_at};
use super::elf::{ElfFile, Section};
use super::{ContainerError, Suffix, Target};

/// Marks the symbol of a kernel in `st_other`.
const STO_CUDA_ENTRY: u8 = 0x10;
/// `EI_OSABI` of cubins whose `e_flags` have the architecture in bits 8 to 23.
const OSABI_V8: u8 = 0x41;
const EI_OSABI: usize = 7;
/// In `e_flags` before that ABI.
const EF_ACCELERATED_V7: u32 = 0x800;
/// In `e_flags` since, by CUDA 12; CUDA 13 says it in `.nv.compat` instead.
const EF_ACCELERATED_V8: u32 = 0x8;
/// A stack that recursion keeps from being known.
const UNKNOWN: u32 = u32::MAX;

const FORMAT_SIZED: u8 = 4;

mod attribute {
    pub(super) const MAX_THREADS: u8 = 0x05;
    pub(super) const PARAM_CBANK: u8 = 0x0a;
    pub(super) const REQUIRED_THREADS: u8 = 0x10;
    pub(super) const FRAME_SIZE: u8 = 0x11;
    pub(super) const MIN_STACK_SIZE: u8 = 0x12;
    pub(super) const KPARAM_INFO: u8 = 0x17;
    pub(super) const REGCOUNT: u8 = 0x2f;
    pub(super) const KPARAM_INFO_V2: u8 = 0x45;
    /// In `.nv.compat`: marks code for an `a` architecture.
    pub(super) const COMPAT_ACCELERATOR: u8 = 0x09;
}

/// The launch facts of a machine code module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cubin {
    /// The architecture of the machine code. The suffix `f` is not recorded in it.
    pub target: Target,
    /// The kernels by name.
    pub kernels: Vec<CubinKernel>,
    /// The banks of `__constant__` variables that all kernels share.
    pub constant_banks: Vec<ConstantBank>,
}

/// The launch facts of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CubinKernel {
    /// The name, mangled as in PTX.
    pub name: String,
    /// Registers per thread.
    pub registers: u32,
    /// Shared memory per CTA that is allocated statically, in bytes, with the kilobyte that the
    /// system reserves from sm_90 on.
    pub shared_bytes: u64,
    /// Stack frame of the kernel itself, in bytes per thread.
    pub frame_bytes: u32,
    /// Stack per thread with all that the kernel calls, in bytes. `None` where recursion or
    /// indirect calls leave it open, and in relocatable code (`-dc`), whose calls are not yet
    /// linked.
    pub stack_bytes: Option<u32>,
    /// Local memory outside the stack, in bytes per thread; zero since Fermi.
    pub local_bytes: u64,
    /// The constant banks that belong to the kernel, by number. Bank 0 starts with the launch
    /// configuration and ends with the parameters.
    pub constant_banks: Vec<ConstantBank>,
    /// Offset of the parameters in bank 0, in bytes.
    pub param_base: u32,
    /// Size of all parameters together, in bytes.
    pub param_bytes: u32,
    /// The parameters in order.
    pub params: Vec<CubinParam>,
    /// The largest CTA that `__launch_bounds__` allows, by dimension.
    pub max_threads: Option<[u32; 3]>,
    /// The only CTA that `.reqntid` allows, by dimension.
    pub required_threads: Option<[u32; 3]>,
    /// Size of the machine code, in bytes.
    pub code_bytes: u64,
}

/// A constant bank and the used bytes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConstantBank {
    /// Its number.
    pub bank: u8,
    /// Its size.
    pub bytes: u64,
}

/// A kernel parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CubinParam {
    /// Offset from the first parameter, in bytes.
    pub offset: u32,
    /// Size in bytes.
    pub bytes: u32,
}

impl Cubin {
    /// The architecture of the machine code in `data`, without reading the rest.
    pub(super) fn target_of(data: &[u8]) -> Result<Target, ContainerError> {
        let elf = ElfFile::header(data)?;
        Ok(match ElfFile::parse(data) {
            Ok(whole) => target(&whole),
            Err(_) => target(&elf),
        })
    }

    /// Reads the facts of the cubin in `data`.
    ///
    /// # Errors
    ///
    /// Returns an error if `data` is no ELF file for a GPU, or a damaged one.
    pub fn parse(data: &[u8]) -> Result<Self, ContainerError> {
        let elf = ElfFile::parse(data)?;
        if !elf.is_cubin() {
            return Err(ContainerError::NotGpuElf { machine: elf.header.e_machine });
        }
        let sections = SectionIndex::new(&elf);
        let mut kernels = kernels(&elf, &sections)?;
        if let Some(info) = sections.by_name.get(".nv.info") {
            let by_symbol: HashMap<u32, usize> =
                kernels.iter().enumerate().map(|(at, &(symbol, _))| (symbol, at)).collect();
            for record in Records(elf.bytes(info)) {
                let Some((symbol, value)) = record.pair() else { continue };
                let Some(&at) = by_symbol.get(&symbol) else { continue };
                let kernel = &mut kernels[at].1;
                match record.attribute {
                    attribute::REGCOUNT => kernel.registers = value,
                    attribute::FRAME_SIZE => kernel.frame_bytes = value,
                    attribute::MIN_STACK_SIZE => {
                        kernel.stack_bytes = (value != UNKNOWN).then_some(value);
                    }
                    _ => {}
                }
            }
        }
        let mut kernels: Vec<_> = kernels.into_iter().map(|(_, kernel)| kernel).collect();
        kernels.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Self { target: target(&elf), kernels, constant_banks: sections.shared_banks })
    }

    /// The kernel of that name.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<&CubinKernel> {
        let at = self.kernels.binary_search_by(|kernel| kernel.name.as_str().cmp(name)).ok()?;
        self.kernels.get(at)
    }
}

fn target(elf: &ElfFile<'_>) -> Target {
    let flags = elf.header.e_flags;
    if elf.header.e_ident[EI_OSABI] != OSABI_V8 {
        let suffix = (flags & EF_ACCELERATED_V7 != 0).then_some(Suffix::Accelerated);
        return Target { sm: flags & 0xff, suffix };
    }
    let compat = elf.sections.iter().find(|section| section.name == ".nv.compat");
    let says_so = compat.is_some_and(|section| {
        Records(elf.bytes(section)).any(|record| {
            record.attribute == attribute::COMPAT_ACCELERATOR && record.short & 0xff != 0
        })
    });
    let accelerated = says_so || flags & EF_ACCELERATED_V8 != 0;
    Target { sm: flags >> 8 & 0xffff, suffix: accelerated.then_some(Suffix::Accelerated) }
}

/// The sections by name, and those of constant banks by their kernel.
struct SectionIndex<'e, 'a> {
    by_name: HashMap<&'a str, &'e Section<'a>>,
    banks: HashMap<&'a str, Vec<ConstantBank>>,
    shared_banks: Vec<ConstantBank>,
}

impl<'e, 'a> SectionIndex<'e, 'a> {
    fn new(elf: &'e ElfFile<'a>) -> Self {
        let mut index =
            Self { by_name: HashMap::new(), banks: HashMap::new(), shared_banks: Vec::new() };
        for section in &elf.sections {
            index.by_name.entry(section.name).or_insert(section);
            let Some(rest) = section.name.strip_prefix(".nv.constant") else { continue };
            let (number, kernel) = rest.split_once('.').unwrap_or((rest, ""));
            let Ok(bank) = number.parse() else { continue };
            let bank = ConstantBank { bank, bytes: section.header.sh_size };
            let banks = match kernel {
                "" => &mut index.shared_banks,
                kernel => index.banks.entry(kernel).or_default(),
            };
            banks.push(bank);
        }
        for banks in index.banks.values_mut().chain([&mut index.shared_banks]) {
            banks.sort_by_key(|bank| bank.bank);
        }
        index
    }

    fn size(&self, prefix: &str, kernel: &str) -> u64 {
        self.named(prefix, kernel).map_or(0, |section| section.header.sh_size)
    }

    fn named(&self, prefix: &str, kernel: &str) -> Option<&'e Section<'a>> {
        self.by_name.get(format!("{prefix}{kernel}").as_str()).copied()
    }
}

/// The kernels with the index of their symbol, and the sections' facts about them.
fn kernels(
    elf: &ElfFile<'_>,
    sections: &SectionIndex<'_, '_>,
) -> Result<Vec<(u32, CubinKernel)>, ContainerError> {
    let Some((symbols, names)) = elf.symbols()? else { return Ok(Vec::new()) };
    let mut kernels = Vec::new();
    let mut named_bytes = 0;
    for (index, symbol) in symbols.iter().enumerate() {
        if symbol.st_type() != STT_FUNC || symbol.st_other & STO_CUDA_ENTRY == 0 {
            continue;
        }
        let name = c_string(names, symbol.st_name).unwrap_or_default();
        named_bytes += name.len();
        // Kernels have names of their own; only a forged table makes many share one long text.
        if named_bytes > elf.data.len() {
            return Err(ContainerError::Elf {
                reason: "the names of its kernels overlap without end".to_owned(),
            });
        }
        let Ok(name) = std::str::from_utf8(name) else { continue };
        let code = sections.named(".text.", name);
        let mut kernel = CubinKernel {
            name: name.to_owned(),
            // The value in `.nv.info` takes precedence; cubins before CUDA 9 have only this one.
            registers: code.map_or(0, |section| section.header.sh_info >> 24),
            shared_bytes: sections.size(".nv.shared.", name),
            local_bytes: sections.size(".nv.local.", name),
            constant_banks: sections.banks.get(name).cloned().unwrap_or_default(),
            code_bytes: code.map_or(0, |section| section.header.sh_size),
            ..CubinKernel::default()
        };
        if let Some(info) = sections.named(".nv.info.", name) {
            kernel.read_info(elf.bytes(info));
        }
        kernels.push((index as u32, kernel));
    }
    Ok(kernels)
}

impl CubinKernel {
    fn read_info(&mut self, info: &[u8]) {
        let mut params = Vec::new();
        for record in Records(info) {
            match record.attribute {
                attribute::MAX_THREADS => self.max_threads = record.triple(),
                attribute::REQUIRED_THREADS => self.required_threads = record.triple(),
                attribute::PARAM_CBANK => {
                    if let Some((_, place)) = record.pair() {
                        self.param_base = place & 0xffff;
                        self.param_bytes = place >> 16;
                    }
                }
                attribute::KPARAM_INFO | attribute::KPARAM_INFO_V2 => {
                    params.extend(record.param());
                }
                _ => {}
            }
        }
        params.sort_by_key(|&(ordinal, _)| ordinal);
        self.params = params.into_iter().map(|(_, param)| param).collect();
    }
}

/// The records of a `.nv.info` section, up to the first that is cut off.
struct Records<'a>(&'a [u8]);

struct Record<'a> {
    attribute: u8,
    /// The value of an unsized record, the size of the value of a sized one.
    short: u16,
    value: &'a [u8],
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        let (&[format, attribute, ..], short) = (self.0, u16_at(self.0, 2)?) else { return None };
        let size = if format == FORMAT_SIZED { usize::from(short) } else { 0 };
        let value = self.0.get(4..4 + size)?;
        self.0 = &self.0[4 + size..];
        Some(Record { attribute, short, value })
    }
}

impl Record<'_> {
    fn pair(&self) -> Option<(u32, u32)> {
        Some((u32_at(self.value, 0)?, u32_at(self.value, 4)?))
    }

    fn triple(&self) -> Option<[u32; 3]> {
        Some([u32_at(self.value, 0)?, u32_at(self.value, 4)?, u32_at(self.value, 8)?])
    }

    /// A parameter and its place in the list. The record's first version packs the size into the
    /// upper 14 bits of a word. The second version gives it a word of its own.
    fn param(&self) -> Option<(u16, CubinParam)> {
        let ordinal = u16_at(self.value, 4)?;
        let offset = u32::from(u16_at(self.value, 6)?);
        let last = u32_at(self.value, 8)?;
        let bytes = if self.attribute == attribute::KPARAM_INFO { last >> 18 } else { last };
        Some((ordinal, CubinParam { offset, bytes }))
    }
}
