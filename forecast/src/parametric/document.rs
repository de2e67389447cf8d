//! Formulas from the JSON document that holds them (`gpucast.counts/1`).
//!
//! Whoever has the document needs neither the kernel nor the launch file to count in a size.

use gpucast_counters::definitions::definition;
use gpucast_counters::{Kind, Level};
use gpucast_formulas::expression::{Atom, Expression, Monomial};
use gpucast_formulas::residues::Residue;
use gpucast_formulas::sizes::{LARGEST, Sizes};
use num_rational::BigRational;
use serde::Deserialize;

use super::{LaunchFormulas, MetricFormula, ParametricCounts, Piece};
use crate::failure::{Report, SourceText};

/// The schema of the documents.
pub const SCHEMA: &str = "gpucast.counts/1";

/// Formulas that were written before, and what they are of.
#[derive(Clone, Debug)]
pub struct StoredCounts {
    /// The kernel as it was asked for.
    pub input: String,
    /// The GPU whose counters are modelled.
    pub gpu: String,
    /// The formulas.
    pub counts: ParametricCounts,
}

impl StoredCounts {
    /// Reads a document.
    ///
    /// # Errors
    ///
    /// If the text is no such document, or contradicts itself.
    pub fn read(source: &SourceText) -> Result<Self, Report> {
        let wrong = |because: String| {
            let message = format!("{} has no formulas of counts: {because}", source.name);
            let hint =
                "gpucast counts KERNEL --parametric n --format json -o FILE.json writes some";
            Report::new(message).hint(hint)
        };
        let schema: Schema =
            serde_json::from_str(&source.text).map_err(|error| wrong(error.to_string()))?;
        if schema.schema != SCHEMA {
            return Err(wrong(format!("its schema is {}, and not {SCHEMA}", schema.schema)));
        }
        let document: Document =
            serde_json::from_str(&source.text).map_err(|error| wrong(error.to_string()))?;
        document.stored().map_err(wrong)
    }
}

#[derive(Deserialize)]
struct Schema {
    schema: String,
}

#[derive(Deserialize)]
struct Document {
    input: String,
    gpu: String,
    parameters: Vec<Parameter>,
    executed: usize,
    held_back: usize,
    launches: Vec<Launch>,
}

#[derive(Deserialize)]
struct Parameter {
    name: String,
    first: u64,
    step: u64,
    last: u64,
    largest_executed: u64,
}

#[derive(Deserialize)]
struct Launch {
    kernel: String,
    metrics: Vec<Metric>,
    #[serde(default)]
    metrics_of_rows: Vec<Metric>,
    without_formula: Vec<String>,
    ratios: Vec<String>,
}

#[derive(Deserialize)]
struct Metric {
    name: String,
    kind: Kind,
    level: Level,
    pieces: Vec<WrittenPiece>,
}

/// A piece of either list of metrics.
#[derive(Deserialize)]
struct WrittenPiece {
    first: Vec<u64>,
    last: Vec<Option<u64>>,
    /// That of the only parameter.
    residue: Option<WrittenResidue>,
    #[serde(default)]
    residues: Vec<WrittenResidue>,
    terms: Vec<Term>,
}

#[derive(Deserialize)]
struct WrittenResidue {
    /// The first one where it is not said.
    parameter: Option<String>,
    modulus: u64,
    residue: u64,
}

#[derive(Deserialize)]
struct Term {
    coefficient: String,
    factors: Vec<Factor>,
}

#[derive(Deserialize)]
struct Factor {
    parameter: String,
    plus: i64,
    divided_by: u64,
    power: u32,
    at_most: Option<AtMost>,
    times: Option<String>,
}

#[derive(Deserialize)]
struct AtMost {
    factor: u64,
    parameter: String,
}

impl Document {
    fn stored(self) -> Result<StoredCounts, String> {
        let names: Vec<String> =
            self.parameters.iter().map(|parameter| parameter.name.clone()).collect();
        for one in &self.parameters {
            let Parameter { name, first, step, last, .. } = one;
            if *first == 0 || *step == 0 || last < first || *last > LARGEST {
                return Err(format!("{name} has no sizes"));
            }
        }
        let sizes: Vec<Sizes> = self
            .parameters
            .iter()
            .map(|parameter| Sizes {
                first: parameter.first,
                step: parameter.step,
                last: parameter.last,
            })
            .collect();
        let reader = Reader { names: &names, sizes: &sizes };
        let launches = self
            .launches
            .into_iter()
            .map(|launch| reader.launch(launch))
            .collect::<Result<_, _>>()?;
        let largest = self.parameters.iter().map(|parameter| parameter.largest_executed).collect();
        let (executed, held_back) = (self.executed, self.held_back);
        let counts = ParametricCounts { names, sizes, launches, executed, held_back, largest };
        Ok(StoredCounts { input: self.input, gpu: self.gpu, counts })
    }
}

