//! Turns samples and counts into features: accesses with the same pattern become one.

use std::collections::BTreeMap;

use gpucast_ptx_frontend::module::Location;

use super::code::FeatureCode;
use super::footprint::{Footprint, Footprints};
use super::kind::{AccessDirection, ElementType, MemorySpace};
use super::pattern::{Point, Stride, Strides, fit, offset};
use super::recorder::{AccessSample, lanes};
use super::{AccessPattern, Buffer, Features, MemoryAccess, OperationCount};
use crate::row_key::RowKey;
use crate::table::{BaseTable, Row};

/// A thread's first access.
#[derive(Clone, Copy, Debug)]
struct Reference {
    ctaid: [u32; 3],
    thread: [u32; 3],
    address: u64,
}

/// The samples of one memory instruction in one space, from the sampled CTAs.
#[derive(Clone, Debug, Default)]
pub(super) struct Sampled {
    lane_bytes: u32,
    /// The strides within a block; the same in all of them.
    local: Option<Strides>,
    /// One thread of each block, with its address.
    references: Vec<Reference>,
    /// The distances that a warp has moved after 1, 2, 4, … executions.
    moved: Vec<Option<i64>>,
    /// True if warps, blocks or lanes moved differently.
    moved_apart: bool,
    /// Bytes of shared memory that any block touched.
    touched_bytes: Vec<u64>,
}

impl Sampled {
    /// Takes over a block's samples.
    pub(super) fn add(&mut self, ctaid: [u32; 3], block: [u32; 3], sample: &AccessSample) {
        let [x, y, _] = block;
        let thread = |warp: u32, lane: usize| {
            let index = warp * 32 + lane as u32;
            [index % x, index / x % y, index / x / y]
        };
        let mut points: Vec<Point> = Vec::new();
        for warp in &sample.warps {
            let own = lanes(warp.lanes).map(|lane| (thread(warp.warp, lane), warp.addresses[lane]));
            points.extend(own);
            self.moved_apart |= warp.apart;
            for (place, &moved) in warp.moved.iter().enumerate() {
                if self.moved.len() <= place {
                    self.moved.push(moved);
                }
                match (self.moved[place], moved) {
                    (Some(before), Some(now)) => self.moved_apart |= before != now,
                    (None, now) => self.moved[place] = now,
                    (_, None) => {}
                }
            }
        }
        // Warps run in turns; in the order of threads the first point is the same for each block.
        points.sort_unstable_by_key(|(thread, _)| [thread[2], thread[1], thread[0]]);
        let (Some(strides), Some(&(thread, address))) = (fit(&points, block), points.first())
        else {
            return;
        };
        self.lane_bytes = sample.lane_bytes;
        self.local = Some(match self.local {
            Some(before) => merged(before, strides),
            None => strides,
        });
        self.references.push(Reference { ctaid, thread, address });
        let words = sample.touched_bytes.len().max(self.touched_bytes.len());
        self.touched_bytes.resize(words, 0);
        for (all, touched) in self.touched_bytes.iter_mut().zip(&sample.touched_bytes) {
            *all |= touched;
        }
    }

    fn pattern(&self, grid: [u32; 3]) -> AccessPattern {
        let apart = self.moved_apart;
        let local = self.local.filter(|_| !apart).unwrap_or(Strides::Irregular);
        let global = match local {
            Strides::Affine(strides) => {
                // The address of thread 0, 0, 0 of each block, even if it takes no part.
                let origin = |one: &Reference| {
                    (one.ctaid, one.address.wrapping_sub(offset(one.thread, &strides)))
                };
                let origins: Vec<Point> = self.references.iter().map(origin).collect();
                fit(&origins, grid).unwrap_or(Strides::Irregular)
            }
            Strides::Irregular => Strides::Irregular,
        };
        // Later execution 2^i lies 2^i steps on.
        let step = self.moved.first().copied().flatten();
        let is_step = |(place, moved): (usize, &Option<i64>)| {
            moved.is_none_or(|moved| Some(moved) == step.map(|step| step << place))
        };
        let steady = !apart && self.moved.iter().enumerate().all(is_step);
        AccessPattern { local, global, step_bytes: step.filter(|_| steady) }
    }
}

/// The strides of two blocks together: a stride that one could not see, the other may.
fn merged(one: Strides, other: Strides) -> Strides {
    let (Strides::Affine(one), Strides::Affine(other)) = (one, other) else {
        return Strides::Irregular;
    };
    let mut all = one;
    for axis in 0..3 {
        all[axis] = match (one[axis], other[axis]) {
            (Stride::Unobserved, seen) | (seen, Stride::Unobserved) => seen,
            (before, now) if before == now => now,
            _ => return Strides::Irregular,
        };
    }
    Strides::Affine(all)
}

/// The key of accesses that a model treats as one.
type Group = (MemorySpace, AccessDirection, Option<String>, ElementType, Strides, Strides);

