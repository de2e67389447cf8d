//! Pools of memory.

use gpucast_host::Error;

use super::driver_functions;
use crate::abi::{In, Out};
use crate::both::pools::{self, PoolHandle};
use crate::both::streams::Stream;
use crate::runtime::exists;

driver_functions! {
    /// The device's own pool.
    fn cuDeviceGetDefaultMemPool(pool: Out<PoolHandle>, device: i32) {
        exists(device)?;
        pools::default_pool(pool)
    }

    /// The pool of `cuMemAllocAsync`.
    fn cuDeviceGetMemPool(pool: Out<PoolHandle>, device: i32) {
        exists(device)?;
        pools::current(pool)
    }

    /// Chooses the pool of `cuMemAllocAsync`.
    fn cuDeviceSetMemPool(device: i32, pool: PoolHandle) {
        exists(device)?;
        pools::set_current(pool)
    }

    /// Makes a pool.
    fn cuMemPoolCreate(pool: Out<PoolHandle>, properties: In<u8>) { pools::create(pool, properties) }

    /// Forgets a pool.
    fn cuMemPoolDestroy(pool: PoolHandle) { pools::destroy(pool) }

    /// Changes an attribute of a pool.
    fn cuMemPoolSetAttribute(pool: PoolHandle, which: i32, value: u64) { pools::set_attribute(pool, which, value) }

    /// An attribute of a pool.
    fn cuMemPoolGetAttribute(pool: PoolHandle, which: i32, place: Out<u8>) { pools::attribute(pool, which, place) }

    /// Gives memory back that a pool keeps.
    fn cuMemPoolTrimTo(pool: PoolHandle, _bytes: usize) { pools::trim(pool) }

    /// Lets devices reach a pool.
    fn cuMemPoolSetAccess(pool: PoolHandle, _list: u64, _count: usize) { pools::set_access(pool) }

    /// Says how a place reaches a pool.
    fn cuMemPoolGetAccess(flags: Out<i32>, pool: PoolHandle, _location: u64) { pools::access(flags, pool) }

    /// Allocates memory from a pool.
    fn cuMemAllocFromPoolAsync(address: Out<u64>, bytes: usize, pool: PoolHandle, on: Stream) {
        if bytes == 0 {
            return Err(Error::InvalidValue);
        }
        pools::allocate_in(on, address, bytes, Some(pool))
    }
}
