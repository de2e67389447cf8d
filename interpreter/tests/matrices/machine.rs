//! Running a kernel of one warp on words, and numbers to feed it with.

use gpucast_interpreter::{
    Argument, DeviceMemory, Launch, Observer, Options, Program, RunError, run,
};

/// Words that look random; the same in every run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        // xorshift64*, by Vigna.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// Run kernel `k(in, out)` of `text` with `threads` threads.
pub(crate) fn try_launch<O: Observer>(
    text: &str,
    threads: u32,
    input: &[u8],
    output_bytes: usize,
    observer: &mut O,
) -> Result<Vec<u8>, RunError> {
    try_launch_cluster(text, [threads, 1], input, output_bytes, observer)
}

/// As [`try_launch`], with one cluster of several CTAs: the numbers of threads and of CTAs.
pub(crate) fn try_launch_cluster<O: Observer>(
    text: &str,
    [threads, ctas]: [u32; 2],
    input: &[u8],
    output_bytes: usize,
    observer: &mut O,
) -> Result<Vec<u8>, RunError> {
    let module = gpucast_ptx_frontend::load(text)
        .unwrap_or_else(|problems| panic!("{}\n{text}", problems[0].message));
    let program =
        Program::new(&module, text, "k").unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut memory = DeviceMemory::new();
    let start = memory.allocate("in", input.len().max(1) as u64).unwrap();
    let out = memory.allocate("out", output_bytes as u64).unwrap();
    memory.bytes_mut("in").unwrap()[..input.len()].copy_from_slice(input);
    memory.bytes_mut("out").unwrap().fill(0xcc);
    let launch = Launch {
        grid: [ctas, 1, 1],
        block: [threads, 1, 1],
        dynamic_shared_bytes: 0,
        cluster: (ctas > 1).then_some([ctas, 1, 1]),
        arguments: vec![Argument::Address(start), Argument::Address(out)],
    };
    run(
        &program,
        &launch,
        &mut memory,
        observer,
        &Options::default(),
        &gpucast_interpreter::Silent,
    )?;
    Ok(memory.bytes("out").unwrap().to_vec())
}

pub(crate) fn launch(text: &str, input: &[u8], output_bytes: usize) -> Vec<u8> {
    let result = try_launch(text, 32, input, output_bytes, &mut gpucast_interpreter::NoObserver);
    result.unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Keep a text for NVIDIA's assembler if `GPUCAST_SAMPLES` names a directory.
pub(crate) fn keep(name: &str, text: &str) {
    if let Ok(directory) = std::env::var("GPUCAST_SAMPLES") {
        let name: String =
            name.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
        std::fs::write(std::path::Path::new(&directory).join(name + ".ptx"), text).unwrap();
    }
}

pub(crate) fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

pub(crate) fn to_bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
