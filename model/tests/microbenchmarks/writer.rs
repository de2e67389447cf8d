//! Code and launches written by hand.

use gpucast_simulation::code::{
    AccessKind, Action, Class, Code, Control, Instruction, MemoryAccess, Space,
};
use gpucast_simulation::launch::{CtaClass, CtaRun, CtaTrace, Launch, Request, WarpTrace};

/// Writes code instruction by instruction.
#[derive(Default)]
pub(crate) struct Writer {
    pub(crate) code: Code,
    begun: u32,
}

impl Writer {
    pub(crate) fn op(
        &mut self,
        mnemonic: &'static str,
        class: Class,
        control: Control,
    ) -> &mut Self {
        self.push(mnemonic, class, Action::Compute, control)
    }

    pub(crate) fn push(
        &mut self,
        mnemonic: &'static str,
        class: Class,
        action: Action,
        control: Control,
    ) -> &mut Self {
        self.code.instructions.push(Instruction {
            mnemonic: mnemonic.into(),
            class,
            action,
            control,
            ptx: None,
        });
        self
    }

    pub(crate) fn access(
        &mut self,
        space: Space,
        kind: AccessKind,
        bytes: u32,
        control: Control,
    ) -> &mut Self {
        let queue = Some(self.code.queues);
        self.code.queues += 1;
        let access = MemoryAccess { space, kind, bytes, has_uniform_address: false, queue };
        self.push("LDG", Class::Memory, Action::Access(access), control)
    }

    pub(crate) fn end_block(&mut self) -> &mut Self {
        let end = self.code.instructions.len() as u32;
        self.code.blocks.push(self.begun..end);
        self.begun = end;
        self
    }

    pub(crate) fn finish(&mut self) -> Code {
        self.code.bytes = 16 * self.code.instructions.len() as u32;
        std::mem::take(&mut self.code)
    }
}

pub(crate) const fn stall(clocks: u8) -> Control {
    Control { stall: clocks, ..Control::NEXT }
}

pub(crate) const fn signals(clocks: u8, barrier: u8) -> Control {
    Control { stall: clocks, write_barrier: Some(barrier), ..Control::NEXT }
}

pub(crate) const fn waits(clocks: u8, mask: u64) -> Control {
    Control { stall: clocks, wait_mask: mask, ..Control::NEXT }
}

pub(crate) const fn request(l1: u16, l2: u16, dram: u16) -> Request {
    let sectors = l1 + l2 + dram;
    let lines = sectors.div_ceil(4);
    Request {
        space: Space::Global,
        lanes: 32,
        lines,
        passes: lines,
        serial: 1,
        l1_sectors: l1,
        l2_sectors: l2,
        dram_sectors: dram,
    }
}

pub(crate) fn launch(code: Code, warps: Vec<WarpTrace>, ctas: u64) -> Launch {
    let class = CtaClass { samples: vec![CtaTrace { warps }], scale: 1.0 };
    Launch {
        code,
        classes: vec![class],
        order: vec![CtaRun { class: 0, ctas }],
        dram_writes_per_store: 1.0,
    }
}
