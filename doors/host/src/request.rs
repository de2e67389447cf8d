//! Launches, as programs ask for them.

use crate::clock::StreamId;

/// A kernel of a module, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub usize);

/// A launch as the program asks for it.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchRequest {
    /// The kernel.
    pub function: FunctionId,
    /// CTAs in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a CTA in x, y and z.
    pub block: [u32; 3],
    /// CTAs of a cluster, if the launch says so.
    pub cluster: Option<[u32; 3]>,
    /// Dynamic shared memory of a CTA in bytes.
    pub shared_bytes: u32,
    /// The stream.
    pub stream: StreamId,
    /// The bytes of each parameter, in order.
    pub arguments: Vec<Vec<u8>>,
}

#[cfg(test)]
impl LaunchRequest {
    /// A launch of one warp.
    pub(crate) fn of_one_warp(function: FunctionId, arguments: Vec<Vec<u8>>) -> Self {
        let (grid, block) = ([1; 3], [32, 1, 1]);
        Self { function, grid, block, cluster: None, shared_bytes: 0, stream: 0, arguments }
    }
}
