//! Counts as formulas: text, JSON and CSV.

use gpucast_counters::{Kind, Level};
use gpucast_forecast::Report;
use gpucast_forecast::number;
use gpucast_forecast::parametric::{
    Atom, LaunchFormulas, MetricFormula, ParametricCounts, Piece, Residue, SCHEMA, Sizes, Terms,
    in_words,
};
use serde::Serialize;

use super::table::{Align, aligned, wrapped};
use crate::Format;

/// Lists of names are this wide.
const WIDTH: usize = 100;

/// What is shown.
pub struct View<'a> {
    /// The formulas.
    pub counts: &'a ParametricCounts,
    /// The kernel as it was asked for.
    pub input: &'a str,
    /// The GPU whose counters are modelled.
    pub gpu: &'a str,
}

/// The formulas in the format asked for.
///
/// # Errors
///
/// If the result has a value that the form cannot hold, which no input brings about.
pub fn document(view: &View<'_>, format: Format) -> Result<String, Report> {
    match format {
        Format::Text => Ok(text(view)),
        Format::Json => super::json::document(&json(view)),
        Format::Csv => csv(view),
    }
}

fn text(view: &View<'_>) -> String {
    let counts = view.counts;
    let mut text = String::new();
    let sizes: Vec<String> = counts
        .names
        .iter()
        .zip(&counts.sizes)
        .map(|(name, sizes)| format!("{name} = {}", in_words(*sizes)))
        .collect();
    let largest: Vec<String> = counts
        .names
        .iter()
        .zip(&counts.largest)
        .map(|(name, &size)| format!("{name} = {}", number::count(size)))
        .collect();
    text.push_str(&wrapped("", 0, WIDTH, &format!("sizes: {}", sizes.join("; "))));
    let found = format!(
        "found at {} sizes, and compared at {} others; the largest: {}",
        number::count(counts.executed as u64),
        number::count(counts.held_back as u64),
        largest.join(", ")
    );
    text.push_str(&wrapped("", 0, WIDTH, &found));
    for launch in &counts.launches {
        text.push_str(&format!("\n{}\n{}\n", launch.kernel, "=".repeat(launch.kernel.len())));
        let mut rows = Vec::new();
        let mut zero = Vec::new();
        for metric in &launch.metrics {
            if is_zero(metric) {
                zero.push(metric.name);
                continue;
            }
            for (place, piece) in metric.pieces.iter().enumerate() {
                let name = if place == 0 { metric.name } else { "" };
                rows.push(vec![
                    name.to_owned(),
                    if place == 0 { kind(metric.kind).to_owned() } else { String::new() },
                    domain(counts, piece),
                    piece.formula.with_names(&counts.names).to_string(),
                ]);
            }
        }
        // A column without entries would only push the formulas away.
        if rows.iter().all(|row| row[2].is_empty()) {
            rows.iter_mut().for_each(|row| {
                row.remove(2);
            });
        }
        let columns = vec![Align::Left; rows.first().map_or(0, Vec::len)];
        text.push_str(&aligned(2, &columns, &rows));
        for (what, names) in [
            ("zero", zero),
            ("no formula found", launch.without.clone()),
            ("ratios, which follow from counts", launch.ratios.clone()),
        ] {
            if !names.is_empty() {
                text.push('\n');
                text.push_str(&wrapped("", 2, WIDTH, &format!("{what}: {}", names.join(", "))));
            }
        }
    }
    text
}

fn is_zero(metric: &MetricFormula) -> bool {
    metric.pieces.iter().all(|piece| piece.formula.terms.is_empty())
}

/// Sizes at which a formula holds, if these are not all.
fn domain(counts: &ParametricCounts, piece: &Piece) -> String {
    let mut parts = Vec::new();
    for (parameter, name) in counts.names.iter().enumerate() {
        let first = piece.first[parameter];
        match piece.last[parameter] {
            Some(last) if last == first => parts.push(format!("{name} = {first}")),
            Some(last) => parts.push(format!("{first} ≤ {name} ≤ {last}")),
            None if first > counts.sizes[parameter].first => {
                parts.push(format!("{name} ≥ {first}"));
            }
            None => {}
        }
        for residue in piece.residues.iter().filter(|it| it.parameter == parameter) {
            parts.push(format!("{name} mod {} = {}", residue.modulus, residue.residue));
        }
    }
    parts.join(", ")
}

pub(crate) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Exact => "exact",
        Kind::Measured => "measured",
        Kind::Modelled => "modelled",
        Kind::Estimated => "estimated",
    }
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    input: &'a str,
    gpu: &'a str,
    parameters: Vec<ParameterDocument<'a>>,
    /// Sizes that the formulas were found at.
    executed: usize,
    /// Sizes that they were compared at afterwards.
    held_back: usize,
    launches: Vec<LaunchDocument<'a>>,
}

#[derive(Serialize)]
struct ParameterDocument<'a> {
    name: &'a str,
    first: u64,
    step: u64,
    /// None is larger.
    last: u64,
    largest_executed: u64,
}

#[derive(Serialize)]
struct LaunchDocument<'a> {
    kernel: &'a str,
    metrics: Vec<MetricDocument<'a, PieceDocument<'a>>>,
    /// Metrics that need more than the pieces of the others say: residues of several parameters, or
    /// products of sizes that are divided.
    metrics_of_rows: Vec<MetricDocument<'a, RowsDocument<'a>>>,
    without_formula: Vec<&'static str>,
    ratios: Vec<&'static str>,
}

