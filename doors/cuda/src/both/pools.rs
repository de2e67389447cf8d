//! Pools of memory. Blocks are allocated and freed at once, in whatever stream a call names. A pool
//! keeps what the program has told it, and how much of its memory is used.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use gpucast_host::{BlockKind, Error};

use super::memory;
use super::streams::{Stream, stream};
use crate::abi::{In, Out};
use crate::state::on_device;

/// `cudaMemPool_t` and `CUmemoryPool`.
pub(crate) type PoolHandle = u64;

/// The device's own pool.
const DEFAULT: PoolHandle = 1;

// Attributes (`CUmemPool_attribute`, `cudaMemPoolAttr`): the first three are of 4 bytes.
const FIRST_REUSE: i32 = 1;
const LAST_REUSE: i32 = 3;
const RELEASE_THRESHOLD: i32 = 4;
const RESERVED: i32 = 5;
const RESERVED_HIGH: i32 = 6;
const USED: i32 = 7;
const USED_HIGH: i32 = 8;

#[derive(Clone, Copy, Debug)]
struct Pool {
    /// The kinds of reuse that are allowed, which change nothing here.
    reuse: [i32; 3],
    release_threshold: u64,
    used_bytes: u64,
    most_used_bytes: u64,
}

impl Pool {
    const NEW: Self =
        Self { reuse: [1; 3], release_threshold: 0, used_bytes: 0, most_used_bytes: 0 };
}

/// All pools, and the blocks that came from them.
struct Pools {
    pools: BTreeMap<PoolHandle, Pool>,
    /// The pool and size of each block, by its address.
    blocks: BTreeMap<u64, (PoolHandle, u64)>,
    /// The pool of calls that name none.
    current: PoolHandle,
    next: PoolHandle,
}

static POOLS: Mutex<Pools> = Mutex::new(Pools {
    pools: BTreeMap::new(),
    blocks: BTreeMap::new(),
    current: DEFAULT,
    next: DEFAULT + 1,
});

fn pools() -> MutexGuard<'static, Pools> {
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    pools.pools.entry(DEFAULT).or_insert(Pool::NEW);
    pools
}

impl Pools {
    fn pool(&mut self, handle: PoolHandle) -> Result<&mut Pool, Error> {
        self.pools.get_mut(&handle).ok_or(Error::InvalidValue)
    }
}

/// Writes the device's own pool.
pub(crate) fn default_pool(pool: Out<PoolHandle>) -> Result<(), Error> {
    pool.put(DEFAULT)
}

/// Writes the pool of calls that name none.
pub(crate) fn current(pool: Out<PoolHandle>) -> Result<(), Error> {
    pool.put(pools().current)
}

/// Chooses the pool of calls that name none.
pub(crate) fn set_current(pool: PoolHandle) -> Result<(), Error> {
    let mut pools = pools();
    pools.pool(pool)?;
    pools.current = pool;
    Ok(())
}

/// Makes a pool, and writes its handle. There is one place for its memory: the device.
pub(crate) fn create(pool: Out<PoolHandle>, properties: In<u8>) -> Result<(), Error> {
    pool.check()?;
    properties.get()?;
    let mut pools = pools();
    let handle = pools.next;
    pools.next += 1;
    pools.pools.insert(handle, Pool::NEW);
    pool.put(handle)
}

/// Forgets a pool. Its blocks live until they are freed, as with CUDA.
pub(crate) fn destroy(pool: PoolHandle) -> Result<(), Error> {
    let mut pools = pools();
    if pool == DEFAULT {
        return Err(Error::InvalidValue);
    }
    if pools.current == pool {
        pools.current = DEFAULT;
    }
    pools.pools.remove(&pool).map(|_| ()).ok_or(Error::InvalidValue)
}

