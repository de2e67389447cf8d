//! Buffers of the program: who may use them, and what the device has left.

use gpucast_interpreter::memory::AllocationError;

use crate::block::{BlockKind, BlockRange};
use crate::{Device, Error};

/// The memory of a GPU and what is left of it, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Bytes that may still be allocated here.
    pub free: u64,
    /// Bytes of the modelled GPU.
    pub total: u64,
}

impl Device {
    /// Allocates zero bytes; the address 0 stands for no bytes.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] if the modelled GPU or this machine has too little.
    pub fn allocate(&mut self, bytes: u64, kind: BlockKind) -> Result<u64, Error> {
        self.usable()?;
        if bytes == 0 {
            return Ok(0);
        }
        if kind.is_on_device() && bytes > self.memory_left() {
            return Err(Error::OutOfMemory);
        }
        self.allocations += 1;
        let label = format!("{} {}", kind.origin(), self.allocations);
        match self.memory.allocate_labelled(&label, bytes) {
            Ok(address) => {
                self.add_block(BlockRange { address, bytes, kind });
                Ok(address)
            }
            Err(error) => {
                if let AllocationError::HostMemory { .. } | AllocationError::OutOfMemory { .. } =
                    error
                {
                    self.program.note(&format!("{error}; the program is told of a full GPU"));
                }
                Err(Error::OutOfMemory)
            }
        }
    }

    /// Frees a block. The address 0 is nothing.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] if no block of one of `kinds` begins there.
    pub fn free(&mut self, address: u64, kinds: &[BlockKind]) -> Result<(), Error> {
        self.usable()?;
        if address == 0 || self.graphs.has_block(address) {
            return Ok(());
        }
        let block = self.blocks.get(&address).filter(|block| kinds.contains(&block.kind));
        let block = *block.ok_or(Error::InvalidValue)?;
        self.remove_block(block);
        let range = self.memory.free(address).map_err(|_| Error::InvalidValue)?;
        self.arena.release(range.address, range.bytes);
        Ok(())
    }

    /// Lets kernels reach memory of the program, at its own address.
    ///
    /// # Errors
    ///
    /// [`Error::AlreadyRegistered`] if some of it is registered or allocated here.
    ///
    /// # Safety
    ///
    /// The bytes are initialised, and stay valid until they are freed or the program ends.
    #[allow(unsafe_code, reason = "the program lends its memory")]
    pub unsafe fn register_host(&mut self, address: u64, bytes: u64) -> Result<(), Error> {
        self.usable()?;
        if address == 0 || bytes == 0 {
            return Err(Error::InvalidValue);
        }
        let host = std::ptr::with_exposed_provenance_mut(address as usize);
        let kind = BlockKind::Registered;
        // SAFETY: the caller's contract.
        let mapped = unsafe { self.memory.map_host(kind.origin(), host, bytes) };
        mapped.map_err(|_| Error::AlreadyRegistered)?;
        self.add_block(BlockRange { address, bytes, kind });
        Ok(())
    }

    /// Takes up a block of kernel-accessible memory.
    pub(crate) fn add_block(&mut self, block: BlockRange) {
        self.blocks.insert(block.address, block);
        self.contents.changed(block.address);
        if block.kind.is_on_device() {
            self.device_bytes += block.bytes;
        }
        self.memory_limit = None;
        self.checking.add(&block);
    }

    pub(crate) fn remove_block(&mut self, block: BlockRange) {
        self.blocks.remove(&block.address);
        self.contents.changed(block.address);
        if block.kind.is_on_device() {
            self.device_bytes -= block.bytes;
        }
        self.memory_limit = None;
        self.checking.remove(block.address);
    }

    /// The block that holds an address.
    #[must_use]
    pub fn block(&self, address: u64) -> Option<BlockRange> {
        let (_, block) = self.blocks.range(..=address).next_back()?;
        (address - block.address < block.bytes).then_some(*block)
    }

    /// Returns true if an address lies where blocks are allocated, whether or not one is there.
    pub(crate) fn is_of_device(&self, address: u64) -> bool {
        address.wrapping_sub(self.arena.start) < self.arena.bytes
    }

    /// Bytes of the modelled GPU that are not allocated.
    fn memory_left(&self) -> u64 {
        self.properties.memory_bytes().saturating_sub(self.device_bytes)
    }

    /// The GPU's memory. What is free is also limited by what this machine has left, since
    /// programs allocate as much as they are told.
    #[must_use]
    pub fn memory_info(&self) -> MemoryInfo {
        let here = gpucast_interpreter::host_memory::available().unwrap_or(u64::MAX);
        let total = self.properties.memory_bytes();
        MemoryInfo { free: self.memory_left().min(here), total }
    }
}
