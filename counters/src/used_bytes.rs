//! How far a launch goes into its buffers.

use std::sync::Arc;

use gpucast_interpreter::{Access, DeviceMemory, Observer, Pattern, Program, Recorder};
use gpucast_ptx_frontend::types::StateSpace;

/// The last bytes of buffers that a launch has used.
#[derive(Clone, Debug)]
pub struct UsedBytes {
    /// Names with addresses, in order of the addresses.
    buffers: Arc<Vec<(String, u64)>>,
    /// The bytes of each up to the last one used.
    bytes: Vec<u64>,
}

impl UsedBytes {
    /// Before a launch. Buffers without an address are left out.
    #[must_use]
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>, memory: &DeviceMemory) -> Self {
        let names = names.into_iter();
        let mut buffers: Vec<(String, u64)> =
            names.filter_map(|name| Some((name.to_owned(), memory.address(name)?))).collect();
        buffers.sort_by_key(|(_, address)| *address);
        Self { bytes: vec![0; buffers.len()], buffers: Arc::new(buffers) }
    }

    /// Bytes of a buffer up to the last one that was used; `None` for an unknown name.
    #[must_use]
    pub fn of(&self, name: &str) -> Option<u64> {
        let at = self.buffers.iter().position(|(buffer, _)| buffer == name)?;
        self.bytes.get(at).copied()
    }

    /// The buffer that an address lies in, with its own address. A launch that leaves its buffers
    /// ends, so that it is the last one before.
    fn buffer_at(&self, address: u64) -> Option<(usize, u64)> {
        let behind = self.buffers.partition_point(|(_, begin)| *begin <= address);
        let at = behind.checked_sub(1)?;
        Some((at, self.buffers[at].1))
    }

    fn extend(&mut self, address: u64, bytes: u64) {
        if let Some((at, begin)) = self.buffer_at(address) {
            self.bytes[at] = self.bytes[at].max(address - begin + bytes);
        }
    }
}

impl Observer for UsedBytes {
    type Recorder = Self;

    fn recorder(&self, _program: &Program) -> Self {
        self.fresh()
    }

    fn wave(&self) -> usize {
        1
    }

    fn adds_up(&self) -> bool {
        true
    }

    fn collect(&mut self, _first_cta: u64, recorders: &mut [&mut Self]) {
        for recorder in recorders {
            for (bytes, more) in self.bytes.iter_mut().zip(&mut recorder.bytes) {
                *bytes = (*bytes).max(std::mem::take(more));
            }
        }
    }

    fn fresh(&self) -> Self {
        Self { buffers: Arc::clone(&self.buffers), bytes: vec![0; self.buffers.len()] }
    }
}

impl Recorder for UsedBytes {
    fn block(&mut self, _warp: u32, _block: u32, _mask: u32) {}

    fn guarded_lanes(&mut self, _lanes: &[u64]) {}

    fn branch(&mut self, _instruction: u32, _active: u32, _taken: u32) {}

    fn access(&mut self, access: &Access<'_>) {
        if access.space != StateSpace::Global {
            return;
        }
        let bytes = u64::from(access.bytes_per_lane);
        match access.pattern {
            Pattern::Uniform => self.extend(access.addresses[0], bytes),
            Pattern::Consecutive => self.extend(access.addresses[0], 32 * bytes),
            Pattern::General => {
                let lanes = || (0..32).filter(|lane| access.mask >> lane & 1 != 0);
                let addresses = || lanes().map(|lane| access.addresses[lane]);
                let (Some(first), Some(last)) = (addresses().min(), addresses().max()) else {
                    return;
                };
                self.extend(last, bytes);
                // Lanes may go to several buffers.
                if self.buffer_at(last).is_some_and(|(_, begin)| first < begin) {
                    addresses().for_each(|address| self.extend(address, bytes));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use gpucast_interpreter::{Argument, Launch, Options, Silent, run};

    use super::*;

    #[test]
    fn buffers_are_used_up_to_the_last_byte_of_any_lane() {
        let text = ".version 7.0\n.target sm_52\n.address_size 64\n
            .visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c)\n{
            .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %d<9>;
            ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; ld.param.u64 %d3, [c];
            mov.u32 %r1, %tid.x; mul.wide.u32 %d4, %r1, 4; add.s64 %d5, %d1, %d4;
            ld.global.u32 %r2, [%d5];
            ld.global.u16 %r3, [%d2+6];
            setp.eq.u32 %p, %r1, 5; add.s64 %d6, %d2, 100; selp.b64 %d7, %d6, %d5, %p;
            ld.global.u8 %r4, [%d7+1000]; ret; }";
        let module = gpucast_ptx_frontend::load(text).unwrap();
        let program = Program::new(&module, text, "k").unwrap();
        let mut memory = DeviceMemory::new();
        let names = ["a", "b", "c"];
        let arguments = names.map(|name| Argument::Address(memory.allocate(name, 4096).unwrap()));
        let launch = Launch {
            grid: [1; 3],
            block: [64, 1, 1],
            cluster: None,
            dynamic_shared_bytes: 0,
            arguments: arguments.to_vec(),
        };
        let mut used = UsedBytes::new(names, &memory);
        run(&program, &launch, &mut memory, &mut used, &Options::default(), &Silent).unwrap();
        assert_eq!(used.of("a"), Some(63 * 4 + 1000 + 1));
        assert_eq!(used.of("b"), Some(100 + 1000 + 1));
        assert_eq!((used.of("c"), used.of("d")), (Some(0), None));
    }
}
