//! A launch as bytes: for a file, and for a hash.
//!
//! The functions that walk through requests are no generic ones. So they are compiled here, and as
//! far optimised as the simulation, whoever calls them.

use std::fmt;
use std::hash::{Hash as _, Hasher};

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::launch::{CtaClass, CtaTrace, Launch, WarpTrace};

/// A launch that a file has as one string of bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Packed(pub Launch);

impl Serialize for Packed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&packed(&self.0).map_err(serde::ser::Error::custom)?)
    }
}

impl<'de> Deserialize<'de> for Packed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(Bytes)
    }
}

fn packed(launch: &Launch) -> Result<Vec<u8>, postcard::Error> {
    postcard::to_stdvec(launch)
}

fn unpacked(bytes: &[u8]) -> Result<Launch, postcard::Error> {
    postcard::from_bytes(bytes)
}

struct Bytes;

impl Visitor<'_> for Bytes {
    type Value = Packed;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the bytes of a launch")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Packed, E> {
        unpacked(bytes).map(Packed).map_err(E::custom)
    }
}

impl Launch {
    /// Tells `hash` all that a simulation reads of the launch. Launches that differ tell other
    /// bytes.
    pub fn tell(&self, hash: &mut dyn FnMut(&[u8])) {
        let Self { code, classes, order, dram_writes_per_store, tensor_columns, turns } = self;
        let mut told = Told { bytes: Vec::new(), hash };
        (code, order, tensor_columns, turns).hash(&mut told);
        told.write_u64(dram_writes_per_store.to_bits());
        told.write_usize(classes.len());
        for CtaClass { samples, scale } in classes {
            told.write_u64(scale.to_bits());
            told.write_usize(samples.len());
            for CtaTrace { warps } in samples {
                told.write_usize(warps.len());
                for warp in warps {
                    told.warp(warp);
                }
            }
        }
        told.pass_on(0);
    }
}

/// What was told, and who hears it.
struct Told<'a> {
    bytes: Vec<u8>,
    hash: &'a mut dyn FnMut(&[u8]),
}

impl Told<'_> {
    fn warp(&mut self, warp: &WarpTrace) {
        let WarpTrace { path, requests, left_out_instructions } = warp;
        (path, left_out_instructions).hash(self);
        self.write_usize(requests.len());
        for queue in requests {
            self.write_usize(queue.len());
            for run in queue.chunk_by(|one, next| one == next) {
                (run.len(), run.first()).hash(self);
            }
        }
        self.pass_on(1 << 16);
    }

    /// Passes the bytes on if there are at least so many.
    fn pass_on(&mut self, least: usize) {
        if self.bytes.len() >= least {
            (self.hash)(&self.bytes);
            self.bytes.clear();
        }
    }
}

impl Hasher for Told<'_> {
    fn write(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Nobody asks: who hears the bytes makes the hash.
    fn finish(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use crate::code::{AccessKind, Class, Code, Control, Space};
    use crate::launch::{Request, Turn};
    use crate::writer::Writer;

    fn code(mnemonic: &'static str) -> Code {
        let mut writer = Writer::default();
        writer.op(mnemonic, Class::Fp32, Control::after(4)).end_block();
        writer.access(Space::Global, AccessKind::Load, 4, Control::after(1)).end_block();
        writer.exit();
        writer.finish()
    }

    fn launch(requests: Vec<Vec<Request>>) -> Launch {
        let warp = WarpTrace { requests, ..WarpTrace::of_loop(3, &[]) };
        Launch::of_equal_ctas(code("FADD"), vec![warp], 7)
    }

    /// A launch, and others that differ from it in one thing.
    fn all() -> Vec<Launch> {
        let request = Request::global(0, 4, 0);
        let other = Request { l2_sectors: 3, ..request };
        let base = launch(Vec::new());
        let changed = |change: &dyn Fn(&mut Launch)| {
            let mut launch = base.clone();
            change(&mut launch);
            launch
        };
        let warp = |change: &dyn Fn(&mut WarpTrace)| {
            changed(&|launch| change(&mut launch.classes[0].samples[0].warps[0]))
        };
        let turn = Turn { line: 0, steps: 1, is_shared: false };
        vec![
            base.clone(),
            launch(vec![vec![]]),
            launch(vec![vec![request]]),
            launch(vec![vec![request; 2]]),
            launch(vec![vec![request], vec![request]]),
            launch(vec![vec![request, other, other]]),
            launch(vec![vec![request, request, other]]),
            launch(vec![vec![request], vec![other, other]]),
            changed(&|launch| launch.tensor_columns = 1),
            changed(&|launch| launch.dram_writes_per_store = 0.5),
            changed(&|launch| launch.turns.push(turn)),
            changed(&|launch| launch.turns.extend([turn; 2])),
            changed(&|launch| launch.order.clear()),
            changed(&|launch| launch.order[0].ctas = 8),
            changed(&|launch| launch.code = code("FMUL")),
            changed(&|launch| launch.code.bytes += 16),
            changed(&|launch| launch.code.queues += 1),
            changed(&|launch| launch.code.instructions[0].control = Control::after(5)),
            changed(&|launch| launch.code.instructions[0].class = Class::Fp64),
            changed(&|launch| launch.classes[0].scale = 1.5),
            changed(&|launch| launch.classes.push(launch.classes[0].clone())),
            changed(&|launch| launch.classes[0].samples.clear()),
            warp(&|warp| warp.path[0] = 1),
            warp(&|warp| warp.left_out_instructions = 1),
        ]
    }

    #[test]
    fn launches_that_differ_tell_other_bytes() {
        let told = |launch: &Launch| {
            let mut bytes = Vec::new();
            launch.tell(&mut |more| bytes.extend_from_slice(more));
            bytes
        };
        let all = all();
        for (at, launch) in all.iter().enumerate() {
            assert_eq!(told(launch), told(&launch.clone()));
            let alike = all[..at].iter().position(|other| told(other) == told(launch));
            assert_eq!(alike, None, "of launch {at}");
        }
    }

    #[test]
    fn what_was_packed_comes_back() {
        for launch in all() {
            let bytes = postcard::to_stdvec(&(Packed(launch.clone()), 5_u64)).unwrap();
            assert_eq!(postcard::from_bytes::<(Packed, u64)>(&bytes).unwrap(), (Packed(launch), 5));
        }
        for damaged in [&[][..], &[200, 1, 2], &[3, 255, 255, 255]] {
            assert!(postcard::from_bytes::<Packed>(damaged).is_err());
        }
    }
}
