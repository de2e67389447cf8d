//! The features of each launch: accesses by pattern, arithmetic, synchronisation.

use gpucast_counters::features::{
    Features, MachineAccesses, MemoryAccess, MemorySpace, Stride, Strides,
};
use gpucast_forecast::Report;
use gpucast_forecast::number;
use gpucast_forecast::run::counting::Counted;
use gpucast_ptx_frontend::Module;
use serde::Serialize;

use super::View;
use crate::table::{Align, aligned};

/// The features of invocations that have the same.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FeaturesView {
    /// Number of invocations that have them.
    invocations: u64,
    accesses: Vec<AccessView>,
    operations: Vec<OperationView>,
    barriers_per_work_item: f64,
    thread_groups: u64,
    sub_groups: u128,
    work_items: u128,
}

#[derive(Clone, Debug, Serialize)]
struct AccessView {
    /// CUDA's name of the memory.
    space: &'static str,
    /// The name in features of cost models, which is OpenCL's.
    memory: &'static str,
    #[serde(rename = "type")]
    element: String,
    direction: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    buffer: Option<String>,
    /// Elements from thread to thread by axis; none where they are irregular.
    local_strides: Option<[Option<f64>; 3]>,
    /// Elements from block to block by axis.
    global_strides: Option<[Option<f64>; 3]>,
    /// Elements from one execution to the next.
    step: Option<f64>,
    access_to_footprint: Option<f64>,
    footprint: Option<f64>,
    footprint_kind: Option<&'static str>,
    work_items: u128,
    sub_groups: u128,
    /// The count of features: one of the two.
    count: u128,
    /// Accesses of the machine code that stand for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<Vec<MachineView>>,
    ptx_lines: Vec<u32>,
    cuda_lines: Vec<u32>,
}

#[derive(Clone, Debug, Serialize)]
struct MachineView {
    /// Elements that a thread accesses at once.
    width: f64,
    work_items: u128,
    sub_groups: u128,
}

#[derive(Clone, Debug, Serialize)]
struct OperationView {
    operation: &'static str,
    #[serde(rename = "type")]
    element: String,
    work_items: u128,
    sub_groups: u128,
}

impl AccessView {
    fn of(access: &MemoryAccess, module: &Module) -> Self {
        let size = access.element.bytes();
        let strides = |strides: Strides| match strides {
            Strides::Affine(strides) if access.space != MemorySpace::Private => {
                Some(strides.map(|stride| stride.elements(size)))
            }
            _ => None,
        };
        let own = access.cuda_lines.iter().filter_map(|&location| module.own_place(location));
        let mut cuda_lines: Vec<u32> = own.map(|place| place.line).collect();
        cuda_lines.sort_unstable();
        cuda_lines.dedup();
        Self {
            space: access.space.cuda_name(),
            memory: access.space.name(),
            element: access.element.to_string(),
            direction: access.direction.name(),
            buffer: access.buffer.clone(),
            local_strides: strides(access.pattern.local),
            global_strides: strides(access.pattern.global),
            step: access.pattern.step_bytes.and_then(|step| Stride::Bytes(step).elements(size)),
            access_to_footprint: access.access_to_footprint(),
            footprint: access.footprint.map(|footprint| footprint.elements),
            footprint_kind: access
                .footprint
                .map(|footprint| if footprint.exact { "exact" } else { "estimated" }),
            work_items: access.work_items,
            sub_groups: access.sub_groups,
            count: access.count(),
            machine: access.machine.as_ref().map(|all| {
                let of = |one: &MachineAccesses| MachineView {
                    width: f64::from(one.bytes) / f64::from(size.max(1)),
                    work_items: one.work_items,
                    sub_groups: one.sub_groups,
                };
                all.iter().map(of).collect()
            }),
            ptx_lines: access.ptx_lines.clone(),
            cuda_lines,
        }
    }

    /// Returns true if addresses say nothing: each thread has private memory of its own.
    fn has_no_pattern(&self) -> bool {
        self.memory == MemorySpace::Private.name()
    }

