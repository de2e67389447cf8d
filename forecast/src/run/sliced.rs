//! The launches of a plan, made ready to execute what their counts depend on and nothing else.
//!
//! A launch may read what an earlier one of the file has written. The buffers that some launch
//! needs the contents of are therefore found for the file as a whole: a launch computes what it
//! writes to them, and all other buffers have addresses and no memory.

use gpucast_buffers::init::Init;
use gpucast_interpreter::{
    Buffers, ClassEffort, DeviceMemory, Options, Program, Reach, Slice, Slicer, prepare,
};

use super::execute::{self, Loaded};
use super::textures;
use crate::failure::Report;
use crate::input::kernel_name;
use crate::input::plan::{Buffer, Plan};

/// The code of the note about buffers without contents (docs/codes.md).
const UNSTATED: &str = "unstated-contents";

/// The memory and the programs of a plan's launches.
pub(super) struct Sliced {
    pub(super) memory: DeviceMemory,
    pub(super) programs: Vec<Program>,
    /// The same programs for CTAs that stand for others, or the reasons why none does; empty where
    /// no effort is made.
    pub(super) followed: Vec<Result<Program, String>>,
    /// True if the slices guess what lies where in shared memory.
    pub(super) is_guess: bool,
    /// The note about buffers without contents that counts depend on.
    pub(super) unstated: Option<String>,
}

/// The places of values in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SharedMemory {
    /// Needed loads find nothing that copies write: a guess.
    Apart,
    Together,
}

/// Reason why a plan's launches are not sliced.
pub(super) enum NotSliced {
    /// Everything has to be executed.
    Because(String),
    /// The slices' buffers cannot be made.
    Failed(Report),
}

impl From<Report> for NotSliced {
    fn from(report: Report) -> Self {
        Self::Failed(report)
    }
}

