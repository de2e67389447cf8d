//! Turns a launch as the user states it into one that the engine runs: checks, parameters, globals.

use std::collections::HashMap;
use std::sync::Arc;

use gpucast_ptx_frontend::ScalarType;
use gpucast_ptx_frontend::module::{InitializerValue, Variable, VariableId};
use gpucast_ptx_frontend::types::TypeKind;

use super::cta::{AlignedBytes, LaunchContext};
use super::level::Level;
use super::stop::Stop;
use crate::launch::{Argument, GridLimits, Launch, LaunchError, MAX_CLUSTER_CTAS, Options};
use crate::memory::DeviceMemory;
use crate::observer::Wants;
use crate::program::lower::{masked, write};
use crate::program::registers::LaunchShape;
use crate::program::{Parameter, Program};

/// The largest CTA of any GPU.
const MAX_THREADS: u64 = 1024;
/// Limits of a CTA's extents since compute capability 3.0.
const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
/// The most shared memory that a CTA of any GPU can have.
const MAX_SHARED_BYTES: u64 = 227 << 10;
/// The most local memory that a thread can have, its stack included.
const MAX_LOCAL_BYTES: u64 = 512 << 10;

/// The addresses of the module's variables: those of the program's instance. Without one, global
/// variables that `memory` does not hold yet are allocated and initialised.
pub(super) fn variables(
    program: &Program,
    memory: &mut DeviceMemory,
) -> Result<Arc<HashMap<VariableId, u64>>, LaunchError> {
    if let Some(addresses) = &program.addresses {
        return Ok(Arc::clone(addresses));
    }
    let mut addresses = HashMap::new();
    let mut fresh = Vec::new();
    for (id, variable) in &program.globals {
        let name = allocation_name(variable);
        let address = match memory.address(&name) {
            Some(address) => address,
            None => {
                fresh.push(variable);
                memory.allocate(&name, variable.size_bytes)?
            }
        };
        addresses.insert(*id, address);
    }
    for variable in fresh {
        for item in &variable.initializer {
            let (bytes, width) = match &item.value {
                InitializerValue::Bytes(bytes) => (bytes.to_vec(), bytes.len()),
                InitializerValue::Variable { variable: target, addend, width, mask, .. } => {
                    let address = addresses.get(target).ok_or_else(|| {
                        LaunchError::Initializer { variable: variable.name.clone() }
                    })?;
                    let address = address.wrapping_add_signed(*addend);
                    let value = masked(address, mask.unwrap_or(u64::MAX));
                    (value.to_le_bytes().to_vec(), usize::from(*width))
                }
                InitializerValue::Function { .. } => {
                    return Err(LaunchError::Initializer { variable: variable.name.clone() });
                }
            };
            if let Some(contents) = memory.bytes_mut(&allocation_name(variable)) {
                write(contents, item.offset, &bytes[..width.min(bytes.len())]);
            }
        }
    }
    Ok(Arc::new(addresses))
}

/// The name of the buffer that a cooperative launch synchronises its grid with.
const GRID_WORKSPACE: &str = "grid workspace";

/// Bytes of it: its own size and the barrier's word, rounded up generously.
const GRID_WORKSPACE_BYTES: u64 = 64;

/// Gives a kernel that looks for it the workspace of a cooperative launch: every launch counts as
/// one here.
pub(super) fn allocate_grid_workspace(
    program: &Program,
    memory: &mut DeviceMemory,
) -> Result<(), LaunchError> {
    if program.registers.wants_grid_workspace() && memory.address(GRID_WORKSPACE).is_none() {
        memory.allocate(GRID_WORKSPACE, GRID_WORKSPACE_BYTES)?;
    }
    Ok(())
}

/// Returns the name of a module variable's buffer, which no user's buffer can have.
pub(super) fn allocation_name(variable: &Variable) -> String {
    format!("module variable {}", variable.name)
}

