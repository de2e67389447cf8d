//! Facts about accesses that the machine code shows before it runs: local memory that is kept in
//! registers, and accesses to shared memory that hold several of the PTX.

use gpucast_counters::machine::{KnownAccesses, SharedWidth};
use gpucast_counters::totals::Direction;
use gpucast_interpreter::Program;
use gpucast_ptx_frontend::isa::InstructionClass;
use gpucast_ptx_frontend::module::Instruction;
use gpucast_ptx_frontend::types::StateSpace;

use super::code::Code;
use super::image::Image;
use super::line_table::LineTable;
use super::listing::{bytes_accessed, meaning_of, ptx_of};
use super::{MachineError, Prepared};

/// The accesses of the machine code of `program` in the cubin `image`, which an assembler made from
/// `prepared`.
///
/// # Errors
///
/// [`MachineError`] if the cubin is damaged, of another kernel or for an unknown architecture.
pub fn known_accesses(
    image: &[u8],
    prepared: &Prepared,
    program: &Program,
) -> Result<KnownAccesses, MachineError> {
    let image = Image::parse(image, program.kernel())?;
    let code = Code::read(&image)?;
    let lines = LineTable::parse(&image.line_table, prepared.file)?;
    let ptx = ptx_of(&image, &lines, &code, prepared, program);
    Ok(KnownAccesses {
        local_in_registers: local_in_registers(&code, program),
        shared_widths: shared_widths(&code, &ptx, program),
    })
}

/// The accesses that are wider than those that they stand for, and that may go to shared memory.
fn shared_widths(code: &Code, ptx: &[Option<u32>], program: &Program) -> Vec<SharedWidth> {
    let mut widths = Vec::new();
    for (one, ptx) in code.instructions.iter().zip(ptx) {
        let (Some(instruction), Some((space, kind))) = (*ptx, meaning_of(&one.decoded).access)
        else {
            continue;
        };
        let may_be_shared = space.is_none_or(|space| space == StateSpace::Shared);
        let updates = Direction::of(kind) == Direction::Update;
        let own = bytes_accessed(&program.instructions()[instruction as usize].instruction);
        let width = one.decoded.bytes.map(|bytes| SharedWidth { instruction, bytes });
        let wider = width.filter(|width| width.bytes > own && may_be_shared && !updates);
        widths.extend(wider.filter(|width| !widths.contains(width)));
    }
    widths
}

/// The instructions of `program` whose accesses to local memory its machine code does not make, as
/// indices into [`Program::instructions`].
///
/// The whole code decides. If it has no access to local memory, every array is in registers. If it
/// has one, no instruction is named: an access of machine code may stand for several of the PTX,
/// and its line names one of them. An access by a generic address may go to local memory, so it
/// keeps the PTX's generic accesses there.
fn local_in_registers(code: &Code, program: &Program) -> Vec<u32> {
    let accesses =
        code.instructions.iter().filter_map(|instruction| meaning_of(&instruction.decoded).access);
    let spaces: Vec<Option<StateSpace>> = accesses.map(|(space, _)| space).collect();
    if spaces.contains(&Some(StateSpace::Local)) {
        return Vec::new();
    }
    let may_be_generic = !spaces.contains(&None);
    let is_in_registers =
        |one: &Instruction| match one.modifiers.iter().find_map(|modifier| modifier.as_space()) {
            Some(space) => space == StateSpace::Local,
            None => may_be_generic && one.form.form().class == InstructionClass::LoadStore,
        };
    let instructions = (0..).zip(program.instructions());
    let found = instructions.filter(|(_, one)| is_in_registers(&one.instruction));
    found.map(|(index, _)| index).collect()
}
