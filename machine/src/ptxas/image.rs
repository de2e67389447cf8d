//! The contents of a cubin: machine code by function, relocations, jump tables, positions.
//!
//! The launch facts (registers, architecture) come from the front end's reader of cubins. This
//! reader adds the code itself, which the other leaves alone. Every function has a section
//! `.text.NAME`.

use std::collections::BTreeMap;

use goblin::elf::sym::STT_FUNC;
use goblin::elf::{Elf, SectionHeader};
use gpucast_ptx_frontend::container::{Cubin, Target};

use super::MachineError;

/// `.nv.info` attribute of a kernel: where its indirect branches go.
const INDIRECT_BRANCH_TARGETS: u8 = 0x34;
/// The format of `.nv.info` records whose value has a size.
const FORMAT_SIZED: u8 = 4;
/// Marks the symbol of a kernel in `st_other`.
const STO_CUDA_ENTRY: u8 = 0x10;

/// The machine code of one function with its relocations and jump tables.
pub(super) struct Section<'a> {
    pub(super) name: &'a str,
    /// Its index in the file.
    pub(super) index: usize,
    pub(super) code: &'a [u8],
    pub(super) is_kernel: bool,
    /// Offsets at which functions begin; subroutines that the assembler adds have no section of
    /// their own.
    pub(super) functions: Vec<u64>,
    /// For instructions whose target the linker fills in: section index and offset of the target.
    pub(super) relocations: BTreeMap<u64, (usize, u64)>,
    /// The targets of indirect branches, by the offset of the branch.
    pub(super) jump_tables: BTreeMap<u64, Vec<u64>>,
}

impl Section<'_> {
    /// The start of the function that holds an offset.
    pub(super) fn function_at(&self, offset: u64) -> u64 {
        let after = self.functions.partition_point(|&start| start <= offset);
        after.checked_sub(1).map_or(0, |index| self.functions[index])
    }
}

/// A parsed cubin.
pub(super) struct Image<'a> {
    pub(super) target: Target,
    pub(super) registers: u32,
    pub(super) sections: Vec<Section<'a>>,
    /// `.debug_line` with the addresses that its relocations mean: the section index in the upper
    /// half, the offset in the lower.
    pub(super) line_table: Vec<u8>,
    /// The kernel's index into [`Image::sections`].
    pub(super) kernel: usize,
}

fn damaged(reason: impl ToString) -> MachineError {
    MachineError::Image { reason: reason.to_string() }
}

impl<'a> Image<'a> {
    /// Reads the code of `kernel` and of the functions that it may call.
    pub(super) fn parse(data: &'a [u8], kernel: &str) -> Result<Self, MachineError> {
        let facts = Cubin::parse(data).map_err(damaged)?;
        let elf = Elf::parse(data).map_err(damaged)?;
        let no_kernel = || MachineError::NoKernel { name: kernel.to_owned() };
        let kernel_facts = facts.kernel(kernel).ok_or_else(no_kernel)?;
        let mut sections = code_sections(&elf, data)?;
        for section in &mut sections {
            section.relocations = relocations(&elf, section.index);
            let info = format!(".nv.info.{}", section.name);
            if let Some(header) = find(&elf, &info) {
                section.jump_tables = jump_tables(bytes(data, header)?);
            }
        }
        let kernel =
            sections.iter().position(|section| section.name == kernel).ok_or_else(no_kernel)?;
        Ok(Self {
            target: facts.target,
            registers: kernel_facts.registers,
            line_table: line_table(&elf, data)?,
            sections,
            kernel,
        })
    }
}

fn name_of<'e>(elf: &Elf<'e>, header: &SectionHeader) -> &'e str {
    elf.shdr_strtab.get_at(header.sh_name).unwrap_or_default()
}

fn find<'e>(elf: &'e Elf<'_>, name: &str) -> Option<&'e SectionHeader> {
    elf.section_headers.iter().find(|header| name_of(elf, header) == name)
}

fn bytes<'a>(data: &'a [u8], header: &SectionHeader) -> Result<&'a [u8], MachineError> {
    let range = header.file_range().unwrap_or(0..0);
    data.get(range).ok_or_else(|| damaged("a section reaches beyond the end of the file"))
}