/// Allocates a block from a pool, or from the current one, and writes its address.
pub(crate) fn allocate(
    address: Out<u64>,
    bytes: usize,
    pool: Option<PoolHandle>,
) -> Result<(), Error> {
    address.check()?;
    let mut pools = pools();
    let handle = pool.unwrap_or(pools.current);
    pools.pool(handle)?;
    let block = memory::allocated(bytes, BlockKind::Device)?;
    if block != 0 {
        let pool = pools.pool(handle)?;
        pool.used_bytes += bytes as u64;
        pool.most_used_bytes = pool.most_used_bytes.max(pool.used_bytes);
        pools.blocks.insert(block, (handle, bytes as u64));
    }
    address.put(block)
}

/// As [`allocate`], in order of a stream. If that is captured, the memory is the graph's.
pub(crate) fn allocate_in(
    on: Stream,
    address: Out<u64>,
    bytes: usize,
    pool: Option<PoolHandle>,
) -> Result<(), Error> {
    address.check()?;
    match on_device(|device| device.capture_allocation(stream(on), bytes as u64))? {
        Some(block) => address.put(block),
        None => allocate(address, bytes, pool),
    }
}

/// As [`free`], in order of a stream.
pub(crate) fn free_in(on: Stream, address: u64) -> Result<(), Error> {
    match on_device(|device| device.capture_free(stream(on), address))? {
        true => Ok(()),
        false => free(address),
    }
}

/// Frees memory of the device, from a pool or not.
pub(crate) fn free(address: u64) -> Result<(), Error> {
    memory::free(address)?;
    let mut pools = pools();
    if let Some((handle, bytes)) = pools.blocks.remove(&address)
        && let Ok(pool) = pools.pool(handle)
    {
        pool.used_bytes = pool.used_bytes.saturating_sub(bytes);
    }
    Ok(())
}

/// Changes an attribute; those of high-water marks can only be reset.
pub(crate) fn set_attribute(pool: PoolHandle, which: i32, value: u64) -> Result<(), Error> {
    let mut pools = pools();
    let pool = pools.pool(pool)?;
    let long = || In::<u64>::at_number(value).get();
    match which {
        FIRST_REUSE..=LAST_REUSE => {
            pool.reuse[(which - FIRST_REUSE) as usize] = In::<i32>::at_number(value).get()?;
        }
        RELEASE_THRESHOLD => pool.release_threshold = long()?,
        RESERVED_HIGH | USED_HIGH if long()? == 0 => pool.most_used_bytes = pool.used_bytes,
        _ => return Err(Error::InvalidValue),
    }
    Ok(())
}

/// Writes an attribute. What is reserved is what is used: nothing is kept for later.
pub(crate) fn attribute(pool: PoolHandle, which: i32, place: Out<u8>) -> Result<(), Error> {
    let mut pools = pools();
    let pool = pools.pool(pool)?;
    match which {
        FIRST_REUSE..=LAST_REUSE => {
            place.put_all(pool.reuse[(which - FIRST_REUSE) as usize].to_le_bytes())
        }
        RELEASE_THRESHOLD => place.put_all(pool.release_threshold.to_le_bytes()),
        RESERVED | USED => place.put_all(pool.used_bytes.to_le_bytes()),
        RESERVED_HIGH | USED_HIGH => place.put_all(pool.most_used_bytes.to_le_bytes()),
        _ => Err(Error::InvalidValue),
    }
}

/// Gives memory back that is kept for later: there is none.
pub(crate) fn trim(pool: PoolHandle) -> Result<(), Error> {
    on_device(|_| Ok(()))?;
    pools().pool(pool).map(|_| ())
}

/// Lets devices reach a pool: the only one does.
pub(crate) fn set_access(pool: PoolHandle) -> Result<(), Error> {
    pools().pool(pool).map(|_| ())
}

/// Writes who reaches a pool: the device reads and writes.
pub(crate) fn access(flags: Out<i32>, pool: PoolHandle) -> Result<(), Error> {
    const READ_AND_WRITE: i32 = 3;
    pools().pool(pool)?;
    flags.put(READ_AND_WRITE)
}
