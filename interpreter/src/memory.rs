//! Device memory: the buffers of a launch, in one 64-bit address space with gaps between them.
//!
//! Every allocation is an object of its own; an address belongs to exactly one of them or to
//! none, so bounds are exact. Neighbouring buffers are at least [`GUARD_BYTES`] apart, so running
//! off the end of one never lands in the next.
//!
//! Generic addresses of local, constant and parameter memory and of functions lie in windows of 32
//! MiB, those of shared memory in one of 256 MiB, all below 2²⁹. Buffers begin above: at
//! 0x7_0000_0000, or at 0x2000_0000 in modules with 32-bit addresses. In a program that can tell
//! ranks, the shared memory of the CTA of rank *r* begins at *r*·16 MiB, for the CTA itself too, as
//! on a GPU. In all others it begins at 0.

#![allow(unsafe_code, reason = "buffers are written by several CTAs at once")]

pub(crate) mod heap;

use std::cell::UnsafeCell;
use std::collections::TryReserveError;
use std::sync::Mutex;

use crate::fault::NearestBuffer;
use crate::host_memory::{self, Shortage};
use crate::texture::Textures;
use heap::{BadFree, Heap};

/// Buffers start at multiples of this, as large allocations do on a GPU.
pub const ALIGNMENT_BYTES: u64 = 2 << 20;

/// The least distance between the end of a buffer and the start of the next.
pub const GUARD_BYTES: u64 = 64 << 10;

/// An address is near a buffer within this many bytes, or within [`NEAR_SIZES`] of its sizes.
const NEAR_BYTES: u64 = 64 << 10;

/// A byte offset that was multiplied by an element's size again lies this many sizes from the
/// start, for elements of 4 bytes.
const NEAR_SIZES: u64 = 4;

/// The address of the first buffer; no other address space's window reaches it.
pub const FIRST_ADDRESS: u64 = 0x7_0000_0000;

/// The same where addresses have 32 bits.
pub const FIRST_ADDRESS_OF_32_BITS: u64 = 0x2000_0000;

/// Reason why an allocation was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AllocationError {
    /// A buffer of this name exists.
    #[error("a buffer named {0} exists already")]
    Duplicate(String),
    /// It does not fit into the addresses that are left.
    #[error("buffer {name} of {bytes} bytes does not fit into the device's addresses")]
    AddressSpace {
        /// The buffer.
        name: String,
        /// Its size in bytes.
        bytes: u64,
    },
    /// It is more than this machine has left.
    #[error(
        "buffer {name} of {bytes} bytes does not fit into this machine's memory: {available} bytes \
         are available"
    )]
    HostMemory {
        /// The buffer.
        name: String,
        /// Its size in bytes.
        bytes: u64,
        /// Bytes that may still be taken.
        available: u64,
    },
    /// The host has no memory left for it.
    #[error("buffer {name} of {bytes} bytes does not fit into this machine's memory")]
    OutOfMemory {
        /// The buffer.
        name: String,
        /// Its size in bytes.
        bytes: u64,
    },
}

/// Bytes that several CTAs may write at the same time. They stand in a vector: a box that moves
/// claims its contents for itself alone.
type SharedBytes = Vec<SharedLine>;

/// Aligned, so that a warp's consecutive access never splits a host cache line more often than the
/// device address does.
#[derive(Debug, Default)]
#[repr(align(64))]
struct SharedLine {
    _bytes: UnsafeCell<[u64; 8]>,
}

/// The owner of an allocation's bytes.
#[derive(Debug)]
enum Storage {
    /// Nobody: there are addresses and no contents.
    Nobody,
    /// The allocation itself, which only keeps them.
    Own { _bytes: SharedBytes },
    /// The arena of the memory: bytes lie at their device addresses.
    Arena,
    /// The host program, which lends them: bytes lie at their device addresses.
    Host,
}

/// One buffer.
#[derive(Debug)]
pub(crate) struct Allocation {
    pub(crate) name: String,
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    /// The first byte.
    host: *mut u8,
    storage: Storage,
}

/// A range of device memory that belonged to one allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange {
    /// The first address.
    pub address: u64,
    /// Its size in bytes.
    pub bytes: u64,
}

/// Nothing begins at an address that was to be freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no allocation begins at address {address:#x}")]
pub struct NotAllocated {
    /// The address.
    pub address: u64,
}