    /// `16,384 × 1 + 4,096 × 4`: issued by warps, and their width.
    fn machine_accesses(&self) -> String {
        let Some(machine) = &self.machine else { return "-".to_owned() };
        let of = |one: &MachineView| format!("{} × {}", number::count(one.sub_groups), one.width);
        match machine.as_slice() {
            [] => "0".to_owned(),
            all => all.iter().map(of).collect::<Vec<String>>().join(" + "),
        }
    }

    /// `{0:1, 1:2048}`; axes that have one index only are left out.
    fn strides(&self, strides: Option<[Option<f64>; 3]>, extents: [u32; 3]) -> String {
        match strides {
            None if self.has_no_pattern() => "-".to_owned(),
            None => "irregular".to_owned(),
            Some(strides) => {
                let shown: Vec<String> = (0..3)
                    .filter(|&axis| extents[axis] > 1)
                    .map(|axis| match strides[axis] {
                        Some(stride) => format!("{axis}:{stride}"),
                        None => format!("{axis}:?"),
                    })
                    .collect();
                format!("{{{}}}", shown.join("; "))
            }
        }
    }
}

impl FeaturesView {
    fn of((features, invocations): &(Features, u64), module: &Module) -> Self {
        let operation = |count: &gpucast_counters::features::OperationCount| OperationView {
            operation: count.operation,
            element: count.element.to_string(),
            work_items: count.work_items,
            sub_groups: count.sub_groups,
        };
        let executed = features.operations.iter().filter(|count| count.sub_groups > 0);
        Self {
            invocations: *invocations,
            accesses: features
                .accesses
                .iter()
                .map(|access| AccessView::of(access, module))
                .collect(),
            operations: executed.map(operation).collect(),
            barriers_per_work_item: features.barriers_per_work_item,
            thread_groups: features.groups,
            sub_groups: features.sub_groups,
            work_items: features.work_items,
        }
    }
}

pub(super) fn views(view: &View<'_>, counted: &Counted) -> Vec<FeaturesView> {
    let of = |features| FeaturesView::of(features, &view.loaded.module);
    counted.evidence.features.iter().flat_map(|all| all.iter()).map(of).collect()
}

/// A line for each access, and for each operation under its type.
pub(super) fn csv(view: &View<'_>) -> Result<String, Report> {
    let mut rows = Vec::new();
    for (index, counted) in view.counted.iter().enumerate() {
        let profile = &counted.profile;
        for features in views(view, counted) {
            let first = |invocations: u64| {
                vec![index.to_string(), profile.kernel.clone(), invocations.to_string()]
            };
            for access in &features.accesses {
                let number = |number: Option<f64>| {
                    number.map_or_else(String::new, |number| number.to_string())
                };
                let lines: Vec<String> = access.ptx_lines.iter().map(u32::to_string).collect();
                let mut row = first(features.invocations);
                row.extend([
                    format!("mem_access_{}", access.direction),
                    access.space.to_owned(),
                    access.element.clone(),
                    access.buffer.clone().unwrap_or_default(),
                    access.strides(access.local_strides, profile.block),
                    access.strides(access.global_strides, profile.grid),
                    number(access.step),
                    number(access.access_to_footprint),
                    number(access.footprint),
                    access.footprint_kind.unwrap_or_default().to_owned(),
                    access.work_items.to_string(),
                    access.sub_groups.to_string(),
                    lines.join(" "),
                ]);
                rows.push(row);
            }
            for operation in &features.operations {
                let mut row = first(features.invocations);
                row.extend([format!("op_{}", operation.operation), String::new()]);
                row.push(operation.element.clone());
                row.extend(std::iter::repeat_n(String::new(), 7));
                row.extend([
                    operation.work_items.to_string(),
                    operation.sub_groups.to_string(),
                    String::new(),
                ]);
                rows.push(row);
            }
        }
    }
    let header = [
        "launch",
        "kernel",
        "invocations",
        "feature",
        "space",
        "type",
        "buffer",
        "thread_strides",
        "block_strides",
        "step",
        "afr",
        "footprint",
        "footprint_kind",
        "threads",
        "warps",
        "ptx_lines",
    ];
    crate::csv::document(&header, &rows)
}

