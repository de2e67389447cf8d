//! Machine instructions as a simulation of time sees them.

use std::collections::HashMap;

use gpucast_interpreter::AccessKind as Effect;
use gpucast_ptx_frontend::container::Target;
use gpucast_ptx_frontend::isa::{Modifier, Opcode};
use gpucast_ptx_frontend::module::Instruction as PtxInstruction;
use gpucast_ptx_frontend::types::StateSpace;
use gpucast_simulation::code::{
    AccessKind, Action, Code, Control, Instruction, MemoryAccess, Space, TensorMemoryAction,
};

use super::super::image::Image;
use super::super::isa::{Decoder, Detail, Guard, Meeting, Word};
use super::super::listing::{Listing, bytes_accessed};
use super::classes::class;
use super::products::{Product, is_beside, multiplies, products};
use super::queues::Queues;
use crate::bulk_copies;
use crate::tensor_memory;

/// Translates the code. `executions` are those of each block by the warps of the launch.
pub(super) fn translate(
    image: &Image<'_>,
    listing: &Listing<'_>,
    queues: &Queues,
    executions: &[u64],
) -> Option<Code> {
    let decoder = Decoder::of(image.target)?;
    let scheduled = scheduled(image, listing, decoder)?;
    let products = products(listing, executions);
    let translator = Translator { listing, queues, products, target: image.target };
    let instructions = scheduled
        .into_iter()
        .enumerate()
        .map(|(index, (word, control))| translator.instruction(decoder, index, word, control))
        .collect();
    let block = |block: &std::ops::Range<usize>| block.start as u32..block.end as u32;
    Some(Code {
        instructions,
        blocks: listing.code.blocks.iter().map(|listed| block(&listed.instructions)).collect(),
        queues: queues.len() as u32,
        bytes: sections(listing).map(|section| image.sections[section].code.len() as u32).sum(),
    })
}

/// The sections of a listing's code, in its order.
fn sections(listing: &Listing<'_>) -> impl Iterator<Item = usize> {
    let mut last = None;
    let all = listing.code.instructions.iter().map(|instruction| instruction.section);
    all.filter(move |&section| last.replace(section) != Some(section))
}

/// The word and the scheduling fields of each instruction.
fn scheduled(
    image: &Image<'_>,
    listing: &Listing<'_>,
    decoder: Decoder,
) -> Option<Vec<(Word, Control)>> {
    let mut scheduled = Vec::with_capacity(listing.code.instructions.len());
    for section in sections(listing) {
        let code = image.sections[section].code;
        scheduled.extend(decoder.words(code).into_iter().zip(decoder.controls(code)?));
    }
    (scheduled.len() == listing.code.instructions.len()).then_some(scheduled)
}

struct Translator<'l, 'a> {
    listing: &'l Listing<'a>,
    queues: &'l Queues,
    /// The products of machine instructions.
    products: HashMap<usize, Product>,
    target: Target,
}

impl Translator<'_, '_> {
    fn instruction(
        &self,
        decoder: Decoder,
        index: usize,
        word: Word,
        mut control: Control,
    ) -> Instruction {
        let decoded = &self.listing.code.instructions[index].decoded;
        let detail = decoder.detail(decoded.mnemonic, word);
        if let Detail::Counter { zero, .. } = detail {
            control.wait_mask |= zero;
        }
        Instruction {
            mnemonic: decoded.mnemonic.into(),
            class: class(decoded.mnemonic, detail, decoded.guard, self.target.sm),
            action: match decoded.guard {
                Guard::Never => Action::Compute,
                Guard::Always | Guard::Sometimes => self.action(index, detail),
            },
            control,
            ptx: self.listing.owner(index),
            constant: match decoded.guard {
                Guard::Never => None,
                Guard::Always | Guard::Sometimes => decoder.constant(decoded.mnemonic, word),
            },
        }
    }

    fn action(&self, index: usize, detail: Detail) -> Action {
        let mnemonic = self.listing.code.instructions[index].decoded.mnemonic;
        if let Some(action) = self.tensor_memory(index, mnemonic) {
            return action;
        }
        match detail {
            Detail::Address { is_uniform, bytes } => {
                let access = self.access(index, is_uniform, bytes);
                access.map_or(Action::Compute, Action::Access)
            }
            Detail::Barrier(Meeting::Wait) => Action::CtaBarrier { queue: self.queue(index) },
            Detail::Barrier(Meeting::Arrive) => Action::CtaArrive { queue: self.queue(index) },
            Detail::Counter { counter: Some(counter), most, .. } => {
                Action::AwaitCounter { counter, pending: most }
            }
            Detail::Product { ends_group } => self.product(index, ends_group),
            Detail::Products { pending } => Action::AwaitProducts { pending },
            Detail::Phase => Action::AwaitPhase { queue: self.queue(index) },
            Detail::Fence(scope) => Action::Fence(scope),
            Detail::None | Detail::Wide | Detail::Counter { counter: None, .. } => match mnemonic {
                "EXIT" => Action::Exit,
                "LDGDEPBAR" | "ARRIVES" | "UTMACMDFLUSH" => {
                    Action::CommitCopies { queue: self.queue(index) }
                }
                "SYNCS" if self.arrives(index) => {
                    Action::ArriveAtPhase { queue: self.queue(index) }
                }
                _ if multiplies(self.listing, index) => self.product(index, false),
                _ => Action::Compute,
            },
        }
    }