/// Checks a launch and prepares the state that its CTAs share.
#[expect(clippy::too_many_arguments, reason = "everything that a launch is made of")]
pub(super) fn context<'a>(
    level: Level,
    program: &'a Program,
    launch: &Launch,
    device: &'a DeviceMemory,
    globals: &Arc<HashMap<VariableId, u64>>,
    options: &Options,
    wants: Wants,
    stop: Stop<'a>,
) -> Result<LaunchContext<'a>, LaunchError> {
    check_shape(program, launch, options.grid_limits)?;
    let stack = if program.has_stack() { u64::from(options.stack_bytes) } else { 0 };
    // The stack is at most as large as the rest that the program's fixed variables leave.
    let local_bytes = (program.local_bytes + stack).min(MAX_LOCAL_BYTES.max(program.local_bytes));
    let dynamic = u64::from(launch.dynamic_shared_bytes);
    let shared_bytes = program.shared_static_bytes.saturating_add(dynamic);
    if shared_bytes > MAX_SHARED_BYTES {
        return Err(LaunchError::SharedMemory { bytes: shared_bytes, limit: MAX_SHARED_BYTES });
    }
    let constant = constant_memory(program, device, globals)?;
    let parameters = parameter_block(program, &launch.arguments)?;
    let shape = LaunchShape {
        grid_workspace: device.address(GRID_WORKSPACE).unwrap_or(0),
        grid: launch.grid,
        cluster: cluster(program, launch)?,
        explicit_cluster: launch.cluster.is_some()
            || program.directives.reqnctapercluster.is_some(),
        block: launch.block,
        dynamic_shared_bytes: launch.dynamic_shared_bytes,
        total_shared_bytes: shared_bytes as u32,
    };
    Ok(LaunchContext {
        program,
        level,
        device,
        shape,
        globals: Arc::clone(globals),
        parameters: AlignedBytes::new(&parameters),
        constant: AlignedBytes::new(&constant),
        shared_bytes,
        local_bytes: local_bytes.next_multiple_of(16),
        budget: options.instruction_budget,
        skip_bad_accesses: options.skip_bad_accesses,
        is_trial: false,
        async_timing: options.async_timing,
        wants,
        memory_limit: options.memory_limit.or_else(|| device.room()),
        stop,
        watch: None,
        representative: None,
    })
}

/// Constant memory with the addresses of global variables filled in. Variables that have a place in
/// device memory have its contents.
fn constant_memory(
    program: &Program,
    device: &DeviceMemory,
    globals: &HashMap<VariableId, u64>,
) -> Result<Vec<u8>, LaunchError> {
    let mut constant = program.constant.clone();
    for item in &program.constant_addresses {
        let address = globals
            .get(&item.variable)
            .ok_or_else(|| LaunchError::Initializer { variable: "a constant".to_owned() })?;
        let address = address.wrapping_add_signed(item.addend);
        let bytes = masked(address, item.mask).to_le_bytes();
        write(&mut constant, item.offset, &bytes[..usize::from(item.width).min(8)]);
    }
    for one in &program.constant_variables {
        let place = globals.get(&one.variable);
        if let Some(contents) = place.and_then(|&address| device.slice(address, one.bytes)) {
            write(&mut constant, one.offset, contents);
        }
    }
    Ok(constant)
}

/// CTAs of a grid that are executed or told of one by one.
///
/// # Errors
///
/// [`LaunchError::GridSize`] if there are too many to have an index.
pub(super) fn ctas_in_order(shape: &LaunchShape) -> Result<u64, LaunchError> {
    shape.ctas().try_into().map_err(|_| LaunchError::GridSize { grid: shape.grid })
}

/// The CTAs of a cluster in x, y and z.
fn cluster(program: &Program, launch: &Launch) -> Result<[u32; 3], LaunchError> {
    let directives = &program.directives;
    let cluster = match (launch.cluster, directives.reqnctapercluster) {
        (Some(cluster), Some(required)) if cluster != required => {
            return Err(LaunchError::RequiredCluster { cluster, required });
        }
        (Some(cluster), _) | (None, Some(cluster)) => cluster,
        (None, None) if directives.explicitcluster => return Err(LaunchError::NoCluster),
        (None, None) => [1; 3],
    };
    for ((extent, limit), axis) in cluster.into_iter().zip(launch.grid).zip(["x", "y", "z"]) {
        if extent == 0 {
            return Err(LaunchError::Extent { what: "cluster", axis, extent, limit });
        }
    }
    let ctas = cluster.iter().fold(1, |product: u64, &n| product.saturating_mul(u64::from(n)));
    let limit = directives.maxclusterrank.map_or(MAX_CLUSTER_CTAS as u64, u64::from);
    let limit = limit.min(MAX_CLUSTER_CTAS as u64);
    if ctas > limit {
        return Err(LaunchError::ClusterSize { cluster, ctas, limit });
    }
    if launch.grid.iter().zip(cluster).any(|(grid, cluster)| grid % cluster != 0) {
        return Err(LaunchError::PartialCluster { grid: launch.grid, cluster });
    }
    Ok(cluster)
}

