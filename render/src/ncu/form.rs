//! The choices about how pages look.

use gpucast_host::collection::NameBase;

use super::number::NumberForm;
use super::sections::{Row, Section};

/// A page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Page {
    /// Sections with labels.
    #[default]
    Details,
    /// Every metric by its name.
    Raw,
    /// Instructions with counts and stalls.
    Source,
    /// The program and the GPU.
    Session,
}

/// What a metric is called on the details page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetricName {
    /// The label of the section.
    #[default]
    Label,
    /// The metric's own name.
    Name,
    /// Both.
    Both,
}

/// How a page looks.
#[derive(Clone, Copy, Debug, Default)]
pub struct PageForm {
    /// The page.
    pub page: Page,
    /// True for CSV.
    pub csv: bool,
    /// True if sections show their bodies, too.
    pub all_details: bool,
    /// Units and decimals.
    pub numbers: NumberForm,
    /// The form of kernels' names.
    pub kernel_names: NameBase,
    /// The form of metrics' names.
    pub metric_names: MetricName,
}

impl PageForm {
    /// The name of a row.
    pub(super) fn label(&self, row: &Row) -> String {
        match self.metric_names {
            MetricName::Label => row.label.to_owned(),
            MetricName::Name => row.metric.to_owned(),
            MetricName::Both => format!("{} ({})", row.label, row.metric),
        }
    }

    /// The tables of a section: the name of each, and its rows.
    pub(super) fn tables(&self, section: &Section) -> Vec<(Option<&'static str>, &'static [Row])> {
        let header = (!section.header.is_empty()).then_some((None, section.header));
        let body = section.body.iter().filter(|_| self.all_details);
        header.into_iter().chain(body.map(|table| (Some(table.name), table.rows))).collect()
    }
}
