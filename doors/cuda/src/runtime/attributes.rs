//! Facts and attributes of kernels, and occupancy.

use gpucast_host::Error;

use super::runtime_functions;
use crate::abi::Out;
use crate::both::{functions, limits};
use crate::state;

/// `cudaFuncAttributes`, which is alike in CUDA 12 and 13 up to the members that are reserved.
#[repr(C)]
struct FuncAttributes {
    shared_bytes: usize,
    constant_bytes: usize,
    local_bytes: usize,
    max_threads: i32,
    registers: i32,
    ptx_version: i32,
    binary_version: i32,
    cache_mode_ca: i32,
    max_dynamic_shared_bytes: i32,
    preferred_carveout: i32,
    cluster_must_be_set: i32,
    required_cluster: [i32; 3],
    cluster_policy: i32,
    non_portable_cluster: i32,
    reserved: [i32; 16],
}

/// `cudaFuncAttributes` of CUDA 11, which ends earlier.
#[repr(C)]
struct FuncAttributes11 {
    shared_bytes: usize,
    constant_bytes: usize,
    local_bytes: usize,
    max_threads: i32,
    registers: i32,
    ptx_version: i32,
    binary_version: i32,
    cache_mode_ca: i32,
    max_dynamic_shared_bytes: i32,
    preferred_carveout: i32,
}

impl From<FuncAttributes> for FuncAttributes11 {
    fn from(all: FuncAttributes) -> Self {
        Self {
            shared_bytes: all.shared_bytes,
            constant_bytes: all.constant_bytes,
            local_bytes: all.local_bytes,
            max_threads: all.max_threads,
            registers: all.registers,
            ptx_version: all.ptx_version,
            binary_version: all.binary_version,
            cache_mode_ca: all.cache_mode_ca,
            max_dynamic_shared_bytes: all.max_dynamic_shared_bytes,
            preferred_carveout: all.preferred_carveout,
        }
    }
}

/// The facts of a kernel.
fn attributes(host: u64) -> Result<FuncAttributes, Error> {
    let facts = state::with(|state| {
        let function = state.function(host)?;
        state.device()?.facts(function)
    })?;
    Ok(FuncAttributes {
        shared_bytes: facts.shared_bytes as usize,
        constant_bytes: facts.constant_bytes as usize,
        local_bytes: facts.local_bytes as usize,
        max_threads: facts.max_threads as i32,
        registers: facts.registers as i32,
        ptx_version: facts.target as i32,
        binary_version: facts.target as i32,
        cache_mode_ca: 0,
        max_dynamic_shared_bytes: facts.max_dynamic_shared_bytes as i32,
        preferred_carveout: -1,
        cluster_must_be_set: 0,
        required_cluster: [0; 3],
        cluster_policy: 0,
        non_portable_cluster: 0,
        reserved: [0; 16],
    })
}

fn ctas_per_sm(ctas: Out<i32>, host: u64, threads: i32, shared_bytes: usize) -> Result<(), Error> {
    let threads = u64::try_from(threads).ok().filter(|&threads| threads > 0);
    let threads = threads.ok_or(Error::InvalidValue)?;
    let found = state::with(|state| {
        let function = state.function(host)?;
        state.device()?.ctas_per_sm(function, threads, shared_bytes as u64)
    })?;
    ctas.put(found as i32)
}

runtime_functions! {
    /// The facts of a kernel.
    fn cudaFuncGetAttributes(place: Out<FuncAttributes>, host: u64) {
        place.put(attributes(host)?)
    }

    /// The facts of a kernel, in CUDA 11's layout.
    fn cudaFuncGetAttributes_11(place: Out<FuncAttributes11>, host: u64) {
        place.put(attributes(host)?.into())
    }

    /// Changes a kernel's attribute: the most dynamic shared memory counts, the others are hints.
    fn cudaFuncSetAttribute(host: u64, attribute: i32, value: i32) {
        state::with(|state| {
            let function = state.function(host)?;
            functions::set_attribute(state.device()?, function, attribute, value)
        })
    }

    /// A hint for the caches.
    fn cudaFuncSetCacheConfig(host: u64, config: i32) {
        state::with(|state| state.function(host))?;
        limits::check_cache_choice(config)
    }

    /// A hint for the banks.
    fn cudaFuncSetSharedMemConfig(host: u64, config: i32) {
        state::with(|state| state.function(host))?;
        limits::check_bank_choice(config)
    }

    /// CTAs of a kernel that an SM runs at the same time.
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        ctas: Out<i32>,
        host: u64,
        threads: i32,
        shared_bytes: usize,
    ) {
        ctas_per_sm(ctas, host, threads, shared_bytes)
    }

    /// CTAs of a kernel that an SM runs at the same time.
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        ctas: Out<i32>,
        host: u64,
        threads: i32,
        shared_bytes: usize,
        _flags: u32,
    ) {
        ctas_per_sm(ctas, host, threads, shared_bytes)
    }

    /// The dynamic shared memory with which an SM still runs so many CTAs.
    fn cudaOccupancyAvailableDynamicSMemPerBlock(
        bytes: Out<usize>,
        host: u64,
        ctas: i32,
        _threads: i32,
    ) {
        let ctas = u64::try_from(ctas).ok().filter(|&ctas| ctas > 0).ok_or(Error::InvalidValue)?;
        let left = state::with(|state| {
            let function = state.function(host)?;
            let device = state.device()?;
            let facts = device.facts(function)?;
            let limits = device.properties().model().limits;
            let share = limits.shared_bytes / ctas;
            let taken = limits.shared_reserved_bytes_per_cta + facts.shared_bytes;
            let most = facts.max_dynamic_shared_bytes;
            Ok(share.saturating_sub(taken).min(most))
        })?;
        bytes.put(left as usize)
    }
}
