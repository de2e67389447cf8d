//! One warp of a launch: its accesses in sectors and banks, and its lanes on their way.

use std::collections::BTreeMap;

use gpucast_counters::banks::{BankCell, BankGeometry};
use gpucast_counters::coalescing::{Coalescing, LINE_BYTES};
use gpucast_counters::{DeviceModel, LaneAccess};
use gpucast_forecast::input::cuda_source::CudaFile;
use gpucast_forecast::number::count;
use gpucast_forecast::run::warp_way::{AccessSite, Object, WarpChoice, Way};
use gpucast_plot::pictures::banks::{Banks, Cell, Phase};
use gpucast_plot::pictures::lanes::{Lanes, Step};
use gpucast_plot::pictures::sectors::{Line, Piece, Sectors};
use gpucast_plot::{DrawError, Scene};
use gpucast_ptx_frontend::module::Location;

use super::{short_name, titled};

/// A warp's way with what gives it names.
#[derive(Clone, Copy)]
pub struct WarpView<'a> {
    /// The kernel's name in the module.
    pub kernel: &'a str,
    /// The warp.
    pub choice: &'a WarpChoice,
    /// Its way.
    pub way: &'a Way,
    /// The files of the source.
    pub files: &'a BTreeMap<u32, CudaFile>,
}

/// The lines and sectors of some accesses to global memory, one below the other.
///
/// # Errors
///
/// If there is nothing to draw, the GPU moves no sectors, or the picture becomes too large.
pub fn access(
    view: WarpView<'_>,
    accesses: &[usize],
    device: &DeviceModel,
    title: Option<&str>,
) -> Result<Scene, DrawError> {
    let several = accesses.len() > 1;
    let scenes = accesses.iter().map(|&at| {
        let mut picture = view.sectors(at, device.coalescing)?;
        picture.title = titled(picture.title, title, several);
        picture.scene()
    });
    Ok(Scene::stacked(scenes.collect::<Result<Vec<Scene>, DrawError>>()?))
}

/// The banks of some accesses to shared memory, one below the other.
///
/// # Errors
///
/// As [`access`].
pub fn banks(
    view: WarpView<'_>,
    accesses: &[usize],
    device: &DeviceModel,
    title: Option<&str>,
) -> Result<Scene, DrawError> {
    let several = accesses.len() > 1;
    let scenes = accesses.iter().map(|&at| {
        let mut picture = view.banks(at, device.banks)?;
        picture.title = titled(picture.title, title, several);
        picture.scene()
    });
    Ok(Scene::stacked(scenes.collect::<Result<Vec<Scene>, DrawError>>()?))
}

/// The lanes of each step.
///
/// # Errors
///
/// If there is nothing to draw, or the picture becomes too large.
pub fn divergence(view: WarpView<'_>, title: Option<&str>) -> Result<Scene, DrawError> {
    let mut picture = view.lanes();
    picture.title = titled(picture.title, title, false);
    picture.scene()
}

