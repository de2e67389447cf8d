//! Launches on memory of the program that nobody has told the device of.
//!
//! Interfaces that only run a kernel have no calls for memory: their pointers are those of the
//! program. The system knows which bytes lie around such a pointer, but not where an array ends.
//!
//! CTAs of such a launch run in order. A launch that is executed again restores memory, and the
//! mappings hold the library's own.

#![allow(unsafe_code, reason = "the program's memory is lent to kernels")]

use std::fs;
use std::ops::Range;

use gpucast_interpreter::Schedule;

use crate::block::BlockKind;
use crate::{Device, Error, LaunchRequest};

impl Device {
    /// Executes a launch whose kernel may reach the program's memory around each of `addresses`:
    /// all bytes that are mapped there together, readable and writable. Accesses are therefore not
    /// checked against the ends of arrays. Numbers that are no addresses do no harm.
    ///
    /// CTAs run in order. A launch that had to be executed again would restore memory, that of
    /// this library among it.
    ///
    /// # Errors
    ///
    /// As [`Self::launch`].
    ///
    /// # Safety
    ///
    /// The memory that the kernel reaches stays mapped while the call lasts, and no other thread
    /// uses it.
    pub unsafe fn launch_on_program_memory(
        &mut self,
        request: LaunchRequest,
        addresses: &[u64],
    ) -> Result<(), Error> {
        let mut lent = Vec::new();
        for range in ranges(&mappings(), addresses) {
            // SAFETY: the bytes are mapped, and the caller keeps those that matter so.
            let registered = unsafe { self.register_host(range.start, range.end - range.start) };
            // What is there already can be reached without.
            lent.extend(registered.is_ok().then_some(range.start));
        }
        let launched = self.launch_by(request, Schedule::Ordered);
        for address in lent {
            self.give_back(address);
        }
        launched
    }

    /// Takes lent memory from kernels, also after a fault.
    fn give_back(&mut self, address: u64) {
        let block = self.blocks.get(&address).copied();
        if let Some(block) = block.filter(|block| block.kind == BlockKind::Registered) {
            self.remove_block(block);
            // It was registered a moment ago.
            let _ = self.memory.free(address);
        }
    }
}

/// The readable and writable addresses of the process, in ascending order, neighbours joined.
fn mappings() -> Vec<Range<u64>> {
    joined(&fs::read_to_string("/proc/self/maps").unwrap_or_default())
}

/// The ranges of `/proc/self/maps` that can be read and written.
fn joined(maps: &str) -> Vec<Range<u64>> {
    let mut all: Vec<Range<u64>> = Vec::new();
    for line in maps.lines() {
        let mut words = line.split(' ');
        let (Some(range), Some(rights)) = (words.next(), words.next()) else { continue };
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let ends = range.split_once('-').and_then(|(a, b)| Some(number(a)?..number(b)?));
        let Some(range) = ends.filter(|_| rights.starts_with("rw")) else { continue };
        match all.last_mut() {
            Some(before) if before.end == range.start => before.end = range.end,
            _ => all.push(range),
        }
    }
    all
}

/// The ranges that hold one of the addresses, each once.
fn ranges(all: &[Range<u64>], addresses: &[u64]) -> Vec<Range<u64>> {
    let holds = |range: &&Range<u64>| addresses.iter().any(|address| range.contains(address));
    all.iter().filter(holds).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_range_and_others_are_left_out() {
        let maps = "1000-2000 rw-p 00000000 00:00 0 [heap]\n2000-3000 rw-p 00000000 00:00 0\n\
                    3000-4000 r--p 00000000 08:01 7 /lib/x\n5000-6000 rw-s 00000000 00:00 0\n\
                    nonsense\n";
        assert_eq!(joined(maps), [0x1000..0x3000, 0x5000..0x6000]);
        let all = joined(maps);
        assert_eq!(ranges(&all, &[0x2fff, 0x1000, 7, 0x3000]), vec![0x1000..0x3000]);
        assert_eq!(ranges(&all, &[0x5000, 0x1000]).len(), 2);
    }

    #[test]
    fn an_array_of_this_process_lies_in_a_mapping() {
        let array = vec![0_u8; 1000];
        let address = array.as_ptr().expose_provenance() as u64;
        assert_eq!(ranges(&mappings(), &[address]).len(), 1);
    }
}