/// All buffers of a device.
#[derive(Debug)]
pub struct DeviceMemory {
    /// Address of the first buffer; `end` is the end of all addresses.
    first: u64,
    end: u64,
    /// True if buffers lie at their device addresses, from `first` to `end`.
    in_arena: bool,
    /// Sorted by address.
    allocations: Vec<Allocation>,
    /// The device heap's address and state, once a kernel has needed it.
    heap: Option<(u64, Mutex<Heap>)>,
    /// The textures, samplers and surfaces that describe parts of it.
    pub textures: Textures,
}

/// The contents that buffers had.
#[derive(Debug)]
pub(crate) struct Saved {
    /// Index of each buffer, and its bytes.
    buffers: Vec<(usize, Vec<u8>)>,
}

/// The name of the buffer that the device heap is.
const HEAP_NAME: &str = "device heap";

impl Allocation {
    /// The first byte, for the executor's raw accesses.
    #[inline]
    pub(crate) fn host(&self) -> *mut u8 {
        self.host
    }

    /// True if it has contents, not addresses alone.
    #[inline]
    pub(crate) fn is_held(&self) -> bool {
        !self.host.is_null()
    }

    /// Bytes of its contents: all or none.
    #[inline]
    pub(crate) fn held_bytes(&self) -> u64 {
        if self.is_held() { self.bytes } else { 0 }
    }

    /// The first address behind it.
    fn end(&self) -> u64 {
        self.address + self.bytes
    }

    fn as_slice(&self) -> &[u8] {
        if !self.is_held() {
            return &[];
        }
        // SAFETY: `host` points to at least `bytes` initialised bytes, which `storage` owns or
        // whose owner promised them. Nobody writes them: a launch borrows the memory exclusively,
        // and the engine comes here only before its CTAs run.
        unsafe { std::slice::from_raw_parts(self.host(), self.bytes as usize) }
    }

    fn as_mut_slice(&mut self) -> &mut [u8] {
        if !self.is_held() {
            return &mut [];
        }
        // SAFETY: as above, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.host(), self.bytes as usize) }
    }
}

// SAFETY: `host` points into `storage`, or to bytes that live as long as the memory and that no
// thread owns (the contracts of `DeviceMemory::in_arena` and `DeviceMemory::map_host`).
unsafe impl Send for Allocation {}
// SAFETY: as above. The executor alone writes through `host()` while others may, and its CTAs race
// exactly as those of a kernel may; all else goes through `&mut DeviceMemory` or happens when no
// launch is running.
unsafe impl Sync for Allocation {}

/// So many zero bytes of the host, if it has them.
fn zeros(bytes: u64) -> Option<(*mut u8, Storage)> {
    let lines = usize::try_from(bytes.div_ceil(64)).ok()?;
    if lines > (isize::MAX as usize) / 64 {
        return None;
    }
    let mut storage = SharedBytes::new();
    storage.try_reserve_exact(lines).ok()?;
    storage.resize_with(lines, SharedLine::default);
    Some((storage.as_mut_ptr().cast(), Storage::Own { _bytes: storage }))
}

impl Default for DeviceMemory {
    fn default() -> Self {
        Self::new()
    }
}

