//! Reports for people of the interpreter's refusals and a kernel's faults.

use gpucast_interpreter::program::{LowerError, Parameter};
use gpucast_interpreter::{Fault, FaultKind, LaunchError, Program, RunError};
use gpucast_ptx_frontend::module::Location;

use crate::failure::{Anchor, Report, SourceText, suggest};
use crate::input::kernel_name::readable;
use crate::input::loaded::Loaded;
use crate::input::plan::{LaunchPlaces, Plan, PlannedLaunch};

/// A kernel that cannot be made ready; `anchor` is where its name stands.
pub(crate) fn of_lowering(error: LowerError, source: &SourceText, anchor: &Anchor) -> Vec<Report> {
    match error {
        LowerError::NoSuchKernel { name, kernels } => {
            let report =
                Report::new(format!("{} has no kernel named `{name}`", source.name)).at(anchor);
            let known = kernels.iter().map(String::as_str);
            vec![match suggest(&name, known) {
                Some(hint) => report.hint(hint),
                None if kernels.is_empty() => report.hint("the module has no kernel at all"),
                None => report.hint(format!("the module has {} kernels", kernels.len())),
            }]
        }
        LowerError::Unsupported { kernel, instructions } => instructions
            .into_iter()
            .map(|instruction| {
                let message = match instruction.what.is_empty() {
                    true => instruction.reason,
                    false => format!("{}: {}", instruction.what, instruction.reason),
                };
                source
                    .report(instruction.span.range(), message)
                    .fact(format!("kernel {kernel} cannot be executed"))
                    .hint("`gpucast check` lists everything that stands in the way")
            })
            .collect(),
    }
}

/// The note about a kernel that runs up to instructions that cannot be executed.
pub(crate) fn of_unsupported(program: &Program) -> Option<String> {
    let unsupported = program.unsupported();
    let first = unsupported.iter().min_by_key(|construct| construct.span.start)?;
    let count = match unsupported.len() {
        1 => "an instruction".to_owned(),
        number => format!("{number} instructions"),
    };
    Some(format!(
        "{} has {count} that cannot be executed ({}{}); the launch stops where a thread reaches one",
        program.kernel(),
        first.what,
        if unsupported.len() > 1 { ", …" } else { "" },
    ))
}

/// A launch that was refused or that faulted.
pub(crate) fn of_run(
    error: RunError,
    plan: &Plan,
    planned: &PlannedLaunch,
    loaded: &Loaded,
    program: &Program,
) -> Report {
    match error {
        RunError::Launch(error) => Report::new(error.to_string())
            .at(launch_place(&error, &planned.places))
            .fact(format!("the kernel is {}", signature(program)))
            .fact(format!("the launch has {}", arguments(plan, planned)))
            .maybe_hint(launch_hint(&error, program)),
        RunError::Fault(fault) => of_fault(&fault, plan, loaded),
        stopped @ RunError::Stopped { .. } => {
            Report::new(stopped.to_string()).at(&planned.places.launch)
        }
    }
}

/// The part of a launch that is refused.
fn launch_place<'a>(error: &LaunchError, places: &'a LaunchPlaces) -> &'a Anchor {
    let cluster = || places.cluster.as_ref().unwrap_or(&places.grid);
    match error {
        LaunchError::Extent { what: "grid", .. } | LaunchError::GridSize { .. } => &places.grid,
        LaunchError::Extent { .. }
        | LaunchError::Threads { .. }
        | LaunchError::RequiredBlock { .. } => &places.block,
        LaunchError::RequiredCluster { .. }
        | LaunchError::ClusterSize { .. }
        | LaunchError::PartialCluster { .. } => cluster(),
        LaunchError::SharedMemory { .. } => places.shared_bytes.as_ref().unwrap_or(&places.launch),
        LaunchError::ArgumentType { index, .. } => {
            places.arguments.get(*index).unwrap_or(&places.launch)
        }
        LaunchError::ArgumentCount { .. }
        | LaunchError::NoCluster
        | LaunchError::Allocation(_)
        | LaunchError::Memory { .. }
        | LaunchError::Counts(_)
        | LaunchError::Initializer { .. } => &places.launch,
    }
}