impl WarpView<'_> {
    /// `Block 0,0,0, warp 1`.
    fn warp(&self) -> String {
        let [x, y, z] = self.choice.cta;
        format!("Block {x},{y},{z}, warp {}", self.choice.warp)
    }

    /// `line 12`, or the line of the PTX where no other is known.
    fn place(&self, location: Option<Location>, ptx_line: u32) -> String {
        match location {
            Some(location) => match self.files.get(&location.file) {
                Some(file) if self.files.len() > 1 => format!("{}:{}", file.name, location.line),
                _ => format!("line {}", location.line),
            },
            None => format!("PTX line {ptx_line}"),
        }
    }

    /// The title and the beginning of the subtitle of an access.
    fn of_access(&self, access: &LaneAccess, site: &AccessSite) -> (String, String) {
        let effect = access.effect();
        let place = self.place(site.location, site.line);
        let bytes = access.bytes_per_lane;
        let kernel = short_name(self.kernel);
        let unit = if bytes == 1 { "byte" } else { "bytes" };
        let title = format!("{kernel}, {place}: {effect} of {bytes} {unit} a lane");
        let execution = access.execution + 1;
        (title, format!("{}, execution {execution} of `{}`", self.warp(), site.text))
    }

    fn sectors(&self, at: usize, rules: Coalescing) -> Result<Sectors, DrawError> {
        let (access, site) = (&self.way.accesses[at], &self.way.sites[at]);
        let map = access.lines(rules).ok_or_else(|| {
            DrawError::Nothing("this GPU moves segments and no sectors (capability 1.x)".to_owned())
        })?;
        let sector_bytes = rules.sector.bytes();
        let (title, subtitle) = self.of_access(access, site);
        let lines = map.lines.iter().map(|touch| Line {
            name: named(&self.way.objects, access, touch.line * LINE_BYTES),
            sectors: touch.sectors,
            pieces: pieces(access, touch.line),
        });
        let sectors = if map.sectors == 1 { "sector" } else { "sectors" };
        let least = match map.sectors > map.ideal_sectors {
            true => format!("where {} would do", map.ideal_sectors),
            false => "the least for these bytes".to_owned(),
        };
        let (moved, touched) = (map.sectors, map.lines.len());
        let in_lines = if touched == 1 { "a line".to_owned() } else { format!("{touched} lines") };
        Ok(Sectors {
            title,
            subtitle: format!(
                "{subtitle}: {moved} {sectors} of {sector_bytes} bytes in {in_lines}, {least}"
            ),
            line_bytes: LINE_BYTES as u32,
            sector_bytes: sector_bytes as u32,
            lines: lines.collect(),
            notes: Vec::new(),
        })
    }

    fn banks(&self, at: usize, geometry: BankGeometry) -> Result<Banks, DrawError> {
        let (access, site) = (&self.way.accesses[at], &self.way.sites[at]);
        let map = geometry.map(access).ok_or_else(|| {
            let why = "the banks of capability 1.x serve lanes by another rule";
            DrawError::Nothing(why.to_owned())
        })?;
        let (title, subtitle) = self.of_access(access, site);
        let passes = if map.passes.passes == 1 { "pass" } else { "passes" };
        Ok(Banks {
            title,
            subtitle: format!(
                "{subtitle}: {} {passes} over the banks; {} without conflicts",
                map.passes.passes, map.passes.conflict_free
            ),
            banks: geometry.banks(),
            phases: phases(&map.cells),
            notes: Vec::new(),
        })
    }

    fn lanes(&self) -> Lanes {
        let Way { steps, all_steps, slots, blocks, has_ended, .. } = self.way;
        let mut rows: Vec<Step> = Vec::new();
        let mut last = None;
        for step in steps {
            let Some(block) = blocks.get(step.block as usize) else { continue };
            let name = self.place(block.location, block.line);
            // Neighbours of one line with the same lanes are one step for who reads the source.
            let same = last == Some((name.clone(), step.lanes));
            match rows.last_mut().filter(|_| same) {
                Some(row) => row.instructions += u64::from(block.instructions),
                None => rows.push(Step {
                    text: self.text(block.location).unwrap_or_default(),
                    name: name.clone(),
                    lanes: step.lanes,
                    instructions: u64::from(block.instructions),
                }),
            }
            last = Some((name, step.lanes));
        }
        let share = 100.0 * slots.used as f64 / slots.all.max(1) as f64;
        let mut notes = Vec::new();
        let shown = steps.len() as u64;
        if shown < *all_steps {
            notes.push(format!(
                "{} of {} blocks of instructions are shown; --steps chooses others.",
                count(shown),
                count(*all_steps)
            ));
        }
        if !has_ended {
            notes.push("The block did not get to its end.".to_owned());
        }
        Lanes {
            title: format!("Lanes of {}", short_name(self.kernel)),
            subtitle: format!(
                "{}: {share:.0} % of all lanes are on the way, over {} blocks of instructions",
                self.warp(),
                count(*all_steps)
            ),
            steps: rows,
            notes,
        }
    }

    /// The line of the source.
    fn text(&self, location: Option<Location>) -> Option<String> {
        let location = location?;
        let lines = self.files.get(&location.file)?.lines.as_ref()?;
        lines.get((location.line as usize).checked_sub(1)?).cloned()
    }
}

/// An address by the buffer or variable that holds it: `x + 128`.
fn named(objects: &[Object], access: &LaneAccess, address: u64) -> String {
    // The line may begin before the buffer does.
    let holds = |object: &&Object| {
        let end = object.address.saturating_add(object.bytes);
        object.space == access.space && address < end && address + LINE_BYTES > object.address
    };
    match objects.iter().find(holds) {
        Some(object) if address >= object.address => {
            format!("{} + {}", object.name, count(address - object.address))
        }
        Some(object) => format!("{} − {}", object.name, count(object.address - address)),
        None => format!("{address:#x}"),
    }
}

/// The bytes of a line that lanes access; lanes of equal addresses share a piece.
fn pieces(access: &LaneAccess, line: u64) -> Vec<Piece> {
    let first = line * LINE_BYTES;
    let mut pieces: Vec<Piece> = Vec::new();
    for (lane, address) in access.lanes() {
        let from = address.max(first);
        let end = (address + u64::from(access.bytes_per_lane)).min(first + LINE_BYTES);
        if from >= end {
            continue;
        }
        let piece =
            Piece { first: (from - first) as u32, bytes: (end - from) as u32, lanes: 1 << lane };
        let same = |one: &&mut Piece| (one.first, one.bytes) == (piece.first, piece.bytes);
        match pieces.iter_mut().find(same) {
            Some(one) => one.lanes |= piece.lanes,
            None => pieces.push(piece),
        }
    }
    pieces.sort_by_key(|piece| piece.first);
    pieces
}

/// The phases of an access with their cells, in order.
fn phases(cells: &[BankCell]) -> Vec<Phase> {
    let mut phases: BTreeMap<u32, Vec<Cell>> = BTreeMap::new();
    for cell in cells {
        phases.entry(cell.phase).or_default().push(Cell { bank: cell.bank, lanes: cell.lanes });
    }
    let several = phases.len() > 1;
    let name = |cells: &[Cell]| {
        let lanes = cells.iter().fold(0_u32, |all, cell| all | cell.lanes);
        let (first, last) = (lanes.trailing_zeros(), 31 - lanes.leading_zeros());
        if several { format!("lanes {first} to {last}") } else { "all lanes".to_owned() }
    };
    phases.into_values().map(|cells| Phase { name: name(&cells), cells }).collect()
}