/// Slices `programs`, those of a plan's launches.
pub(super) fn slice(
    plan: &Plan,
    loaded: &Loaded,
    programs: &[Program],
    options: &Options,
    effort: Option<ClassEffort>,
    shared: SharedMemory,
) -> Result<Sliced, NotSliced> {
    let because = |why: String| NotSliced::Because(why);
    for program in programs {
        if let Some(reason) = program.not_sliced_because() {
            return Err(because(format!("{}: {reason}", program.kernel())));
        }
    }
    if options.skip_bad_accesses {
        return Err(because("bad accesses are left out".to_owned()));
    }
    let mut memory = DeviceMemory::with_address_bits(loaded.module.address_bits);
    for buffer in &plan.buffers {
        if buffer.init == Init::Lent {
            return Err(because(format!("buffer {} belongs to the caller", buffer.name)));
        }
        memory
            .reserve(&buffer.name, buffer.bytes())
            .map_err(|error| Report::new(error.to_string()).at(&buffer.anchor))?;
    }
    textures::create(plan, &loaded.module, &mut memory)?;
    let mut cases = Vec::new();
    for (planned, program) in plan.launches.iter().zip(programs) {
        // A launch that is refused is refused with more to say when it is its turn.
        let refused = |error| because(format!("{}: {error}", program.kernel()));
        prepare(program, &mut memory, options).map_err(refused)?;
        let slicer = Slicer::new(&loaded.module, program);
        let slicer = match shared {
            SharedMemory::Apart => slicer,
            SharedMemory::Together => slicer.together(),
        };
        let launch = execute::device_launch(plan, planned, program, &memory);
        let reach = slicer.reach(&launch, &memory).map_err(refused)?;
        cases.push((slicer, launch, reach));
    }
    // Arguments lead to variables of later launches, too, once these have addresses.
    for (slicer, launch, reach) in &mut cases {
        let refused = |error| because(format!("{}: {error}", slicer.kernel()));
        *reach = slicer.reach(launch, &memory).map_err(refused)?;
    }
    let cases: Vec<(Slicer<'_>, Reach)> =
        cases.into_iter().map(|(slicer, _, reach)| (slicer, reach)).collect();
    let Fixpoint { slices, wanted, before } = fixpoint(&cases);
    let unstated = unstated(plan, &memory, &before);
    hold(plan, &mut memory, &wanted)?;
    let (mut sliced, mut followed) = (Vec::new(), Vec::new());
    for ((planned, program), slice) in plan.launches.iter().zip(programs).zip(&slices) {
        // What could be made as a whole can be made in part.
        let part = || {
            let part = program.sliced(&loaded.module, &loaded.source.text, slice);
            part.map_err(|error| because(error.to_string()))
        };
        sliced.push(part()?);
        if let Some(effort) = effort {
            let ctas = planned.grid.iter().map(|&extent| u128::from(extent)).product();
            followed.push(match effort.allows(ctas) {
                Ok(()) => part()?.followed(),
                Err(because) => Err(because),
            });
        }
    }
    let is_guess = slices.iter().any(Slice::tells_shared_places_apart);
    Ok(Sliced { memory, programs: sliced, followed, is_guess, unstated })
}

/// The note about buffers whose contents nobody has stated, and which may decide what the first
/// launch does: how often its loops run, or where it goes. Where a register leads to one buffer and
/// then to another, both are named.
fn unstated(plan: &Plan, memory: &DeviceMemory, wanted: &Buffers) -> Option<String> {
    // Of pointers that lead anywhere nothing can be said.
    if wanted.contains(usize::MAX) {
        return None;
    }
    let index = |name: &str| memory.buffers().position(|(one, _, _)| one == name);
    let is_wanted = |buffer: &&Buffer| {
        buffer.init == Init::Unstated
            && buffer.pointers.is_empty()
            && index(&buffer.name).is_some_and(|at| wanted.contains(at))
    };
    let names: Vec<&str> =
        plan.buffers.iter().filter(is_wanted).map(|buffer| buffer.name.as_str()).collect();
    let kernel = kernel_name::readable(&plan.launches.first()?.kernel);
    (!names.is_empty()).then(|| {
        format!(
            "[{UNSTATED}] {kernel}: counts may depend on the contents of {}; none are stated, so \
             they are zeros",
            names.join(", "),
        )
    })
}

/// Slices that need nothing which another one leaves out.
struct Fixpoint {
    /// Those of the launches.
    slices: Vec<Slice>,
    /// The buffers that any of them needs the contents of.
    wanted: Buffers,
    /// The buffers whose contents from before it decide what the first launch does.
    before: Buffers,
}

fn fixpoint(cases: &[(Slicer<'_>, Reach)]) -> Fixpoint {
    let mut wanted = Buffers::default();
    let mut before = None;
    loop {
        let slices: Vec<Slice> =
            cases.iter().map(|(slicer, reach)| slicer.slice(reach, &wanted)).collect();
        let of_first = || slices.first().map(|it| it.buffers.clone()).unwrap_or_default();
        let before = before.get_or_insert_with(of_first);
        let grown = slices.iter().fold(false, |grown, slice| wanted.add(&slice.buffers) | grown);
        if !grown {
            return Fixpoint { before: std::mem::take(before), slices, wanted };
        }
    }
}

/// Gives the wanted buffers their contents. Those of the others are checked as far as that needs no
/// memory.
fn hold(plan: &Plan, memory: &mut DeviceMemory, wanted: &Buffers) -> Result<(), Report> {
    let index = |name: &str| memory.buffers().position(|(one, _, _)| one == name);
    let wanted_ones: Vec<_> = plan
        .buffers
        .iter()
        .filter(|buffer| index(&buffer.name).is_some_and(|at| wanted.contains(at)))
        .collect();
    execute::ask_for(wanted_ones.iter().copied())?;
    let fresh =
        memory.hold(|at| wanted.contains(at)).map_err(|error| Report::new(error.to_string()))?;
    for buffer in &plan.buffers {
        let outcome = if fresh.contains(&buffer.name) {
            let bytes = memory.bytes_mut(&buffer.name).unwrap_or_default();
            buffer.init.fill(buffer.ty, bytes, &plan.folder)
        } else {
            buffer.init.verify(buffer.ty, buffer.len, &plan.folder)
        };
        outcome.map_err(|error| Report::new(error.to_string()).at(&buffer.anchor))?;
    }
    let filled = plan.buffers.iter().filter(|buffer| fresh.contains(&buffer.name));
    execute::point(filled, plan, memory)
}