/// Reads what names parameters.
struct Reader<'a> {
    names: &'a [String],
    sizes: &'a [Sizes],
}

impl Reader<'_> {
    fn launch(&self, launch: Launch) -> Result<LaunchFormulas, String> {
        let all = launch.metrics.into_iter().chain(launch.metrics_of_rows);
        let mut metrics = all.map(|metric| self.metric(metric)).collect::<Result<Vec<_>, _>>()?;
        metrics.sort_by_key(|metric| metric.name);
        let names = |names: Vec<String>| -> Result<Vec<&'static str>, String> {
            names.iter().map(|name| known(name)).collect()
        };
        Ok(LaunchFormulas {
            kernel: launch.kernel,
            metrics,
            without: names(launch.without_formula)?,
            ratios: names(launch.ratios)?,
        })
    }

    fn metric(&self, metric: Metric) -> Result<MetricFormula, String> {
        let Metric { name, kind, level, pieces } = metric;
        let name = known(&name)?;
        let piece = |piece| self.piece(piece).map_err(|because| format!("{name}: {because}"));
        let pieces = pieces.into_iter().map(piece).collect::<Result<_, _>>()?;
        Ok(MetricFormula { name, kind, level, pieces })
    }

    fn piece(&self, piece: WrittenPiece) -> Result<Piece, String> {
        let WrittenPiece { first, last, residue, residues, terms } = piece;
        if first.len() != self.names.len() || last.len() != self.names.len() {
            return Err("a piece has not one first and one last size of each parameter".to_owned());
        }
        // Some documents write the end of all sizes where a piece has none of its own.
        let last = last.into_iter().zip(self.sizes);
        let own = |(last, sizes): (Option<u64>, &Sizes)| last.filter(|it| *it < sizes.largest());
        let last = last.map(own).collect();
        let all = residue.into_iter().chain(residues);
        let residues = all.map(|residue| self.residue(residue)).collect::<Result<_, _>>()?;
        let terms = terms.into_iter().map(|term| self.term(term)).collect::<Result<Vec<_>, _>>()?;
        Ok(Piece { first, last, residues, formula: Expression::new(terms) })
    }

    fn residue(&self, written: WrittenResidue) -> Result<Residue, String> {
        let WrittenResidue { parameter, modulus, residue } = written;
        let parameter = parameter.map_or(Ok(0), |name| self.place(&name))?;
        if residue >= modulus {
            return Err(format!("nothing leaves {residue} of {modulus}"));
        }
        Ok(Residue { parameter, modulus, residue })
    }

    fn term(&self, term: Term) -> Result<(BigRational, Monomial), String> {
        let Term { coefficient, factors } = term;
        let number = coefficient.parse().map_err(|_| format!("`{coefficient}` is no number"))?;
        let mut product = Monomial::default();
        for factor in factors {
            product = product.times(&Monomial(vec![self.factor(&factor)?]));
        }
        Ok((number, product))
    }

    fn factor(&self, factor: &Factor) -> Result<(Atom, u32), String> {
        /// No formula has a higher one, and a huge one would take forever.
        const HIGHEST_POWER: u32 = 16;
        let Factor { plus, divided_by: by, power, .. } = *factor;
        let parameter = self.place(&factor.parameter)?;
        if by == 0 || power == 0 || power > HIGHEST_POWER {
            return Err("a factor has a divisor or a power that none can have".to_owned());
        }
        let atom = match (&factor.at_most, &factor.times) {
            (None, None) if by == 1 && plus == 0 => Atom::Parameter(parameter),
            (None, None) => Atom::Ceiling { parameter, plus, by },
            (Some(AtMost { factor, parameter: other }), None) if plus == 0 => {
                Atom::Least { parameter, by, factor: *factor, other: self.place(other)? }
            }
            (None, Some(other)) if plus == 0 => Atom::product(parameter, self.place(other)?, by),
            _ => return Err("a factor is two things at once".to_owned()),
        };
        Ok((atom, power))
    }

    fn place(&self, name: &str) -> Result<usize, String> {
        let place = self.names.iter().position(|own| own == name);
        place.ok_or_else(|| format!("there is no parameter `{name}`"))
    }
}

fn known(name: &str) -> Result<&'static str, String> {
    let found = definition(name).map(|definition| definition.name);
    found.ok_or_else(|| format!("this program has no metric `{name}`"))
}
