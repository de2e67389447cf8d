//! Quantiles of measured errors by what binds, by generation and by back end.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::class::TimeClass;
use super::quantile::{Unit, central};

/// The committed quantiles. `evaluate tables` (`forecast/examples/evaluate`) writes them from the
/// committed times, and a test compares both.
const COMMITTED: &str = include_str!("../../data/interval-quantiles.csv");

/// The share of measured times that lie inside an interval: 4 of 5.
pub const COVERAGE: f64 = 0.8;

/// A measured time beside the simulated one, and what both are of.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredError {
    /// The family of the kernel. Its variants err alike.
    pub family: String,
    /// The GPU. Times of a family on one GPU are one group, and so are all times of a GPU for
    /// another generation.
    pub gpu: String,
    /// What the errors may depend on.
    pub kind: Kind,
    /// ln (measured / predicted).
    pub error: f64,
}

/// What the error of a simulated time may depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    /// What binds.
    pub class: TimeClass,
    /// The major number of the GPU's compute capability.
    pub capability: u32,
    /// The back end of the machine code, as `--machine` names it, if it is known.
    pub machine: Option<&'static str>,
}

/// The times that errors are taken from: those of a class, a generation, a back end, or of any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scope {
    /// What binds.
    pub class: Option<TimeClass>,
    /// The major number of the compute capability.
    pub capability: Option<u32>,
    /// The back end of the machine code.
    pub machine: Option<&'static str>,
}

impl Scope {
    /// The scopes that hold a time of some kind, the narrowest first and that of all times last.
    ///
    /// Generations come before classes. Most measured times are of Hopper, where errors are small,
    /// and say little of others: taken by class first, the published times of other GPUs were in
    /// half of their intervals.
    fn around(kind: Kind) -> Vec<Self> {
        let Kind { class, capability, machine } = kind;
        let (class, capability) = (Some(class), Some(capability));
        let mut all = vec![
            Self { class, capability, machine },
            Self { class, capability, machine: None },
            Self { class: None, capability, machine },
            Self { class: None, capability, machine: None },
            Self { class, capability: None, machine },
            Self { class, capability: None, machine: None },
            Self { class: None, capability: None, machine },
            Self::default(),
        ];
        all.dedup();
        all
    }
}

impl Scope {
    /// The units that it needs at least. Of few, the ends are the least error and the greatest one.
    /// A generation's may be those of one kernel that something else binds.
    fn least_units(self) -> usize {
        match (self.class, self.capability) {
            (None, Some(_)) => LEAST_OF_OTHER_CLASSES,
            _ => 0,
        }
    }
}

/// Of as many, the ends of an interval of 80 % are the second error from either side.
const LEAST_OF_OTHER_CLASSES: usize = 19;

/// The errors of a scope.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantiles {
    /// Their scope.
    pub scope: Scope,
    /// The number of times.
    pub times: usize,
    /// The number of groups: kernel families on a GPU.
    pub groups: usize,
    /// The number of GPUs.
    pub gpus: usize,
    /// The ends of the interval as factors of the predicted time, where there are enough: groups of
    /// one generation, or GPUs of any.
    pub factors: Option<(f64, f64)>,
}

/// The quantiles of all scopes that have a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    rows: Vec<Quantiles>,
}

/// Back ends, as the table names them.
const MACHINES: [&str; 2] = ["ptxas", "rules"];

const HEADER: &str = "bound_by,capability,machine,times,kernels,gpus,low,high";