fn check_shape(
    program: &Program,
    launch: &Launch,
    grid_limits: GridLimits,
) -> Result<(), LaunchError> {
    for (what, extents, limits) in
        [("block", launch.block, MAX_BLOCK), ("grid", launch.grid, grid_limits.extents())]
    {
        for ((extent, limit), axis) in extents.into_iter().zip(limits).zip(["x", "y", "z"]) {
            if extent == 0 || extent > limit {
                return Err(LaunchError::Extent { what, axis, extent, limit });
            }
        }
    }
    let threads = launch.threads_per_cta();
    if threads > MAX_THREADS {
        return Err(LaunchError::Threads { block: launch.block, threads, limit: MAX_THREADS });
    }
    if let Some(required) = program.directives.reqntid
        && required != launch.block
    {
        return Err(LaunchError::RequiredBlock { block: launch.block, required });
    }
    if let Some(most) = program.directives.maxntid {
        let most = most.iter().fold(1, |product: u64, &n| product.saturating_mul(u64::from(n)));
        if threads > most {
            return Err(LaunchError::Threads { block: launch.block, threads, limit: most });
        }
    }
    Ok(())
}

/// Lays the arguments out as the kernel's parameters.
pub(super) fn parameter_block(
    program: &Program,
    arguments: &[Argument],
) -> Result<Vec<u8>, LaunchError> {
    if arguments.len() != program.parameters.len() {
        return Err(LaunchError::ArgumentCount {
            given: arguments.len(),
            expected: program.parameters.iter().map(|p| p.name.clone()).collect(),
        });
    }
    let mut block = vec![0; program.parameter_bytes as usize];
    for (index, (argument, parameter)) in arguments.iter().zip(&program.parameters).enumerate() {
        let bytes =
            argument_bytes(argument, parameter, program.address_bits / 8).map_err(|found| {
                LaunchError::ArgumentType {
                    index,
                    parameter: parameter.name.clone(),
                    expected: describe(parameter),
                    found,
                }
            })?;
        let at = parameter.offset as usize;
        block[at..at + bytes.len()].copy_from_slice(&bytes);
    }
    Ok(block)
}

fn describe(parameter: &Parameter) -> String {
    if parameter.is_array {
        format!("a structure of {} bytes", parameter.bytes)
    } else {
        format!(".{}", parameter.ty.text())
    }
}

/// The bytes that an argument passes to a parameter, or a description of the misfit.
fn argument_bytes(
    argument: &Argument,
    parameter: &Parameter,
    address_bytes: u8,
) -> Result<Vec<u8>, String> {
    let bytes = parameter.bytes as usize;
    match argument {
        Argument::Bytes(contents) if contents.len() == bytes => Ok(contents.clone()),
        Argument::Bytes(contents) => Err(format!("{} bytes", contents.len())),
        Argument::Address(address)
            if !parameter.is_array
                && bytes == usize::from(address_bytes)
                && (bytes == 8 || *address < 1 << 32)
                && !is_float(parameter.ty) =>
        {
            Ok(address.to_le_bytes()[..bytes].to_vec())
        }
        Argument::Address(_) => Err("a buffer".to_owned()),
        Argument::Scalar { ty, bits } => {
            let untyped = parameter.ty.kind() == TypeKind::Bits;
            let same_family = is_float(*ty) == is_float(parameter.ty) || untyped;
            if parameter.is_array || ty.bytes() as usize != bytes || !same_family {
                return Err(format!("a scalar of type {}", ty.text()));
            }
            Ok(bits.to_le_bytes()[..bytes].to_vec())
        }
    }
}

fn is_float(ty: ScalarType) -> bool {
    matches!(ty.kind(), TypeKind::Float)
}
