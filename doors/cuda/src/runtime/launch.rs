//! Launches, by the function of the host that stands for the kernel.

use std::cell::RefCell;

use gpucast_host::{Error, FunctionId, LaunchRequest};

use super::{plain_functions, runtime_functions};
use crate::abi::{self, Dim3, In, Out};
use crate::both::streams::{Stream, stream};
use crate::state::{self, State};

/// What `<<<grid, block, shared, stream>>>` said.
#[derive(Clone, Copy)]
struct Configuration {
    grid: Dim3,
    block: Dim3,
    shared_bytes: usize,
    stream: Stream,
}

thread_local! {
    static CONFIGURATIONS: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
}

/// The arguments of a kernel as an array of addresses.
pub(crate) fn arguments(
    state: &mut State,
    function: FunctionId,
    addresses: In<*const u8>,
) -> Result<Vec<Vec<u8>>, Error> {
    let parameters = state.device()?.parameters(function)?;
    let all = parameters.iter().enumerate();
    all.map(|(index, one)| abi::argument(addresses.at(index)?, one.bytes as usize)).collect()
}

fn launch(
    host: u64,
    configuration: Configuration,
    cluster: Option<[u32; 3]>,
    addresses: In<*const u8>,
) -> Result<(), Error> {
    state::with(|state| {
        state.place_managed()?;
        let function = state.function(host)?;
        let Configuration { grid, block, shared_bytes, stream: on } = configuration;
        let request = LaunchRequest {
            function,
            grid: grid.into(),
            block: block.into(),
            cluster,
            shared_bytes: u32::try_from(shared_bytes).map_err(|_| Error::InvalidValue)?,
            stream: stream(on),
            arguments: arguments(state, function, addresses)?,
        };
        state.device()?.launch(request)
    })
}

/// `cudaLaunchConfig_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct LaunchConfig {
    grid: Dim3,
    block: Dim3,
    shared_bytes: usize,
    stream: Stream,
    attributes: In<LaunchAttribute>,
    count: u32,
}

/// `cudaLaunchAttribute` and `CUlaunchAttribute`: a number, and a value of 64 bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct LaunchAttribute {
    id: u32,
    padding: u32,
    value: [u32; 16],
}

/// The attribute that holds the CTAs of a cluster.
const CLUSTER_DIMENSION: u32 = 4;

/// The cluster that attributes ask for. Others are hints, or change nothing here.
pub(crate) fn cluster(
    attributes: In<LaunchAttribute>,
    count: u32,
) -> Result<Option<[u32; 3]>, Error> {
    for index in 0..count as usize {
        let LaunchAttribute { id, value: [x, y, z, ..], .. } = attributes.at(index)?;
        if id == CLUSTER_DIMENSION {
            return Ok(Some([x, y, z]));
        }
    }
    Ok(None)
}

runtime_functions! {
    /// Launches a kernel.
    fn cudaLaunchKernel(
        host: u64,
        grid: Dim3,
        block: Dim3,
        addresses: In<*const u8>,
        shared_bytes: usize,
        stream: Stream,
    ) {
        launch(host, Configuration { grid, block, shared_bytes, stream }, None, addresses)
    }

    /// As `cudaLaunchKernel`, by a handle, which is the host's function here.
    fn __cudaLaunchKernel(
        handle: u64,
        grid: Dim3,
        block: Dim3,
        addresses: In<*const u8>,
        shared_bytes: usize,
        stream: Stream,
    ) {
        launch(handle, Configuration { grid, block, shared_bytes, stream }, None, addresses)
    }

    /// Launches a kernel whose CTAs wait for each other: every launch may do so here.
    fn cudaLaunchCooperativeKernel(
        host: u64,
        grid: Dim3,
        block: Dim3,
        addresses: In<*const u8>,
        shared_bytes: usize,
        stream: Stream,
    ) {
        launch(host, Configuration { grid, block, shared_bytes, stream }, None, addresses)
    }

    /// Launches a kernel with attributes.
    fn cudaLaunchKernelExC(config: In<LaunchConfig>, host: u64, addresses: In<*const u8>) {
        let LaunchConfig { grid, block, shared_bytes, stream, attributes, count } = config.get()?;
        let cluster = cluster(attributes, count)?;
        launch(host, Configuration { grid, block, shared_bytes, stream }, cluster, addresses)
    }

    /// The handle of a kernel.
    fn __cudaGetKernel(handle: Out<u64>, host: u64) { handle.put(host) }

    /// The handle of a kernel.
    fn cudaGetKernel(handle: Out<u64>, host: u64) {
        state::with(|state| state.function(host))?;
        handle.put(host)
    }

    /// Takes the configuration of the launch that follows.
    fn __cudaPopCallConfiguration(
        grid: Out<Dim3>,
        block: Out<Dim3>,
        shared_bytes: Out<usize>,
        stream: Out<Stream>,
    ) {
        let configuration = CONFIGURATIONS.with_borrow_mut(Vec::pop);
        let configuration = configuration.ok_or(Error::MissingConfiguration)?;
        grid.put(configuration.grid)?;
        block.put(configuration.block)?;
        shared_bytes.put(configuration.shared_bytes)?;
        stream.put(configuration.stream)
    }
}

plain_functions! {
    /// Keeps the configuration of the launch that follows; 0 stands for success.
    fn __cudaPushCallConfiguration(
        grid: Dim3,
        block: Dim3,
        shared_bytes: usize,
        stream: Stream,
    ) -> u32 {
        let configuration = Configuration { grid, block, shared_bytes, stream };
        CONFIGURATIONS.with_borrow_mut(|all| all.push(configuration));
        0
    }
}