/// Returns advice for a launch that is refused.
fn launch_hint(error: &LaunchError, program: &Program) -> Option<String> {
    if let &LaunchError::Extent { what: "grid", extent, limit, .. } = error
        && extent > limit
    {
        return Some(
            "CUDA allows no more; `beyond_cuda = true` in a launch file's [[launch]] counts such a \
             grid all the same"
                .to_owned(),
        );
    }
    let LaunchError::ArgumentType { index, .. } = error else { return None };
    let parameter = program.parameters().get(*index).filter(|parameter| parameter.is_array)?;
    Some(format!(
        "pass the {} bytes of a structure as its members, struct:{{u32:5,f32:1.0,ptr:arg0}}, or as \
         bytes:0x…; in a launch file as {{ struct = [{{ u32 = 5 }}, \"buffer\"] }} or \
         {{ bytes = \"0x…\" }}",
        parameter.bytes
    ))
}

fn signature(program: &Program) -> String {
    let parameter = |parameter: &Parameter| {
        let ty = format!("{:?}", parameter.ty).to_lowercase();
        match parameter.is_array {
            true => format!("{ty}[{} bytes]", parameter.bytes),
            false => ty,
        }
    };
    let parameters: Vec<String> = program.parameters().iter().map(parameter).collect();
    format!("{}({})", readable(program.kernel()), parameters.join(", "))
}

fn arguments(plan: &Plan, planned: &PlannedLaunch) -> String {
    use crate::input::plan::PlannedArgument::{Pointer, Scalar, Structure};
    let argument = |argument: &_| match argument {
        Pointer(pointer) => match (&plan.buffers[pointer.buffer].name, pointer.offset) {
            (name, 0) => format!("buffer {name}"),
            (name, offset) => format!("buffer {name}+{offset}"),
        },
        Scalar { ty, .. } => ty.name().to_owned(),
        Structure(structure) => format!("structure of {} bytes", structure.size_bytes()),
    };
    let arguments: Vec<String> = planned.arguments.iter().map(argument).collect();
    let [x, y, z] = planned.block;
    format!("arguments ({}) and blocks of {x} x {y} x {z} threads", arguments.join(", "))
}

fn of_fault(fault: &Fault, plan: &Plan, loaded: &Loaded) -> Report {
    let report = fault_report(fault, loaded);
    if let FaultKind::OutOfBounds { nearest: Some(nearest), .. } = &fault.kind
        && let Some(buffer) = plan.buffers.iter().find(|buffer| buffer.name == nearest.name)
    {
        return report.fact(format!(
            "buffer {} holds {} elements of {}, {} bytes, at {:#x}",
            buffer.name,
            buffer.len,
            buffer.ty.name(),
            nearest.bytes,
            nearest.address
        ));
    }
    report
}

/// A kernel's fault, with its places in the PTX and in the CUDA source.
pub fn fault_report(fault: &Fault, loaded: &Loaded) -> Report {
    let mut report = match &fault.instruction {
        Some(site) => loaded.source.report(site.span.range(), fault.kind.to_string()),
        None => Report::new(fault.kind.to_string()),
    };
    let triple = |[x, y, z]: [u32; 3]| format!("({x}, {y}, {z})");
    let mut place = format!("kernel {}, CTA {}", readable(&fault.kernel), triple(fault.cta));
    if let Some(thread) = fault.thread {
        place += &format!(", thread {}", triple(thread));
    }
    report = report.fact(place);
    if let Some(location) = fault.instruction.as_ref().and_then(|site| site.location) {
        report = report.fact(cuda_line(loaded, location));
    }
    report.maybe_hint(hint(&fault.kind).map(str::to_owned))
}

/// A place in the CUDA source, with the calls that were inlined there.
pub fn cuda_line(loaded: &Loaded, location: Location) -> String {
    let place = |at: Location| format!("{}:{}:{}", cuda_file(loaded, at), at.line, at.column);
    let frames = loaded.module.frames(location).map(|frame| place(frame.location));
    format!("CUDA source {}", frames.collect::<Vec<_>>().join(", inlined at "))
}

/// The name of the CUDA file of a place.
pub fn cuda_file(loaded: &Loaded, location: Location) -> &str {
    loaded.module.file_name(location.file).unwrap_or("?")
}

