//! Reads of device memory that each wait for the last one of their warp, beside writes: the queues
//! in front of the memory at less than its full use.

use gpucast_collection::language::{Builder, Caching, Contents, Expression, Kernel, Type, Unroll};

/// Bytes of a word.
const WORD_BYTES: u64 = 4;

/// Accesses of a thread in a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mix {
    pub(crate) reads: u64,
    pub(crate) writes: u64,
}

/// One block on each SM that reads and writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) mix: Mix,
    pub(crate) blocks: u64,
    pub(crate) threads: u64,
    /// Bytes of a thread's access: 4, 8 or 16.
    pub(crate) bytes: u64,
}

impl Waiting {
    /// Bytes that all threads read or write by one access of each.
    pub(crate) const fn access_bytes(self) -> u64 {
        self.blocks * self.threads * self.bytes
    }
}

/// Reads of a warp that each wait for the last one: what was read decides where the next read is.
/// Behind the reads of a pass stand its writes. Each byte is accessed once.
pub(crate) fn waiting_reads(waiting: Waiting, passes: u64) -> Kernel {
    let Waiting { mix: Mix { reads, writes }, blocks, threads, bytes } = waiting;
    let width = bytes / WORD_BYTES;
    let words = waiting.access_bytes() / WORD_BYTES;
    let mut kernel = Builder::new("waiting_reads", "Reads that each wait for the last one");
    let source = kernel.input("in", Type::S32, passes * reads * words, Contents::Zero);
    let written = kernel.output("out", Type::S32, (passes * writes * words).max(blocks * threads));
    let first = kernel.thread_of_grid() * width;
    let from = kernel.variable("from", first.clone());
    let to = kernel.variable("to", first);
    kernel.repeat("pass", passes, Unroll::No, |kernel| {
        for read in 0..reads {
            let name = format!("v{read}");
            let (through, at) = (Caching::SecondLevel, Expression::from(from));
            let values = kernel.load_vector_through(through, &name, &source, at, width);
            // Memory holds zeros, which no compiler knows.
            let next = Expression::from(from) + words;
            kernel.assign(from, values.into_iter().fold(next, |sum, one| sum + one));
        }
        for _ in 0..writes {
            let values = vec![Expression::from(from); width as usize];
            kernel.store_vector(&written, to.into(), values);
            kernel.assign(to, Expression::from(to) + words);
        }
    });
    if writes == 0 {
        let place = kernel.thread_of_grid();
        kernel.store(&written, place, from.into());
    }
    kernel.launched([blocks, 1, 1], [threads, 1, 1])
}