#[derive(Serialize)]
struct MetricDocument<'a, P> {
    name: &'a str,
    kind: Kind,
    level: Level,
    pieces: Vec<P>,
}

#[derive(Serialize)]
struct PieceDocument<'a> {
    /// The smallest size of each parameter.
    first: &'a [u64],
    /// The largest size of each parameter, where the piece ends.
    last: &'a [Option<u64>],
    /// The modulus and residue of the only parameter, where there is one.
    residue: Option<ResidueDocument>,
    formula: String,
    terms: Terms<'a>,
}

#[derive(Serialize)]
struct ResidueDocument {
    modulus: u64,
    residue: u64,
}

#[derive(Serialize)]
struct RowsDocument<'a> {
    /// The smallest size of each parameter.
    first: &'a [u64],
    /// The largest size of each parameter: where the piece ends, or all sizes do.
    last: Vec<u64>,
    /// The residues that sizes of the piece leave, all of them.
    residues: Vec<NamedResidue<'a>>,
    formula: String,
    terms: Terms<'a>,
}

#[derive(Serialize)]
struct NamedResidue<'a> {
    parameter: &'a str,
    modulus: u64,
    residue: u64,
}

/// True if the pieces of a metric have a residue of the only parameter at most, and no product of
/// sizes that is divided. Readers of the first documents understand no others.
fn is_plain(counts: &ParametricCounts, metric: &MetricFormula) -> bool {
    let has_product = |piece: &Piece| {
        let monomials = piece.formula.terms.iter().map(|(_, monomial)| monomial);
        let mut atoms = monomials.flat_map(|monomial| monomial.0.iter().map(|(atom, _)| atom));
        atoms.any(|atom| matches!(atom, Atom::Product { .. }))
    };
    let is_plain = |piece: &Piece| {
        !has_product(piece) && (piece.residues.is_empty() || counts.names.len() == 1)
    };
    metric.pieces.iter().all(is_plain)
}

fn json<'a>(view: &View<'a>) -> Document<'a> {
    let counts = view.counts;
    let piece = |piece: &'a Piece| PieceDocument {
        first: &piece.first,
        last: &piece.last,
        residue: piece
            .residues
            .first()
            .map(|it| ResidueDocument { modulus: it.modulus, residue: it.residue }),
        formula: piece.formula.with_names(&counts.names).to_string(),
        terms: piece.formula.as_data(&counts.names),
    };
    let named = |it: &Residue| NamedResidue {
        parameter: &counts.names[it.parameter],
        modulus: it.modulus,
        residue: it.residue,
    };
    let last = |(last, sizes): (&Option<u64>, &Sizes)| last.unwrap_or(sizes.largest());
    let of_rows = |piece: &'a Piece| RowsDocument {
        first: &piece.first,
        last: piece.last.iter().zip(&counts.sizes).map(last).collect(),
        residues: piece.residues.iter().map(named).collect(),
        formula: piece.formula.with_names(&counts.names).to_string(),
        terms: piece.formula.as_data(&counts.names),
    };
    let launch = |launch: &'a LaunchFormulas| LaunchDocument {
        kernel: &launch.kernel,
        metrics: launch
            .metrics
            .iter()
            .filter(|metric| is_plain(counts, metric))
            .map(|metric| of_metric(metric, piece))
            .collect(),
        metrics_of_rows: launch
            .metrics
            .iter()
            .filter(|metric| !is_plain(counts, metric))
            .map(|metric| of_metric(metric, of_rows))
            .collect(),
        without_formula: launch.without.clone(),
        ratios: launch.ratios.clone(),
    };
    let parameter = |((name, sizes), largest): ((&'a String, &Sizes), &u64)| ParameterDocument {
        name,
        first: sizes.first,
        step: sizes.step,
        last: sizes.largest(),
        largest_executed: *largest,
    };
    Document {
        schema: SCHEMA,
        input: view.input,
        gpu: view.gpu,
        parameters: counts
            .names
            .iter()
            .zip(&counts.sizes)
            .zip(&counts.largest)
            .map(parameter)
            .collect(),
        executed: counts.executed,
        held_back: counts.held_back,
        launches: counts.launches.iter().map(launch).collect(),
    }
}

fn of_metric<'a, P>(
    metric: &'a MetricFormula,
    piece: impl Fn(&'a Piece) -> P,
) -> MetricDocument<'a, P> {
    MetricDocument {
        name: metric.name,
        kind: metric.kind,
        level: metric.level,
        pieces: metric.pieces.iter().map(piece).collect(),
    }
}

fn csv(view: &View<'_>) -> Result<String, Report> {
    let header = ["launch", "kernel", "metric", "kind", "domain", "formula"];
    let mut rows = Vec::new();
    for (index, launch) in view.counts.launches.iter().enumerate() {
        for metric in &launch.metrics {
            for piece in &metric.pieces {
                rows.push(vec![
                    (index + 1).to_string(),
                    launch.kernel.clone(),
                    metric.name.to_owned(),
                    kind(metric.kind).to_owned(),
                    domain(view.counts, piece),
                    piece.formula.with_names(&view.counts.names).to_string(),
                ]);
            }
        }
    }
    super::csv::document(&header, &rows)
}
