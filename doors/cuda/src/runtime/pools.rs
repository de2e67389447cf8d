//! Pools of memory.

use super::{exists, runtime_functions};
use crate::abi::{In, Out};
use crate::both::pools::{self, PoolHandle};
use crate::both::streams::Stream;

runtime_functions! {
    /// The device's own pool.
    fn cudaDeviceGetDefaultMemPool(pool: Out<PoolHandle>, device: i32) {
        exists(device)?;
        pools::default_pool(pool)
    }

    /// The pool of `cudaMallocAsync`.
    fn cudaDeviceGetMemPool(pool: Out<PoolHandle>, device: i32) {
        exists(device)?;
        pools::current(pool)
    }

    /// Chooses the pool of `cudaMallocAsync`.
    fn cudaDeviceSetMemPool(device: i32, pool: PoolHandle) {
        exists(device)?;
        pools::set_current(pool)
    }

    /// Makes a pool.
    fn cudaMemPoolCreate(pool: Out<PoolHandle>, properties: In<u8>) { pools::create(pool, properties) }

    /// Forgets a pool.
    fn cudaMemPoolDestroy(pool: PoolHandle) { pools::destroy(pool) }

    /// Changes an attribute of a pool.
    fn cudaMemPoolSetAttribute(pool: PoolHandle, which: i32, value: u64) { pools::set_attribute(pool, which, value) }

    /// An attribute of a pool.
    fn cudaMemPoolGetAttribute(pool: PoolHandle, which: i32, place: Out<u8>) { pools::attribute(pool, which, place) }

    /// Gives memory back that a pool keeps.
    fn cudaMemPoolTrimTo(pool: PoolHandle, _bytes: usize) { pools::trim(pool) }

    /// Lets devices reach a pool.
    fn cudaMemPoolSetAccess(pool: PoolHandle, _list: u64, _count: usize) { pools::set_access(pool) }

    /// Says how a place reaches a pool.
    fn cudaMemPoolGetAccess(flags: Out<i32>, pool: PoolHandle, _location: u64) { pools::access(flags, pool) }

    /// Allocates memory from a pool.
    fn cudaMallocFromPoolAsync(address: Out<u64>, bytes: usize, pool: PoolHandle, on: Stream) { pools::allocate_in(on, address, bytes, Some(pool)) }
}
