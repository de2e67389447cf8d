//! The little of ELF that containers need: header, sections, symbols.
//!
//! `goblin`'s parse of a whole file wants every table to be intact and reads those of the dynamic
//! linker too. Here only the headers are read, so that a stripped or half damaged host file still
//! gives up its device code.

use goblin::container::Ctx;
use goblin::elf::header::{ET_DYN, ET_EXEC, ET_REL, Header};
use goblin::elf::section_header::{SHN_XINDEX, SHT_NOBITS, SHT_SYMTAB, SectionHeader};
use goblin::elf::{Elf, Symtab};

use super::bytes::{c_string, slice};
use super::{ContainerError, FileKind};

/// The machine number of NVIDIA's GPUs.
pub(super) const EM_CUDA: u16 = 190;
/// Names of sections may share the ends of their texts. The sum of their lengths must not exceed
/// this multiple of the file's size.
const NAME_SHARING: u64 = 16;

pub(super) struct ElfFile<'a> {
    pub(super) data: &'a [u8],
    pub(super) header: Header,
    pub(super) sections: Vec<Section<'a>>,
    context: Ctx,
}

pub(super) struct Section<'a> {
    pub(super) name: &'a str,
    pub(super) header: SectionHeader,
}

impl Section<'_> {
    /// The bytes of the file that the section takes: its offset and its length.
    pub(super) fn extent(&self) -> (u64, u64) {
        let length = if self.header.sh_type == SHT_NOBITS { 0 } else { self.header.sh_size };
        (self.header.sh_offset, length)
    }
}

fn damaged(error: impl ToString) -> ContainerError {
    ContainerError::Elf { reason: error.to_string() }
}

impl<'a> ElfFile<'a> {
    /// The header alone; no section is known.
    pub(super) fn header(data: &'a [u8]) -> Result<Self, ContainerError> {
        let header = Elf::parse_header(data).map_err(damaged)?;
        let context =
            Ctx::new(header.container().map_err(damaged)?, header.endianness().map_err(damaged)?);
        Ok(Self { data, header, sections: Vec::new(), context })
    }

    /// The header and the table of sections.
    pub(super) fn parse(data: &'a [u8]) -> Result<Self, ContainerError> {
        let mut file = Self::header(data)?;
        let offset = usize::try_from(file.header.e_shoff).map_err(damaged)?;
        let count = usize::from(file.header.e_shnum);
        let headers = SectionHeader::parse(data, offset, count, file.context).map_err(damaged)?;
        // An index that does not fit is in the link field of the first section.
        let names_index = match file.header.e_shstrndx {
            index if u32::from(index) == SHN_XINDEX => {
                headers.first().map_or(0, |first| first.sh_link as usize)
            }
            index => usize::from(index),
        };
        let names = headers
            .get(names_index)
            .and_then(|table| slice(data, table.sh_offset, table.sh_size))
            .unwrap_or_default();
        let mut named_bytes = 0;
        for header in headers {
            let name = c_string(names, header.sh_name).unwrap_or_default();
            named_bytes += name.len() as u64;
            if named_bytes > NAME_SHARING * data.len() as u64 {
                return Err(damaged("the names of its sections overlap without end"));
            }
            let name = std::str::from_utf8(name).unwrap_or_default();
            file.sections.push(Section { name, header });
        }
        Ok(file)
    }

    pub(super) fn is_cubin(&self) -> bool {
        self.header.e_machine == EM_CUDA
    }

    pub(super) fn kind(&self) -> FileKind {
        match self.header.e_type {
            _ if self.is_cubin() => FileKind::Cubin,
            ET_REL => FileKind::HostObject,
            ET_EXEC => FileKind::HostExecutable,
            ET_DYN => FileKind::SharedLibrary,
            _ => FileKind::Other,
        }
    }

    /// The contents of a section; nothing where it claims bytes that are not there.
    pub(super) fn bytes(&self, section: &Section<'a>) -> &'a [u8] {
        let (start, length) = section.extent();
        slice(self.data, start, length).unwrap_or_default()
    }

    /// The symbol table and the names it points into.
    pub(super) fn symbols(&self) -> Result<Option<(Symtab<'a>, &'a [u8])>, ContainerError> {
        let Some(section) =
            self.sections.iter().find(|section| section.header.sh_type == SHT_SYMTAB)
        else {
            return Ok(None);
        };
        let bytes = self.bytes(section);
        let size = goblin::elf::sym::Sym::size(self.context.container);
        let table = Symtab::parse(bytes, 0, bytes.len() / size, self.context).map_err(damaged)?;
        let names = self
            .sections
            .get(section.header.sh_link as usize)
            .map_or(&[][..], |names| self.bytes(names));
        Ok(Some((table, names)))
    }
}