    /// The PTX instruction that a machine instruction stands for.
    fn ptx(&self, index: usize) -> Option<&PtxInstruction> {
        self.listing.ptx[index].map(|ptx| self.listing.instruction(ptx))
    }

    /// The queue of the requests of whatever space.
    fn queue(&self, index: usize) -> Option<u32> {
        self.listing.ptx[index].and_then(|ptx| self.queues.queue(ptx, Space::Generic))
    }

    fn arrives(&self, index: usize) -> bool {
        let arrivals = [Opcode::MbarrierArrive, Opcode::MbarrierArriveDrop];
        self.ptx(index).is_some_and(|ptx| arrivals.contains(&ptx.opcode))
    }

    /// The action on tensor memory of the machine instructions that have one.
    fn tensor_memory(&self, index: usize, mnemonic: &str) -> Option<Action> {
        let is_own = match mnemonic {
            "UTCCP" | "UTCBAR" | "LDTM" | "STTM" => true,
            // The fences that stand for `tcgen05.wait` are those of barriers, too.
            _ => mnemonic.starts_with("UTC") && mnemonic.ends_with("MMA"),
        };
        let action = tensor_memory::action(self.ptx(index)?, self.queue(index))?;
        let waits = action == TensorMemoryAction::AwaitTransfers;
        (is_own != waits).then_some(Action::TensorMemory(action))
    }

    fn product(&self, index: usize, ends_group: bool) -> Action {
        let Some(&Product { multiply_adds, format }) = self.products.get(&index) else {
            return Action::Compute;
        };
        let is_asynchronous = is_beside(self.listing, index);
        Action::Multiply { multiply_adds, format, is_asynchronous, ends_group }
    }

    fn access(
        &self,
        index: usize,
        has_uniform_address: bool,
        own: Option<u32>,
    ) -> Option<MemoryAccess> {
        let decoded = &self.listing.code.instructions[index].decoded;
        let ptx = self.listing.ptx[index];
        let instruction = ptx.map(|ptx| self.listing.instruction(ptx));
        let (space, kind) = match decoded.mnemonic {
            "LDGSTS" => {
                let bypasses_l1 = instruction.is_some_and(|ptx| ptx.has(Modifier::Cg));
                (Space::Global, AccessKind::AsyncCopy { bypasses_l1 })
            }
            "LDCU" => (Space::Constant, AccessKind::Load),
            "STAS" => (Space::Shared, AccessKind::Store),
            "REDAS" => (Space::Shared, AccessKind::Reduction),
            mnemonic if mnemonic.starts_with("UBLK") || mnemonic.starts_with("UTMA") => {
                let kind = instruction.and_then(bulk_copies::kind);
                (Space::Global, kind.unwrap_or(AccessKind::BulkCopy))
            }
            _ => {
                let (space, effect) = self.listing.meanings[index].access?;
                // Until Pascal `LD` may stand for a space that the PTX names.
                let named =
                    || instruction?.modifiers.iter().find_map(|modifier| modifier.as_space());
                (space_of(space.or_else(named)), kind_of(effect))
            }
        };
        let of_ptx = || instruction.map(bytes_accessed).filter(|&bytes| bytes > 0);
        let bytes = own.or(decoded.bytes).or_else(of_ptx).unwrap_or(4);
        let queue = ptx.and_then(|ptx| self.queues.queue(ptx, space));
        Some(MemoryAccess { space, kind, bytes, has_uniform_address, queue })
    }
}

fn space_of(space: Option<StateSpace>) -> Space {
    match space {
        Some(StateSpace::Global) => Space::Global,
        Some(StateSpace::Local) => Space::Local,
        Some(StateSpace::Shared) => Space::Shared,
        Some(StateSpace::Const | StateSpace::Param) => Space::Constant,
        _ => Space::Generic,
    }
}

fn kind_of(effect: Effect) -> AccessKind {
    match effect {
        Effect::Load | Effect::LoadReadOnly => AccessKind::Load,
        Effect::Store => AccessKind::Store,
        Effect::Atomic => AccessKind::Atomic,
        Effect::Reduction => AccessKind::Reduction,
    }
}