fn code_sections<'a>(elf: &Elf<'a>, data: &'a [u8]) -> Result<Vec<Section<'a>>, MachineError> {
    let mut sections = Vec::new();
    for (index, header) in elf.section_headers.iter().enumerate() {
        let Some(name) = name_of(elf, header).strip_prefix(".text.") else { continue };
        let mut section = Section {
            name,
            index,
            code: bytes(data, header)?,
            is_kernel: false,
            functions: vec![0],
            relocations: BTreeMap::new(),
            jump_tables: BTreeMap::new(),
        };
        for symbol in elf.syms.iter().filter(|symbol| symbol.st_shndx == index) {
            section.is_kernel |= symbol.st_other & STO_CUDA_ENTRY != 0;
            if symbol.st_type() == STT_FUNC {
                section.functions.push(symbol.st_value);
            }
        }
        section.functions.sort_unstable();
        section.functions.dedup();
        sections.push(section);
    }
    Ok(sections)
}

/// Every relocation of a section, as (offset, section and place of its target).
fn relocations(elf: &Elf<'_>, section: usize) -> BTreeMap<u64, (usize, u64)> {
    let of_section = elf.shdr_relocs.iter().filter(|(header, _)| {
        elf.section_headers.get(*header).is_some_and(|header| header.sh_info as usize == section)
    });
    of_section
        .flat_map(|(_, relocations)| relocations.iter())
        .filter_map(|relocation| {
            let symbol = elf.syms.get(relocation.r_sym)?;
            let addend = relocation.r_addend.unwrap_or(0) as u64;
            let place = symbol.st_value.wrapping_add(addend);
            Some((relocation.r_offset, (symbol.st_shndx, place)))
        })
        .collect()
}

/// `.debug_line` after its relocations.
fn line_table(elf: &Elf<'_>, data: &[u8]) -> Result<Vec<u8>, MachineError> {
    let index = elf
        .section_headers
        .iter()
        .position(|section_header| name_of(elf, section_header) == ".debug_line");
    let Some(index) = index else { return Ok(Vec::new()) };
    let mut table = bytes(data, &elf.section_headers[index])?.to_vec();
    for (offset, (section, place)) in relocations(elf, index) {
        let at = usize::try_from(offset).map_err(damaged)?;
        let Some(slot) = at.checked_add(8).and_then(|end| table.get_mut(at..end)) else {
            return Err(damaged("a position is relocated outside of its table"));
        };
        // The value that stands there is added (`REL`); it is the offset in the section.
        let mut inline = [0; 8];
        inline.copy_from_slice(slot);
        let place = u64::from_le_bytes(inline).wrapping_add(place) & u64::from(u32::MAX);
        slot.copy_from_slice(&((section as u64) << 32 | place).to_le_bytes());
    }
    Ok(table)
}

/// Reads the targets of indirect branches out of `.nv.info.KERNEL`. Each branch has its offset, a
/// word that is not understood, the number of targets, and the targets.
fn jump_tables(info: &[u8]) -> BTreeMap<u64, Vec<u64>> {
    let word = |bytes: &[u8], index: usize| {
        let bytes = bytes.get(4 * index..4 * index + 4)?;
        Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    };
    let mut tables = BTreeMap::new();
    let mut rest = info;
    while let [format, attribute, low, high, tail @ ..] = rest {
        let size = usize::from(u16::from_le_bytes([*low, *high]));
        let size = if *format == FORMAT_SIZED { size } else { 0 };
        let Some(value) = tail.get(..size) else { break };
        rest = &tail[size..];
        if *attribute != INDIRECT_BRANCH_TARGETS {
            continue;
        }
        let mut at = 0;
        while let (Some(branch), Some(count)) = (word(value, at), word(value, at + 2)) {
            let first = at + 3;
            let end = first.saturating_add(count as usize).min(value.len() / 4);
            let targets = (first..end).filter_map(|index| word(value, index)).map(u64::from);
            tables.entry(u64::from(branch)).or_insert_with(Vec::new).extend(targets);
            at = end.max(first);
        }
    }
    tables
}