pub(super) fn text(view: &View<'_>, counted: &Counted) -> String {
    let mut text = String::new();
    for features in views(view, counted) {
        if !text.is_empty() {
            text.push('\n');
        }
        if counted.evidence.features.as_ref().is_some_and(|all| all.len() > 1) {
            text += &format!("{} invocations\n\n", number::count(features.invocations));
        }
        text += &of_features(&features, counted);
    }
    text
}

/// The tables of one set of features.
fn of_features(features: &FeaturesView, counted: &Counted) -> String {
    use Align::{Left, Right};
    let profile = &counted.profile;
    let header = [
        "space",
        "type",
        "",
        "buffer",
        "thread strides",
        "block strides",
        "step",
        "AFR",
        "footprint",
        "threads",
        "warps",
        "machine",
        "PTX line",
        "CUDA line",
    ];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for access in &features.accesses {
        let about = if access.footprint_kind == Some("estimated") && access.memory == "global" {
            "~"
        } else {
            ""
        };
        let real = |number: Option<f64>| {
            number
                .map_or_else(|| "-".to_owned(), |number| format!("{about}{}", number::real(number)))
        };
        let counted = |count: u128, is_counted: bool| {
            format!("{}{}", number::count(count), if is_counted { " *" } else { "  " })
        };
        let by_thread = access.memory == "global" && access.count == access.work_items;
        rows.push(vec![
            access.space.to_owned(),
            access.element.clone(),
            access.direction.to_owned(),
            access.buffer.clone().unwrap_or_else(|| "-".to_owned()),
            access.strides(access.local_strides, profile.block),
            access.strides(access.global_strides, profile.grid),
            access.step.map_or_else(|| "-".to_owned(), |step| step.to_string()),
            real(access.access_to_footprint),
            access.footprint.map_or_else(
                || "-".to_owned(),
                |elements| format!("{about}{}", number::count(elements.round() as u128)),
            ),
            counted(access.work_items, by_thread),
            counted(access.sub_groups, !by_thread),
            access.machine_accesses(),
            first_lines(&access.ptx_lines),
            first_lines(&access.cuda_lines),
        ]);
    }
    let mut columns =
        vec![Left, Left, Left, Left, Left, Left, Right, Right, Right, Right, Right, Right];
    columns.extend([Left, Left]);
    let has_machine_code = features.accesses.iter().any(|access| access.machine.is_some());
    if !has_machine_code {
        columns.remove(MACHINE);
        rows.iter_mut().for_each(|row| drop(row.remove(MACHINE)));
    }
    let mut text = aligned(0, &columns, &rows);
    text.push('\n');
    let mut rows = vec![["operation", "type", "threads", "warps"].map(str::to_owned).to_vec()];
    for operation in &features.operations {
        rows.push(vec![
            operation.operation.to_owned(),
            operation.element.clone(),
            number::count(operation.work_items),
            format!("{} *", number::count(operation.sub_groups)),
        ]);
    }
    text += &aligned(0, &[Left, Left, Right, Right], &rows);
    text += &format!(
        "\nbarriers that a thread meets {}, blocks {}, warps {}, threads {}\n",
        features.barriers_per_work_item,
        number::count(features.thread_groups),
        number::count(features.sub_groups),
        number::count(features.work_items),
    );
    text.push_str(
        "strides, steps and footprints are in elements; * marks the count that features of cost \
         models have; ~ marks estimates\n",
    );
    if has_machine_code {
        text.push_str(
            "machine: instructions that warps issue for the accesses × elements that a thread \
             accesses at once\n",
        );
    }
    text
}

/// The column of the machine's accesses.
const MACHINE: usize = 11;

/// `12, 15, 18 …`
fn first_lines(lines: &[u32]) -> String {
    let shown: Vec<String> = lines.iter().take(3).map(u32::to_string).collect();
    let more = if lines.len() > 3 { " …" } else { "" };
    format!("{}{more}", shown.join(", "))
}
