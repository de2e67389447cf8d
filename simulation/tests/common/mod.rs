//! Machines and code for tests.
#![allow(dead_code)]

use gpucast_simulation::code::*;
use gpucast_simulation::launch::*;
use gpucast_simulation::parameters::*;

/// An SM of Volta's kind with round numbers.
pub(crate) fn volta() -> Parameters {
    let on = |unit, interval| UnitUse { unit: Some(unit), other: None, interval, is_shared: false };
    let mut units = [UnitUse { unit: None, other: None, interval: 0.0, is_shared: false }; 18];
    for class in Class::ALL {
        units[class as usize] = match class {
            Class::Fp32 | Class::Fp16 | Class::IntegerMultiply => on(Unit::Fma, 2.0),
            Class::WideMultiply => on(Unit::Fma, 3.0),
            Class::Fp64 => on(Unit::Fp64, 4.0),
            Class::Integer | Class::Compare | Class::Shift => on(Unit::Alu, 2.0),
            Class::Special | Class::Conversion => on(Unit::Special, 8.0),
            Class::WideConversion => on(Unit::Special, 8.0),
            Class::Shuffle => on(Unit::Memory, 4.0),
            Class::Memory => on(Unit::Memory, 1.0),
            Class::Tensor => on(Unit::Tensor, 2.0),
            Class::Texture => on(Unit::Texture, 4.0),
            Class::Branch => on(Unit::Branch, 1.0),
            Class::Uniform => on(Unit::Uniform, 2.0),
            Class::Other => continue,
        };
    }
    let mut latencies = [20.0; 18];
    latencies[Class::Fp64 as usize] = 8.0;
    Parameters {
        clock_mhz: 1380.0,
        sm_count: 80,
        issue: Issue { sub_cores: 4, width: 1, scheduler: Scheduler::GreedyThenOldest },
        units,
        latencies,
        tensor: Tensor { rates: [512.0; 9], latency: 10.0, queue: 5 },
        load_store: LoadStore {
            queue: 4,
            address_interval: 4.0,
            uniform_address_interval: 2.0,
            port_interval: 1.0,
            l1_bytes: 128.0,
            shared_bytes: 128.0,
            tags: 4.0,
            tag_spread: 0.25,
            pass_interval: 1.0,
            store_bytes: 64.0,
            l1_latency: 28.0,
            shared_latency: 23.0,
            constant_latency: 27.0,
            shuffle_latency: 23.0,
            operand_latency: 11.0,
            shared_atomic_interval: 2.0,
            pending_accesses: 256,
            pending_sectors: 2048,
            stored_sectors: 256,
        },
        memory: Memory {
            l2_latency: 212.0,
            l2_far_latency: 0.0,
            dram_latency: 430.0,
            l2_read_bandwidth: 2155e9,
            l2_write_bandwidth: 2155e9,
            reply_bytes: 64.0,
            request_rate: 1.0,
            dram_bandwidth: 897e9,
            dram_efficiency: 0.97,
            dram_mixed_efficiency: 0.87,
            queueing: [
                Queueing { written: 0.0, linear: 0.2, hyperbolic: 0.04 },
                Queueing { written: 0.25, linear: 1.1, hyperbolic: 0.02 },
                Queueing { written: 0.5, linear: 0.9, hyperbolic: 0.05 },
                Queueing { written: 1.0, linear: 0.0, hyperbolic: 0.0 },
            ],
            sector_bytes: 32.0,
            atomic_latency: 30.0,
            atomic_interval: 1.0,
            atomic_rate: 64.0,
        },
        synchronisation: Synchronisation {
            barrier_latency: 24.0,
            arrival_interval: 2.0,
            mbarrier_latency: 36.0,
            fences: [53.0, 186.0, 2900.0],
        },
        launch: LaunchCosts {
            cta_interval: 1.5,
            replacement: 312.0,
            warp_interval: 2.0,
            start: 0.0,
            end: 0.0,
            code_latency: 78.0,
            code_line_interval: 8.0,
            code_line_bytes: 128.0,
            code_cache_bytes: 32768.0,
        },
    }
}

/// A GPU of the streams' table.
pub(crate) fn gpu(name: &str) -> Option<Parameters> {
    let mut p = volta();
    let row = match name {
        // clock, SMs, DRAM GB/s, DRAM clk, L2 clk, L1 clk, L2 GB/s, W, HBM, turnover
        "V100" => (1380.0, 80, 897.0, 430.0, 212.0, 28.0, 2500.0, 128.0, true, 312.0),
        "A100-40GB" => (1410.0, 108, 1555.0, 550.0, 230.0, 33.0, 5000.0, 128.0, true, 312.0),
        "A100-80GB" => (1410.0, 108, 2039.0, 550.0, 230.0, 33.0, 5000.0, 128.0, true, 312.0),
        "A40" => (1740.0, 84, 696.0, 547.0, 240.0, 33.0, 3000.0, 64.0, false, 312.0),
        "L40" => (2490.0, 142, 864.0, 602.0, 270.0, 33.0, 5000.0, 64.0, false, 312.0),
        "H100-PCIe" => (1755.0, 114, 2039.0, 650.0, 266.0, 33.0, 6000.0, 128.0, true, 392.0),
        "GH200" => (1980.0, 132, 4000.0, 650.0, 266.0, 33.0, 8000.0, 128.0, true, 392.0),
        _ => return None,
    };
    p.clock_mhz = row.0;
    p.sm_count = row.1;
    p.memory.dram_bandwidth = row.2 * 1e9;
    p.memory.dram_latency = row.3;
    p.memory.l2_latency = row.4;
    p.load_store.l1_latency = row.5;
    p.memory.l2_read_bandwidth = row.6 * 1e9;
    p.memory.l2_write_bandwidth = row.6 * 1e9;
    p.load_store.l1_bytes = row.7;
    if row.7 < 128.0 {
        p.load_store.port_interval = 2.0;
    }
    p.memory.dram_mixed_efficiency = if row.8 { 0.87 } else { 0.94 };
    p.launch.replacement = row.9;
    Some(p)
}

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