impl Table {
    /// The committed table.
    #[must_use]
    pub fn committed() -> &'static Self {
        // A test makes sure that all of it is read.
        static TABLE: LazyLock<Table> =
            LazyLock::new(|| Table::from_csv(COMMITTED).unwrap_or_default());
        &TABLE
    }

    /// The quantiles of measured errors.
    #[must_use]
    pub fn of(errors: &[MeasuredError]) -> Self {
        type Groups<'a> = BTreeMap<(&'a str, &'a str), Vec<f64>>;
        let mut scopes: BTreeMap<Scope, Groups<'_>> = BTreeMap::new();
        for one in errors {
            for scope in Scope::around(one.kind) {
                let groups = scopes.entry(scope).or_default();
                groups.entry((&one.gpu, &one.family)).or_default().push(one.error);
            }
        }
        let quantiles = |(scope, groups): (Scope, Groups<'_>)| {
            let (times, count) = (groups.values().map(Vec::len).sum(), groups.len());
            let mut by_gpu: BTreeMap<&str, Unit> = BTreeMap::new();
            for ((gpu, _), errors) in groups {
                by_gpu.entry(gpu).or_default().push(errors);
            }
            let gpus = by_gpu.len();
            // What other generations say of a new one is what GPUs say of a new GPU.
            let units: Vec<Unit> = match scope.capability {
                Some(_) => by_gpu.into_values().flatten().map(|group| vec![group]).collect(),
                None => by_gpu.into_values().collect(),
            };
            // A prediction lies in its own interval, even where all measured times are longer.
            let ends = |(low, high): (f64, f64)| (low.exp().min(1.0), high.exp().max(1.0));
            let has_enough = units.len() >= scope.least_units();
            let factors = central(&units, COVERAGE).filter(|_| has_enough).map(ends);
            Quantiles { scope, times, groups: count, gpus, factors }
        };
        Self { rows: scopes.into_iter().map(quantiles).collect() }
    }

    /// All rows.
    #[must_use]
    pub fn rows(&self) -> &[Quantiles] {
        &self.rows
    }

    /// The quantiles for a time: those of the narrowest scope that has groups or GPUs enough. Where
    /// no time of its class or of its generation was measured, they are the widest of all scopes
    /// that hold it. The flag tells that case.
    #[must_use]
    pub fn find(&self, kind: Kind) -> Option<(Quantiles, bool)> {
        let has =
            |is_like: &dyn Fn(&Scope) -> bool| self.rows.iter().any(|row| is_like(&row.scope));
        let is_known = has(&|scope| scope.class == Some(kind.class))
            && has(&|scope| scope.capability == Some(kind.capability));
        let row = |scope: Scope| self.rows.iter().find(|row| row.scope == scope).copied();
        let mut usable =
            Scope::around(kind).into_iter().filter_map(row).filter(|row| row.factors.is_some());
        match is_known {
            true => usable.next().map(|row| (row, false)),
            false => {
                let width =
                    |row: &Quantiles| row.factors.map_or(0.0, |(low, high)| high.ln() - low.ln());
                let widest = usable.max_by(|a, b| width(a).total_cmp(&width(b)));
                widest.map(|row| (row, true))
            }
        }
    }

    /// The table as CSV.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let mut text = format!("{HEADER}\n");
        for Quantiles { scope, times, groups, gpus, factors } in &self.rows {
            let class = scope.class.map_or("any", TimeClass::name);
            let capability = scope.capability.map_or("any".to_owned(), |major| major.to_string());
            let machine = scope.machine.unwrap_or("any");
            let factors =
                factors.map_or(",".to_owned(), |(low, high)| format!("{low:.4},{high:.4}"));
            text += &format!("{class},{capability},{machine},{times},{groups},{gpus},{factors}\n");
        }
        text
    }

    /// Reads what [`Self::to_csv`] writes; lines that begin with `#` are comments. `None` of
    /// anything else.
    #[must_use]
    pub fn from_csv(text: &str) -> Option<Self> {
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        (lines.next()? == HEADER).then_some(())?;
        Some(Self { rows: lines.map(row).collect::<Option<_>>()? })
    }
}

fn row(line: &str) -> Option<Quantiles> {
    let cells: Vec<&str> = line.split(',').collect();
    let &[class, capability, machine, times, groups, gpus, low, high] = cells.as_slice() else {
        return None;
    };
    let number = |text: &str| text.parse().ok();
    let any = |text: &str| text == "any";
    let scope = Scope {
        class: if any(class) { None } else { Some(class.parse().ok()?) },
        capability: if any(capability) { None } else { Some(capability.parse().ok()?) },
        machine: if any(machine) { None } else { Some(back_end(machine)?) },
    };
    let factors = match (low, high) {
        ("", "") => None,
        (low, high) => Some((low.parse().ok()?, high.parse().ok()?)),
    };
    let (times, groups, gpus) = (number(times)?, number(groups)?, number(gpus)?);
    Some(Quantiles { scope, times, groups, gpus, factors })
}

/// The name of a back end as the table has it.
#[must_use]
pub fn back_end(name: &str) -> Option<&'static str> {
    MACHINES.into_iter().find(|machine| *machine == name)
}
