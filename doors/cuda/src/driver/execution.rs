//! Launches and occupancy.

use gpucast_host::clock::StreamId;
use gpucast_host::{Error, LaunchRequest};

use super::driver_functions;
use super::modules::{FunctionHandle, function};
use crate::abi::{self, In, Out};
use crate::both::streams::{Stream, stream};
use crate::runtime::launch::{LaunchAttribute, arguments, cluster};
use crate::state;

/// `CUlaunchConfig`.
#[repr(C)]
#[derive(Clone, Copy)]
struct LaunchConfig {
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    stream: Stream,
    attributes: In<LaunchAttribute>,
    count: u32,
}

// Keys of the list of extra parameters.
const END: u64 = 0;
const BUFFER_POINTER: u64 = 1;
const BUFFER_SIZE: u64 = 2;

/// The block of all parameters that `extra` gives.
fn parameter_block(extra: In<u64>) -> Result<Vec<u8>, Error> {
    let (mut address, mut bytes) = (0, 0);
    let mut at = 0;
    loop {
        match extra.at(at)? {
            END => break,
            BUFFER_POINTER => address = extra.at(at + 1)?,
            BUFFER_SIZE => {
                let size: In<usize> = In::at_number(extra.at(at + 1)?);
                bytes = size.get()?;
            }
            _ => return Err(Error::InvalidValue),
        }
        at += 2;
    }
    abi::argument(std::ptr::with_exposed_provenance(address as usize), bytes)
}

/// What all ways of launching say.
pub(super) struct Shape {
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) cluster: Option<[u32; 3]>,
    pub(super) shared_bytes: u32,
    pub(super) stream: StreamId,
}

fn launch(
    handle: FunctionHandle,
    shape: Shape,
    parameters: In<*const u8>,
    extra: In<u64>,
) -> Result<(), Error> {
    let request = request(handle, shape, parameters, extra)?;
    state::on_device(|device| device.launch(request))
}

/// A launch with its arguments, which are an array of addresses or a block.
pub(super) fn request(
    handle: FunctionHandle,
    shape: Shape,
    parameters: In<*const u8>,
    extra: In<u64>,
) -> Result<LaunchRequest, Error> {
    let function = function(handle)?;
    state::with(|state| {
        let arguments = if parameters.is_null() && !extra.is_null() {
            let block = parameter_block(extra)?;
            let all = state.device()?.parameters(function)?;
            let of = |offset: u64, bytes: u64| {
                let range = offset as usize..(offset + bytes) as usize;
                block.get(range).map(<[u8]>::to_vec).ok_or(Error::InvalidValue)
            };
            all.iter().map(|field| of(field.offset, field.bytes)).collect::<Result<_, _>>()?
        } else {
            arguments(state, function, parameters)?
        };
        let Shape { grid, block, cluster, shared_bytes, stream } = shape;
        Ok(LaunchRequest { function, grid, block, cluster, shared_bytes, stream, arguments })
    })
}

fn ctas_per_sm(
    ctas: Out<i32>,
    handle: FunctionHandle,
    threads: i32,
    shared_bytes: usize,
) -> Result<(), Error> {
    let threads = u64::try_from(threads).map_err(|_| Error::InvalidValue)?;
    let found = state::on_device(|device| {
        device.ctas_per_sm(function(handle)?, threads, shared_bytes as u64)
    })?;
    ctas.put(found as i32)
}

driver_functions! {
    /// Launches a kernel.
    fn cuLaunchKernel(
        handle: FunctionHandle,
        grid_x: u32,
        grid_y: u32,
        grid_z: u32,
        block_x: u32,
        block_y: u32,
        block_z: u32,
        shared_bytes: u32,
        on: Stream,
        parameters: In<*const u8>,
        extra: In<u64>,
    ) {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let shape = Shape { grid, block, cluster: None, shared_bytes, stream: stream(on) };
        launch(handle, shape, parameters, extra)
    }

    /// Launches a kernel whose CTAs wait for each other: every launch may do so here.
    fn cuLaunchCooperativeKernel(
        handle: FunctionHandle,
        grid_x: u32,
        grid_y: u32,
        grid_z: u32,
        block_x: u32,
        block_y: u32,
        block_z: u32,
        shared_bytes: u32,
        on: Stream,
        parameters: In<*const u8>,
    ) {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let shape = Shape { grid, block, cluster: None, shared_bytes, stream: stream(on) };
        launch(handle, shape, parameters, In::at_number(0))
    }

    /// Launches a kernel with attributes.
    fn cuLaunchKernelEx(
        config: In<LaunchConfig>,
        handle: FunctionHandle,
        parameters: In<*const u8>,
        extra: In<u64>,
    ) {
        let LaunchConfig { grid, block, shared_bytes, stream: on, attributes, count } =
            config.get()?;
        let cluster = cluster(attributes, count)?;
        let shape = Shape { grid, block, cluster, shared_bytes, stream: stream(on) };
        launch(handle, shape, parameters, extra)
    }

    /// CTAs of a kernel that an SM runs at the same time.
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        ctas: Out<i32>,
        handle: FunctionHandle,
        threads: i32,
        shared_bytes: usize,
    ) {
        ctas_per_sm(ctas, handle, threads, shared_bytes)
    }

    /// CTAs of a kernel that an SM runs at the same time.
    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        ctas: Out<i32>,
        handle: FunctionHandle,
        threads: i32,
        shared_bytes: usize,
        _flags: u32,
    ) {
        ctas_per_sm(ctas, handle, threads, shared_bytes)
    }
}
