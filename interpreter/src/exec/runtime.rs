//! Functions of the device runtime: `printf`, `malloc`, `free`, and failed assertions.
//!
//! The heap is one buffer. A kernel that uses it runs its CTAs in order, since addresses depend on
//! the order of allocations.

use super::access::window_of;
use super::lanes::Frame;
use super::printf::{self, PrintError};
use super::warp::Context;
use crate::fault::FaultKind;
use crate::memory::heap::BadFree;
use crate::program::runtime::{RuntimeCall, RuntimeFunction, Value};

/// Bytes of output of a CTA's threads that are kept before they are handed on.
pub(super) const MAX_PRINTED_BYTES: usize = 16 << 20;

/// The longest text that is read from device memory.
const MAX_TEXT_BYTES: u64 = 1 << 20;

/// Is told of each `malloc` and `free` that succeeds: the lane, the block, and its bytes unless it
/// is freed.
pub(super) type HeapEvents<'a> = &'a mut dyn FnMut(u32, u64, Option<u64>);

/// A lane and its fault.
type LaneFault = (u32, FaultKind);

impl Context<'_> {
    /// Calls a runtime function for each lane of `mask`, in order of the lanes. Their output is
    /// added to `printed`, and `heap` is told of blocks that they allocate and free.
    pub(super) fn runtime(
        &self,
        frame: &Frame,
        call: &RuntimeCall,
        mask: u32,
        printed: &mut Vec<u8>,
        heap: HeapEvents<'_>,
    ) -> Result<(), LaneFault> {
        for lane in (0..32u32).filter(|lane| mask >> lane & 1 != 0) {
            let result = self
                .runtime_of_lane(frame, call, lane, printed, heap)
                .map_err(|kind| (lane, kind))?;
            let Some(row) = call.result else { continue };
            let wide = call.function.values().0 == Some(Value::Address);
            if wide {
                frame.set_lanes::<u64>(row, 1 << lane, [result; 32]);
            } else {
                frame.set_lanes::<u32>(row, 1 << lane, [result as u32; 32]);
            }
        }
        Ok(())
    }

    fn runtime_of_lane(
        &self,
        frame: &Frame,
        call: &RuntimeCall,
        lane: u32,
        printed: &mut Vec<u8>,
        heap: HeapEvents<'_>,
    ) -> Result<u64, FaultKind> {
        let argument = |index: usize| {
            let row = call.arguments[index];
            if call.function.values().1[index] == Value::Address {
                frame.lane::<u64>(row, lane as usize)
            } else {
                u64::from(frame.lane::<u32>(row, lane as usize))
            }
        };
        let text = |address| {
            let bytes = self.text(lane, address)?;
            Ok::<_, FaultKind>(String::from_utf8_lossy(&bytes).into_owned())
        };
        match call.function {
            RuntimeFunction::Vprintf => self.print(lane, argument(0), argument(1), printed),
            RuntimeFunction::Malloc => {
                let address = self.memories.device.heap_allocate(argument(0));
                if address != 0 {
                    heap(lane, address, Some(argument(0)));
                }
                Ok(address)
            }
            RuntimeFunction::Free => {
                let address = argument(0);
                let freed = self.memories.device.heap_free(address);
                freed.map_err(|BadFree| FaultKind::BadFree { address })?;
                if address != 0 {
                    heap(lane, address, None);
                }
                Ok(0)
            }
            RuntimeFunction::AssertFail => Err(FaultKind::Assertion {
                message: text(argument(0))?,
                file: text(argument(1))?,
                line: argument(2) as u32,
                function: text(argument(3))?,
            }),
        }
    }

    /// `vprintf`: the number of the format's values, as the GPU's runtime returns it.
    fn print(
        &self,
        lane: u32,
        format: u64,
        arguments: u64,
        printed: &mut Vec<u8>,
    ) -> Result<u64, FaultKind> {
        let text = self.text(lane, format)?;
        let mut values = Arguments { context: self, lane, at: arguments, count: 0 };
        match printf::print(&text, &mut values, printed) {
            Ok(()) if printed.len() > MAX_PRINTED_BYTES => {
                Err(FaultKind::TooMuchPrinted { limit: MAX_PRINTED_BYTES as u64 })
            }
            Ok(()) => Ok(values.count),
            Err(PrintError::Value(kind)) => Err(kind),
            Err(PrintError::Format(what)) => {
                let format = String::from_utf8_lossy(&text).into_owned();
                Err(FaultKind::BadFormat { format, what })
            }
        }
    }

    /// Bytes at a generic address.
    fn read<const N: usize>(&self, lane: u32, address: u64) -> Result<[u8; N], FaultKind> {
        let (space, window) = window_of(address);
        self.memories.read(space, lane, address.wrapping_sub(window))
    }

    /// The text at a generic address, up to its terminating zero.
    fn text(&self, lane: u32, address: u64) -> Result<Vec<u8>, FaultKind> {
        let mut text = Vec::new();
        loop {
            let [byte] = self.read(lane, address.wrapping_add(text.len() as u64))?;
            if byte == 0 {
                return Ok(text);
            }
            if text.len() as u64 == MAX_TEXT_BYTES {
                return Err(FaultKind::EndlessText { address, bytes: MAX_TEXT_BYTES });
            }
            text.push(byte);
        }
    }
}

/// The values that a call of `vprintf` passes: one after the other, each aligned to its size.
struct Arguments<'a, 'c> {
    context: &'a Context<'c>,
    lane: u32,
    at: u64,
    count: u64,
}

impl printf::Values for Arguments<'_, '_> {
    type Error = FaultKind;

    fn next(&mut self, bytes: u64) -> Result<u64, FaultKind> {
        let at = self.at.checked_next_multiple_of(bytes).unwrap_or(u64::MAX);
        self.at = at.wrapping_add(bytes);
        self.count += 1;
        Ok(match bytes {
            4 => u64::from(u32::from_le_bytes(self.context.read(self.lane, at)?)),
            _ => u64::from_le_bytes(self.context.read(self.lane, at)?),
        })
    }

    fn address(&mut self) -> Result<u64, FaultKind> {
        self.next(u64::from(self.context.program.address_bits) / 8)
    }

    fn text(&mut self, address: u64) -> Result<Vec<u8>, FaultKind> {
        self.context.text(self.lane, address)
    }
}