/// All results as features.
pub(super) fn gather(
    code: &FeatureCode,
    sampled: &BTreeMap<u32, Sampled>,
    footprints: &Footprints,
    table: &BaseTable,
    buffers: &[Buffer],
) -> Features {
    let blocks = extent(code.grid);
    let threads = extent(code.block);
    let sub_groups_per_group = threads.div_ceil(32);
    let mut groups = BTreeMap::<Group, Members>::new();
    let mut operations = BTreeMap::<(&'static str, ElementType), OperationCount>::new();
    let mut barriers = 0;
    for row in &table.rows {
        let Some(instruction) = code.instructions.get(row.instruction as usize) else { continue };
        if instruction.is_barrier {
            barriers += row.thread_executions;
        }
        if let Some((name, element, count)) = instruction.operation {
            let of = OperationCount { operation: name, element, sub_groups: 0, work_items: 0 };
            let total = operations.entry((name, element)).or_insert(of);
            total.sub_groups += u128::from(count) * row.warp_executions;
            total.work_items += u128::from(count) * row.thread_executions;
        }
        for counts in &row.memory {
            let Some(space) = MemorySpace::of(counts.space) else { continue };
            let direction = AccessDirection::of(counts.kind);
            let key = RowKey::new(row.instruction, counts.space, counts.kind);
            let found = sampled.get(&key.index());
            let lane_bytes = found.map_or(0, |found| found.lane_bytes);
            let element = instruction.element(lane_bytes);
            let mut pattern = found.map(|found| found.pattern(code.grid));
            if space == MemorySpace::Private {
                pattern = None;
            }
            let buffer = match (space, found) {
                (MemorySpace::Global, Some(found)) => found
                    .references
                    .first()
                    .and_then(|reference| buffer_of(buffers, reference.address)),
                _ => None,
            };
            let irregular = Strides::Irregular;
            let (local, global) =
                pattern.map_or((irregular, irregular), |pattern| (pattern.local, pattern.global));
            let key = (space, direction, buffer, element, local, global);
            let members = groups.entry(key).or_default();
            members.add(row, instruction.access, counts, lane_bytes, element, pattern, found);
        }
    }
    let accesses = groups
        .into_iter()
        .map(|((space, direction, buffer, element, local, global), mut members)| {
            members.instructions.sort_unstable();
            members.instructions.dedup();
            let footprint = members.footprint(space, element, footprints, blocks);
            MemoryAccess {
                space,
                direction,
                buffer,
                element,
                pattern: AccessPattern { local, global, step_bytes: members.step_bytes() },
                sub_groups: members.sub_groups,
                work_items: members.work_items,
                footprint,
                instructions: members.instructions,
                machine: None,
                ptx_lines: members.ptx_lines,
                cuda_lines: members.cuda_lines,
            }
        })
        .collect();
    Features {
        kernel: code.kernel.clone(),
        grid: code.grid,
        block: code.block,
        groups: blocks,
        sub_groups: u128::from(blocks) * u128::from(sub_groups_per_group),
        work_items: u128::from(blocks) * u128::from(threads),
        accesses,
        operations: operations.into_values().collect(),
        barriers_per_work_item: barriers as f64 / (blocks * threads).max(1) as f64,
        machine_instructions: None,
    }
}

fn extent(extents: [u32; 3]) -> u64 {
    extents.iter().map(|&extent| u64::from(extent)).product()
}

/// The name of the buffer that holds an address.
fn buffer_of(buffers: &[Buffer], address: u64) -> Option<String> {
    let holds = |buffer: &&Buffer| {
        address.checked_sub(buffer.address).is_some_and(|offset| offset < buffer.bytes)
    };
    buffers.iter().find(holds).map(|buffer| buffer.name.clone())
}

/// The instructions of a group.
#[derive(Default)]
struct Members {
    /// The places of the instructions among those that access memory.
    places: Vec<usize>,
    /// The instructions themselves.
    instructions: Vec<u32>,
    sub_groups: u128,
    work_items: u128,
    steps: Vec<Option<i64>>,
    touched_bytes: Vec<u64>,
    ptx_lines: Vec<u32>,
    cuda_lines: Vec<Location>,
}

impl Members {
    #[expect(clippy::too_many_arguments, reason = "all of it belongs to one row of the table")]
    fn add(
        &mut self,
        row: &Row,
        place: Option<u32>,
        counts: &crate::counts::MemoryCounts,
        lane_bytes: u32,
        element: ElementType,
        pattern: Option<AccessPattern>,
        found: Option<&Sampled>,
    ) {
        self.places.extend(place.map(|place| place as usize));
        self.instructions.push(row.instruction);
        let elements_of_lane = u128::from(lane_bytes / element.bytes().max(1)).max(1);
        self.sub_groups += counts.requests * elements_of_lane;
        self.work_items += counts.requested_bytes / u128::from(element.bytes().max(1));
        self.steps.push(pattern.and_then(|pattern| pattern.step_bytes));
        if let Some(found) = found {
            let words = found.touched_bytes.len().max(self.touched_bytes.len());
            self.touched_bytes.resize(words, 0);
            for (all, touched) in self.touched_bytes.iter_mut().zip(&found.touched_bytes) {
                *all |= touched;
            }
        }
        if !self.ptx_lines.contains(&row.description.line) {
            self.ptx_lines.push(row.description.line);
        }
        if let Some(location) = row.description.location
            && !self.cuda_lines.contains(&location)
        {
            self.cuda_lines.push(location);
        }
    }

    /// The step that all of them make.
    fn step_bytes(&self) -> Option<i64> {
        let first = self.steps.first().copied().flatten();
        first.filter(|_| self.steps.iter().all(|step| *step == first))
    }

    /// Distinct elements, of all blocks. Each block has its own shared memory; all are taken to
    /// touch as much as the sampled ones.
    fn footprint(
        &self,
        space: MemorySpace,
        element: ElementType,
        footprints: &Footprints,
        blocks: u64,
    ) -> Option<Footprint> {
        match space {
            MemorySpace::Global | MemorySpace::Constant => Some(footprints.union(&self.places)),
            MemorySpace::Local => {
                let bytes: u64 =
                    self.touched_bytes.iter().map(|word| u64::from(word.count_ones())).sum();
                let elements = bytes as f64 / f64::from(element.bytes()) * blocks as f64;
                (bytes > 0).then_some(Footprint { elements, exact: blocks == 1 })
            }
            MemorySpace::Private => None,
        }
    }
}
