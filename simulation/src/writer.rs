//! Code and launches written by hand, for microbenchmarks and tests.

use crate::code::{
    AccessKind, Action, Class, Code, Constant, Control, Instruction, MemoryAccess, Space,
};
use crate::launch::{Beside, CtaClass, CtaRun, CtaTrace, Launch, Request, WarpTrace};

/// Bytes of an instruction since Volta.
const INSTRUCTION_BYTES: u32 = 16;

/// Writes code instruction by instruction.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    code: Code,
    begun: u32,
}

impl Writer {
    /// An instruction that computes.
    pub fn op(&mut self, mnemonic: &'static str, class: Class, control: Control) -> &mut Self {
        self.push(mnemonic, class, Action::Compute, control)
    }

    /// Any instruction.
    pub fn push(
        &mut self,
        mnemonic: &'static str,
        class: Class,
        action: Action,
        control: Control,
    ) -> &mut Self {
        let mnemonic = mnemonic.into();
        let (ptx, constant) = (None, None);
        let instruction = Instruction { mnemonic, class, action, control, ptx, constant };
        self.code.instructions.push(instruction);
        self
    }

    /// The last instruction reads a constant.
    pub fn reads(&mut self, constant: Constant) -> &mut Self {
        if let Some(last) = self.code.instructions.last_mut() {
            last.constant = Some(constant);
        }
        self
    }

    /// An access with an address per lane and a queue of its own, the next one.
    pub fn access(
        &mut self,
        space: Space,
        kind: AccessKind,
        bytes: u32,
        control: Control,
    ) -> &mut Self {
        let queue = self.queue();
        let access = MemoryAccess { space, kind, bytes, has_uniform_address: false, queue };
        self.push("ACCESS", Class::Memory, Action::Access(access), control)
    }

    /// A queue of requests, the next one.
    pub fn queue(&mut self) -> Option<u32> {
        self.code.queues += 1;
        Some(self.code.queues - 1)
    }

    /// The end of the kernel.
    pub fn exit(&mut self) -> &mut Self {
        self.push("EXIT", Class::Branch, Action::Exit, Control::after(5)).end_block()
    }

    /// Ends a block.
    pub fn end_block(&mut self) -> &mut Self {
        let end = self.code.instructions.len() as u32;
        self.code.blocks.push(self.begun..end);
        self.begun = end;
        self
    }

    /// The code.
    #[must_use]
    pub fn finish(self) -> Code {
        Code { bytes: INSTRUCTION_BYTES * self.code.instructions.len() as u32, ..self.code }
    }
}

impl Control {
    /// The next instruction follows after some clocks.
    #[must_use]
    pub const fn after(stall: u8) -> Self {
        Self { stall, ..Self::NEXT }
    }

    /// Announces its result by a barrier.
    #[must_use]
    pub const fn signals(self, barrier: u8) -> Self {
        Self { write_barrier: Some(barrier), ..self }
    }

    /// Waits for the barriers of a mask.
    #[must_use]
    pub const fn waits(self, wait_mask: u64) -> Self {
        Self { wait_mask, ..self }
    }
}

impl Request {
    /// A request of all lanes to global memory, with the sectors that each level serves; lines are
    /// whole.
    #[must_use]
    pub const fn global(l1_sectors: u16, l2_sectors: u16, dram_sectors: u16) -> Self {
        let lines = (l1_sectors + l2_sectors + dram_sectors).div_ceil(4);
        Self {
            space: Space::Global,
            lanes: 32,
            lines,
            passes: lines,
            serial: 1,
            is_paired: false,
            l1_sectors,
            l2_sectors,
            dram_sectors,
            fetched_ago: None,
            first_sector: None,
            beside: Beside::Nothing,
        }
    }

    /// The same from a sector on.
    #[must_use]
    pub const fn beginning_at(self, sector: u32) -> Self {
        Self { first_sector: Some(sector), ..self }
    }

    /// The same with what it brings about besides.
    #[must_use]
    pub const fn with(self, beside: Beside) -> Self {
        Self { beside, ..self }
    }

    /// A request of all lanes to shared memory.
    #[must_use]
    pub const fn shared(passes: u16) -> Self {
        Self { space: Space::Shared, lines: 0, passes, ..Self::global(0, 0, 0) }
    }
}

impl WarpTrace {
    /// The first block, the second one some rounds, the third one. Each queue has the same request
    /// in each round.
    #[must_use]
    pub fn of_loop(rounds: usize, requests: &[Request]) -> Self {
        let mut path = vec![0];
        path.extend(vec![1; rounds]);
        path.push(2);
        let requests = requests.iter().map(|&request| vec![request; rounds]).collect();
        Self { path, requests, left_out_instructions: 0 }
    }
}

impl Launch {
    /// A launch of CTAs that are alike and write to DRAM all that they store.
    #[must_use]
    pub fn of_equal_ctas(code: Code, warps: Vec<WarpTrace>, ctas: u64) -> Self {
        let class = CtaClass { samples: vec![CtaTrace { warps }], scale: 1.0 };
        let order = vec![CtaRun { class: 0, ctas }];
        Self { code, classes: vec![class], order, dram_writes_per_store: 1.0, ..Self::default() }
    }
}
