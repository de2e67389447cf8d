//! Quantiles of measured errors by what binds, by generation and by back end.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::class::TimeClass;
use super::quantile::central;

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
    /// The GPU. Times of a family on one GPU are one group.
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
    fn around(kind: Kind) -> Vec<Self> {
        let Kind { class, capability, machine } = kind;
        let (class, capability) = (Some(class), Some(capability));
        let mut all = vec![
            Self { class, capability, machine },
            Self { class, capability: None, machine },
            Self { class, capability: None, machine: None },
            Self { class: None, capability: None, machine },
            Self::default(),
        ];
        all.dedup();
        all
    }
}

/// The errors of a scope.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantiles {
    /// Their scope.
    pub scope: Scope,
    /// The number of times.
    pub times: usize,
    /// The number of groups: kernel families on a GPU.
    pub groups: usize,
    /// The ends of the interval as factors of the predicted time, where there are groups enough.
    pub factors: Option<(f64, f64)>,
}

/// The quantiles of all scopes that have a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    rows: Vec<Quantiles>,
}

/// Back ends, as the table names them.
const MACHINES: [&str; 2] = ["ptxas", "rules"];

const HEADER: &str = "bound_by,capability,machine,times,kernels,low,high";

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
                groups.entry((&one.family, &one.gpu)).or_default().push(one.error);
            }
        }
        let quantiles = |(scope, groups): (Scope, Groups<'_>)| {
            let groups: Vec<Vec<f64>> = groups.into_values().collect();
            // A prediction lies in its own interval, even where all measured times are longer.
            let ends = |(low, high): (f64, f64)| (low.exp().min(1.0), high.exp().max(1.0));
            Quantiles {
                scope,
                times: groups.iter().map(Vec::len).sum(),
                groups: groups.len(),
                factors: central(&groups, COVERAGE).map(ends),
            }
        };
        Self { rows: scopes.into_iter().map(quantiles).collect() }
    }

    /// All rows.
    #[must_use]
    pub fn rows(&self) -> &[Quantiles] {
        &self.rows
    }

    /// The quantiles for a time: those of the narrowest scope that has groups enough. Where no
    /// time of its class or of its generation was measured, they are the widest of all scopes that
    /// hold it. The flag tells that case.
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
        for Quantiles { scope, times, groups, factors } in &self.rows {
            let class = scope.class.map_or("any", TimeClass::name);
            let capability = scope.capability.map_or("any".to_owned(), |major| major.to_string());
            let machine = scope.machine.unwrap_or("any");
            let factors =
                factors.map_or(",".to_owned(), |(low, high)| format!("{low:.4},{high:.4}"));
            text += &format!("{class},{capability},{machine},{times},{groups},{factors}\n");
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
    let &[class, capability, machine, times, groups, low, high] = cells.as_slice() else {
        return None;
    };
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
    Some(Quantiles { scope, times: times.parse().ok()?, groups: groups.parse().ok()?, factors })
}

/// The name of a back end as the table has it.
#[must_use]
pub fn back_end(name: &str) -> Option<&'static str> {
    MACHINES.into_iter().find(|machine| *machine == name)
}