impl DeviceMemory {
    /// Bytes of all buffers together, module variables and the device heap among them. Buffers that
    /// have addresses alone ([`Self::reserve`]) count for nothing.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.allocations.iter().map(Allocation::held_bytes).sum()
    }

    /// Bytes of the host that a launch may take if nobody sets a limit: those of the buffers and
    /// half of what the machine has left. The other half is for observers and other programs.
    /// `None` where the system does not tell.
    #[must_use]
    pub fn room(&self) -> Option<u64> {
        Some(self.total_bytes().saturating_add(host_memory::available()? / 2))
    }

    /// An empty memory with 64-bit addresses.
    #[must_use]
    pub fn new() -> Self {
        Self::with_address_bits(64)
    }

    /// An empty memory with addresses of 32 or 64 bits, as a module's `.address_size` says.
    #[must_use]
    pub fn with_address_bits(bits: u8) -> Self {
        let (first, end) = match bits {
            32 => (FIRST_ADDRESS_OF_32_BITS, 1 << 32),
            _ => (FIRST_ADDRESS, u64::MAX),
        };
        Self {
            first,
            end,
            in_arena: false,
            allocations: Vec::new(),
            heap: None,
            textures: Textures::default(),
        }
    }

    /// An empty memory whose buffers lie at their device addresses, in the `bytes` bytes from
    /// `first` on. The host program and its kernels then use the same addresses.
    ///
    /// New buffers have the contents of the arena, which nothing clears.
    ///
    /// # Safety
    ///
    /// The bytes can be read and written as long as the memory lives, and they are initialised.
    /// Nothing but the host program, which holds addresses of its buffers, uses them.
    #[must_use]
    pub unsafe fn in_arena(first: u64, bytes: u64) -> Self {
        let end = first.saturating_add(bytes);
        Self {
            first,
            end,
            in_arena: true,
            allocations: Vec::new(),
            heap: None,
            textures: Textures::default(),
        }
    }

    /// Allocates `bytes` zero bytes and returns their device address.
    ///
    /// # Errors
    ///
    /// [`AllocationError`] if the name is taken or the host's memory does not suffice.
    pub fn allocate(&mut self, name: &str, bytes: u64) -> Result<u64, AllocationError> {
        if self.allocations.iter().any(|allocation| allocation.name == name) {
            return Err(AllocationError::Duplicate(name.to_owned()));
        }
        self.allocate_labelled(name, bytes)
    }

    /// As [`Self::allocate`]; several buffers may have the same `label`. Use addresses to tell them
    /// apart.
    ///
    /// # Errors
    ///
    /// [`AllocationError`] if the host's memory or the addresses do not suffice.
    pub fn allocate_labelled(&mut self, label: &str, bytes: u64) -> Result<u64, AllocationError> {
        let out_of_memory = || AllocationError::OutOfMemory { name: label.to_owned(), bytes };
        let Some(address) = self.free_address(bytes) else {
            return Err(AllocationError::AddressSpace { name: label.to_owned(), bytes });
        };
        if let Err(Shortage { available }) = host_memory::ask(bytes) {
            let name = label.to_owned();
            return Err(AllocationError::HostMemory { name, bytes, available });
        }
        let (host, storage) = if self.in_arena {
            (std::ptr::with_exposed_provenance_mut(address as usize), Storage::Arena)
        } else {
            zeros(bytes).ok_or_else(out_of_memory)?
        };
        self.insert(Allocation { name: label.to_owned(), address, bytes, host, storage });
        Ok(address)
    }

    /// Gives a buffer the device address that [`Self::allocate`] would give it, and no contents.
    /// Launches may use such a buffer only where they need its addresses alone.
    ///
    /// # Errors
    ///
    /// [`AllocationError`] if the name is taken or the addresses do not suffice.
    pub fn reserve(&mut self, name: &str, bytes: u64) -> Result<u64, AllocationError> {
        if self.allocations.iter().any(|allocation| allocation.name == name) {
            return Err(AllocationError::Duplicate(name.to_owned()));
        }
        let name = name.to_owned();
        let Some(address) = self.free_address(bytes) else {
            return Err(AllocationError::AddressSpace { name, bytes });
        };
        let (host, storage) = (std::ptr::null_mut(), Storage::Nobody);
        self.insert(Allocation { name, address, bytes, host, storage });
        Ok(address)
    }

    /// Gives zeros to the buffers that have addresses alone, and takes the contents of others, so
    /// that the buffers for whose index `wanted` holds are those with contents. Returns the names
    /// of the buffers that have got zeros.
    ///
    /// # Errors
    ///
    /// [`AllocationError`] if the host's memory does not suffice.
    pub fn hold(&mut self, wanted: impl Fn(usize) -> bool) -> Result<Vec<String>, AllocationError> {
        let mut fresh = Vec::new();
        for (index, allocation) in self.allocations.iter_mut().enumerate() {
            match (wanted(index), &allocation.storage) {
                (false, Storage::Own { .. }) => {
                    allocation.host = std::ptr::null_mut();
                    allocation.storage = Storage::Nobody;
                }
                (true, Storage::Nobody) => {
                    let (name, bytes) = (allocation.name.clone(), allocation.bytes);
                    if let Err(Shortage { available }) = host_memory::ask(bytes) {
                        return Err(AllocationError::HostMemory { name, bytes, available });
                    }
                    let held = zeros(bytes);
                    let out_of_memory = AllocationError::OutOfMemory { name: name.clone(), bytes };
                    (allocation.host, allocation.storage) = held.ok_or(out_of_memory)?;
                    fresh.push(name);
                }
                _ => {}
            }
        }
        Ok(fresh)
    }

    /// Makes `bytes` bytes of the host program accessible to kernels, at their own address.
    ///
    /// # Errors
    ///
    /// [`AllocationError::AddressSpace`] if a buffer has some of these addresses, or if the bytes
    /// lie below all buffers, where the windows of other state spaces are.
    ///
    /// # Safety
    ///
    /// The bytes can be read and written until [`Self::free`] of their address, and they are
    /// initialised. Nothing else writes them while a launch runs.
    pub unsafe fn map_host(
        &mut self,
        label: &str,
        host: *mut u8,
        bytes: u64,
    ) -> Result<u64, AllocationError> {
        let address = host.expose_provenance() as u64;
        let lowest = FIRST_ADDRESS_OF_32_BITS;
        let end = address.checked_add(bytes).filter(|_| address >= lowest);
        let at = self.allocations.partition_point(|a| a.address < address);
        let before = at.checked_sub(1).map(|before| self.allocations[before].end());
        let after = self.allocations.get(at).map(|after| after.address);
        let is_free = |end| before.is_none_or(|b| b <= address) && after.is_none_or(|a| end <= a);
        if !end.is_some_and(is_free) {
            return Err(AllocationError::AddressSpace { name: label.to_owned(), bytes });
        }
        let (name, storage) = (label.to_owned(), Storage::Host);
        self.insert(Allocation { name, address, bytes, host, storage });
        Ok(address)
    }

    /// Frees the allocation that begins at `address`, and returns the range that it had. In an
    /// arena, and of mapped memory, the bytes keep their contents.
    ///
    /// # Errors
    ///
    /// [`NotAllocated`] if none begins there.
    pub fn free(&mut self, address: u64) -> Result<AddressRange, NotAllocated> {
        let at = self.allocations.binary_search_by_key(&address, |a| a.address);
        let at = at.map_err(|_| NotAllocated { address })?;
        if self.heap.as_ref().is_some_and(|&(heap, _)| heap == address) {
            self.heap = None;
        }
        let freed = self.allocations.remove(at);
        Ok(AddressRange { address, bytes: freed.bytes })
    }

    /// The place for `bytes` more bytes: behind the last buffer, or in the first gap that is large
    /// enough.
    fn free_address(&self, bytes: u64) -> Option<u64> {
        let own = || self.allocations.iter().filter(|a| !matches!(a.storage, Storage::Host));
        let behind = |end: u64| {
            let after = end.checked_add(GUARD_BYTES)?;
            after.checked_next_multiple_of(ALIGNMENT_BYTES)
        };
        let address = match own().next_back() {
            Some(last) => behind(last.end())?,
            None => self.first,
        };
        // Memory of the host that is mapped there stays where it is.
        let is_free = |address: u64| {
            let end = address.checked_add(bytes).filter(|&end| end <= self.end)?;
            let at = self.allocations.partition_point(|a| a.end() <= address);
            self.allocations.get(at).is_none_or(|next| end <= next.address).then_some(address)
        };
        is_free(address).or_else(|| {
            let with_guard = |address: u64| {
                let end = address.checked_add(bytes)?.checked_add(GUARD_BYTES)?;
                let at = self.allocations.partition_point(|a| a.end() <= address);
                let fits = self.allocations.get(at).is_none_or(|next| end <= next.address);
                fits.then(|| is_free(address)).flatten()
            };
            let gaps = own().filter_map(|a| behind(a.end()));
            std::iter::once(self.first).chain(gaps).find_map(with_guard)
        })
    }

    fn insert(&mut self, allocation: Allocation) {
        let at = self.allocations.partition_point(|a| a.address < allocation.address);
        self.allocations.insert(at, allocation);
    }

    /// The `bytes` bytes from `address` on, if they belong to one allocation.
    #[must_use]
    pub fn slice(&self, address: u64, bytes: u64) -> Option<&[u8]> {
        let allocation = &self.allocations[self.allocation_at(address)?];
        let offset = usize::try_from(address - allocation.address).ok()?;
        allocation.as_slice().get(offset..offset.checked_add(usize::try_from(bytes).ok()?)?)
    }

    /// As [`Self::slice`], to be filled in.
    #[must_use]
    pub fn slice_mut(&mut self, address: u64, bytes: u64) -> Option<&mut [u8]> {
        let at = self.allocation_at(address)?;
        let allocation = &mut self.allocations[at];
        let offset = usize::try_from(address - allocation.address).ok()?;
        let end = offset.checked_add(usize::try_from(bytes).ok()?)?;
        allocation.as_mut_slice().get_mut(offset..end)
    }

    /// The range of the allocation that holds `address`.
    #[must_use]
    pub fn range_of(&self, address: u64) -> Option<AddressRange> {
        let found = self.find(address)?;
        Some(AddressRange { address: found.address, bytes: found.bytes })
    }

    /// The contents of a buffer.
    #[must_use]
    pub fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.allocations.iter().find(|a| a.name == name).map(Allocation::as_slice)
    }

    /// The contents of a buffer, to be filled in.
    #[must_use]
    pub fn bytes_mut(&mut self, name: &str) -> Option<&mut [u8]> {
        self.allocations.iter_mut().find(|a| a.name == name).map(Allocation::as_mut_slice)
    }

    /// The device address of a buffer.
    #[must_use]
    pub fn address(&self, name: &str) -> Option<u64> {
        self.allocations.iter().find(|a| a.name == name).map(|a| a.address)
    }

    /// Every buffer's name, device address and size in bytes, by address.
    pub fn buffers(&self) -> impl Iterator<Item = (&str, u64, u64)> {
        self.allocations.iter().map(|a| (a.name.as_str(), a.address, a.bytes))
    }

    /// Makes sure that there is a device heap; the first call decides its size.
    pub(crate) fn prepare_heap(&mut self, bytes: u64) -> Result<(), AllocationError> {
        if self.heap.is_none() {
            let address = self.allocate(HEAP_NAME, bytes)?;
            self.heap = Some((address, Mutex::new(Heap::new(bytes))));
        }
        Ok(())
    }

    /// The device heap's address and size; zeros if there is none.
    pub(crate) fn heap_range(&self) -> (u64, u64) {
        let allocation = self.heap.as_ref().and_then(|&(address, _)| self.find(address));
        allocation.map_or((0, 0), |allocation| (allocation.address, allocation.bytes))
    }

    /// `malloc`: the address of a new block of the device heap, or 0.
    pub(crate) fn heap_allocate(&self, bytes: u64) -> u64 {
        let Some((address, heap)) = &self.heap else { return 0 };
        let offset = heap.lock().ok().and_then(|mut heap| heap.allocate(bytes));
        offset.map_or(0, |offset| address + offset)
    }

    /// `free`; of address 0, nothing happens.
    pub(crate) fn heap_free(&self, address: u64) -> Result<(), BadFree> {
        if address == 0 {
            return Ok(());
        }
        let (start, heap) = self.heap.as_ref().ok_or(BadFree)?;
        let offset = address.checked_sub(*start).ok_or(BadFree)?;
        heap.lock().map_err(|_| BadFree)?.free(offset)
    }

    /// The allocation that holds `address`.
    #[inline]
    pub(crate) fn find(&self, address: u64) -> Option<&Allocation> {
        let after = self.allocations.partition_point(|a| a.address <= address);
        let allocation = &self.allocations[after.checked_sub(1)?];
        (address - allocation.address < allocation.bytes).then_some(allocation)
    }

    /// [`Self::find`], which looks at allocation `guess` first. Afterwards it is the one found.
    #[inline(always)]
    pub(crate) fn find_near(&self, guess: &mut u32, address: u64) -> Option<&Allocation> {
        match self.allocations.get(*guess as usize) {
            Some(near) if address.wrapping_sub(near.address) < near.bytes => Some(near),
            _ => self.find_anew(guess, address),
        }
    }

    // Not inlined: the usual way needs few of the CPU's registers.
    #[inline(never)]
    fn find_anew(&self, guess: &mut u32, address: u64) -> Option<&Allocation> {
        let found = self.find(address)?;
        let index = self.allocations.partition_point(|a| a.address < found.address);
        *guess = index as u32;
        Some(found)
    }

    /// Returns the number of buffers.
    pub(crate) fn allocations(&self) -> usize {
        self.allocations.len()
    }

    /// Returns the index of the buffer that holds `address` or ends there.
    pub(crate) fn allocation_at(&self, address: u64) -> Option<usize> {
        let at = self.allocations.partition_point(|a| a.address <= address).checked_sub(1)?;
        (address - self.allocations[at].address <= self.allocations[at].bytes).then_some(at)
    }

    /// Returns true if a host could have made `address` from a buffer's address.
    pub(crate) fn is_near_a_buffer(&self, address: u64) -> bool {
        let is_own = |a: &&Allocation| !matches!(a.storage, Storage::Host);
        let first = self.first.saturating_sub(ALIGNMENT_BYTES);
        let end = self.allocations.iter().rfind(is_own).map_or(self.first, Allocation::end);
        let is_near_mapped = |a: &Allocation| {
            let first = a.address.saturating_sub(ALIGNMENT_BYTES);
            (first..=a.end().saturating_add(ALIGNMENT_BYTES)).contains(&address)
        };
        (first..=end.saturating_add(ALIGNMENT_BYTES)).contains(&address)
            || self.allocations.iter().filter(|a| !is_own(a)).any(is_near_mapped)
    }

    /// A copy of the buffers that are `wanted`, by their order.
    pub(crate) fn save(&self, wanted: &[bool]) -> Result<Saved, TryReserveError> {
        let mut saved = Saved { buffers: Vec::new() };
        for (at, allocation) in self.allocations.iter().enumerate() {
            if wanted.get(at) == Some(&true) && allocation.is_held() {
                let mut copy = Vec::new();
                copy.try_reserve_exact(allocation.bytes as usize)?;
                copy.extend_from_slice(allocation.as_slice());
                saved.buffers.push((at, copy));
            }
        }
        Ok(saved)
    }

    /// Undoes the changes to the saved buffers since.
    pub(crate) fn restore(&mut self, saved: &Saved) {
        for (at, copy) in &saved.buffers {
            if let Some(allocation) = self.allocations.get_mut(*at) {
                allocation.as_mut_slice().copy_from_slice(copy);
            }
        }
    }

    /// The buffer that begins or ends closest to `address`, unless it is so far away that the
    /// address has nothing to do with it.
    pub(crate) fn nearest(&self, address: u64) -> Option<NearestBuffer> {
        let distance = |a: &Allocation| {
            if address < a.address { a.address - address } else { address.saturating_sub(a.end()) }
        };
        let is_near =
            |a: &&Allocation| distance(a) <= a.bytes.saturating_mul(NEAR_SIZES).max(NEAR_BYTES);
        let near = self.allocations.iter().filter(is_near);
        near.min_by_key(|a| distance(a)).map(|a| NearestBuffer {
            name: a.name.clone(),
            address: a.address,
            bytes: a.bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_belongs_to_the_buffer_that_holds_it_and_to_no_other() {
        let mut memory = DeviceMemory::new();
        let a = memory.allocate("a", 100).unwrap();
        let b = memory.allocate("b", 8).unwrap();
        assert_eq!(memory.find(a).unwrap().name, "a");
        assert_eq!(memory.buffers().collect::<Vec<_>>(), [("a", a, 100), ("b", b, 8)]);
        assert_eq!(memory.find(a + 99).unwrap().name, "a");
        assert!(memory.find(a + 100).is_none());
        assert!(memory.find(a - 1).is_none());
        let addresses = [0, a - 1, a, a + 99, a + 100, b - 1, b, b + 49, b + 50, u64::MAX];
        for (guess, address) in (0..4).flat_map(|guess| addresses.map(|address| (guess, address))) {
            let mut near = guess;
            let start = |found: Option<&Allocation>| found.map(|found| found.address);
            let found = start(memory.find_near(&mut near, address));
            assert_eq!(found, start(memory.find(address)), "{address:#x} from {guess}");
            let again = found.map(|start| memory.allocations[near as usize].address == start);
            assert_ne!(again, Some(false), "{address:#x} from {guess}");
        }
        assert!(b >= a + 100 + GUARD_BYTES);
        assert_eq!(memory.find(b + 7).unwrap().name, "b");
        assert!(memory.find(b + 8).is_none());
    }

    #[test]
    fn the_nearest_buffer_is_found_on_either_side() {
        let mut memory = DeviceMemory::new();
        let a = memory.allocate("a", 100).unwrap();
        let b = memory.allocate("b", 8).unwrap();
        assert_eq!(memory.nearest(a + 100).unwrap().name, "a");
        assert_eq!(memory.nearest(b - 4).unwrap().name, "b");
        assert_eq!(memory.nearest(a - 8).unwrap().name, "a");
    }

    #[test]
    fn an_address_far_from_every_buffer_is_near_none() {
        let mut memory = DeviceMemory::new();
        let small = memory.allocate("small", 8).unwrap();
        assert_eq!(memory.nearest(0), None);
        assert_eq!(memory.nearest(small + (1 << 20)), None);
        let large = memory.allocate("large", 1 << 20).unwrap();
        assert_eq!(memory.nearest(large + (3 << 20)).unwrap().name, "large");
        assert_eq!(memory.nearest(large + (6 << 20)), None);
    }

    #[test]
    fn an_impossible_size_is_refused() {
        let mut memory = DeviceMemory::new();
        assert!(matches!(
            memory.allocate("huge", u64::MAX / 2),
            Err(AllocationError::HostMemory { .. } | AllocationError::OutOfMemory { .. })
        ));
        assert!(matches!(
            memory.allocate("beyond", u64::MAX - 1),
            Err(AllocationError::AddressSpace { .. })
        ));
        let mut memory = DeviceMemory::with_address_bits(32);
        assert!(memory.allocate("small", 4096).unwrap() < 1 << 32);
        assert!(matches!(
            memory.allocate("large", 4 << 30),
            Err(AllocationError::AddressSpace { .. })
        ));
    }

    #[test]
    fn contents_are_zero_at_first_and_keep_what_is_written() {
        let mut memory = DeviceMemory::new();
        memory.allocate("a", 5).unwrap();
        assert_eq!(memory.bytes("a"), Some(&[0; 5][..]));
        memory.bytes_mut("a").unwrap()[4] = 7;
        assert_eq!(memory.bytes("a"), Some(&[0, 0, 0, 0, 7][..]));
        assert_eq!(memory.bytes("b"), None);
    }
    #[test]
    fn freed_addresses_are_used_again() {
        let mut memory = DeviceMemory::new();
        let a = memory.allocate_labelled("same", 100).unwrap();
        let b = memory.allocate_labelled("same", 8).unwrap();
        assert_ne!(a, b);
        assert_eq!(memory.range_of(b + 7), Some(AddressRange { address: b, bytes: 8 }));
        assert_eq!(memory.free(b), Ok(AddressRange { address: b, bytes: 8 }));
        assert_eq!(memory.free(b), Err(NotAllocated { address: b }));
        assert_eq!(memory.free(a + 1), Err(NotAllocated { address: a + 1 }));
        assert_eq!(memory.allocate_labelled("again", 8), Ok(b));
        // Of 32 bits nearly all addresses are taken: the gap of `a` is all that is left.
        let mut small = DeviceMemory::with_address_bits(32);
        let a = small.allocate("a", 4 << 20).unwrap();
        small.allocate("b", 1 << 20).unwrap();
        let behind = small.allocations.last().unwrap().end() + ALIGNMENT_BYTES;
        let rest = AddressRange { address: behind, bytes: (1 << 32) - behind };
        let (host, storage) = (std::ptr::null_mut(), Storage::Arena);
        let (name, AddressRange { address, bytes }) = ("rest".to_owned(), rest);
        small.insert(Allocation { name, address, bytes, host, storage });
        assert!(small.allocate("c", 4 << 20).is_err());
        small.free(a).unwrap();
        assert!(small.allocate("too large for the gap", 8 << 20).is_err());
        assert_eq!(small.allocate("c", 4 << 20), Ok(a));
    }

    #[test]
    fn bytes_of_the_host_are_used_where_they_are() {
        let mut memory = DeviceMemory::new();
        let own = memory.allocate("own", 64).unwrap();
        let mut lent = vec![1_u8, 2, 3, 4];
        // SAFETY: `lent` outlives the memory's use of it, and nothing else touches it.
        let address = unsafe { memory.map_host("lent", lent.as_mut_ptr(), 4) }.unwrap();
        assert_eq!(address, lent.as_ptr() as u64);
        assert_eq!(memory.slice(address + 1, 2), Some(&[2, 3][..]));
        assert_eq!(memory.slice(address + 1, 4), None);
        memory.slice_mut(address, 1).unwrap()[0] = 9;
        // SAFETY: as above.
        let again = unsafe { memory.map_host("again", lent.as_mut_ptr().wrapping_add(3), 4) };
        assert!(matches!(again, Err(AllocationError::AddressSpace { .. })));
        assert_eq!(memory.allocate("next", 8).unwrap(), own + ALIGNMENT_BYTES);
        memory.free(address).unwrap();
        assert_eq!(lent, [9, 2, 3, 4]);
    }
}