/// Global addresses below this are null pointers with an offset.
const NULL_PAGE: u64 = 1 << 16;

fn hint(kind: &FaultKind) -> Option<&'static str> {
    match kind {
        FaultKind::OutOfBounds { address: ..NULL_PAGE, nearest: Some(_), .. } => {
            Some("a pointer is null: an argument, or what malloc returned when the heap was full")
        }
        FaultKind::OutOfBounds { nearest: Some(_), .. } => Some(
            "make the buffer longer, or check the grid and the sizes that are passed as arguments",
        ),
        FaultKind::OutOfBounds { .. } => {
            Some("check the index, and the dynamic shared memory of the launch")
        }
        FaultKind::Misaligned { .. } => {
            Some("vector accesses need addresses that are multiples of the whole vector's size")
        }
        FaultKind::BudgetExhausted { .. } => {
            Some("if it ends eventually, as a large grid does, raise the limit with --budget")
        }
        FaultKind::BarrierDeadlock { .. } | FaultKind::DivergentBarrier => {
            Some("every thread of the block must reach the same barrier")
        }
        FaultKind::WarpDeadlock { .. } => {
            Some("every thread that the instruction's mask names must reach it")
        }
        FaultKind::WarpgroupDeadlock { .. } => Some(
            "launch whole warpgroups of 128 threads, and keep branches away from their instructions",
        ),
        FaultKind::CtaExited { .. } => {
            Some("let the threads of the cluster meet at a barrier before they exit")
        }
        FaultKind::ClusterDeadlock { .. } => {
            Some("every thread of the cluster must reach the barrier")
        }
        FaultKind::MbarrierDeadlock { passed: 2.., .. } => Some(
            "who waits by parity and looks only when the next phase is over, too, waits for one more: \
             let each phase wait for the threads that wait for it",
        ),
        FaultKind::MbarrierDeadlock { .. } => {
            Some("compare the count that it was initialised with to the threads that arrive")
        }
        FaultKind::Trap => Some("the kernel stops itself here, often by a failed assertion"),
        FaultKind::PartialWarp { .. } => {
            Some("launch whole warps, and keep branches away from warp-wide instructions")
        }
        FaultKind::StackOverflow { .. } => {
            Some("if the recursion ends eventually, give threads more stack with --stack")
        }
        FaultKind::TooMuchPrinted { .. } => {
            Some("is this loop endless? With --schedule ordered, blocks hand on their text sooner")
        }
        FaultKind::TooManyCopies { .. } => Some("wait for the copies of each round of the loop"),
        FaultKind::TensorMemoryBounds { .. } => Some(
            "allocate as many columns as the matrices take, and add no lanes to a warp's address but its own",
        ),
        FaultKind::TensorMemoryDeadlock => {
            Some("free columns before more than 512 are asked for, and let both CTAs of a pair ask")
        }
        FaultKind::TensorMemoryLeft { .. } => {
            Some("execute tcgen05.dealloc in one warp of the block before it ends")
        }
        FaultKind::NoPair { .. } => {
            Some("launch clusters of an even number of blocks, which meet before they exit")
        }
        FaultKind::CallDepth { .. } => Some("does the recursion end?"),
        FaultKind::EndlessText { .. } => Some("texts of printf and assert end in a zero byte"),
        FaultKind::BadFree { .. } => {
            Some("only what malloc of device code returned can be freed, and only once")
        }
        FaultKind::NotComputed { .. } => Some("count with --counting full"),
        FaultKind::ReadOnly { .. }
        | FaultKind::Unsupported { .. }
        | FaultKind::BadBarrier { .. }
        | FaultKind::UndefinedOperand { .. }
        | FaultKind::BadTarget { .. }
        | FaultKind::CallMismatch { .. }
        | FaultKind::Assertion { .. }
        | FaultKind::BadFormat { .. }
        | FaultKind::BadOperand { .. }
        | FaultKind::NotShared { .. }
        | FaultKind::OtherCta { .. }
        | FaultKind::Mbarrier { .. }
        | FaultKind::TensorMemoryPermit
        | FaultKind::ClusterArrivedTwice
        | FaultKind::ClusterWaitFirst => None,
    }
}
