//! The way of a kernel's bytes through the memories, as boxes and the links between them.

use maud::{Markup, html};

use super::super::launch::{Launch, Panel};
use super::super::memory_chart::{Fact, MemoryChart};

/// The charts of a launch, one for each prediction.
pub(super) fn charts(launch: &Launch) -> Markup {
    html! {
        @for panel in &launch.panels {
            @if let Some(chart) = &panel.memory { (figure(launch, panel, chart)) }
        }
    }
}

fn figure(launch: &Launch, panel: &Panel, chart: &MemoryChart) -> Markup {
    html! {
        figure.memory data-gpu=(panel.gpu) data-model=(panel.model) {
            figcaption {
                "Amounts of all invocations, counted as on the " (launch.counted_on)
                "; parts of the peaks of the " (panel.gpu_name) " in the time of " (panel.model) "."
            }
            div.way {
                div.box { strong { "Kernel" } }
                div.link { strong { "global memory" } (facts(&chart.global)) }
                div.box { strong { "L1" } (facts(&chart.l1)) }
                div.link { (facts(&chart.l1_to_l2)) }
                div.box { strong { "L2" } (facts(&chart.l2)) }
                div.link { (facts(&chart.l2_to_dram)) }
                div.box { strong { "Device memory" } (facts(&chart.dram)) }
            }
            @if !chart.shared.is_empty() {
                div.way {
                    div.box { strong { "Kernel" } }
                    div.link { (facts(&chart.shared)) }
                    div.box { strong { "Shared memory" } }
                }
            }
        }
    }
}

fn facts(facts: &[Fact]) -> Markup {
    html! {
        dl { @for fact in facts { div { dt { (fact.name) } dd { (fact.value) } } } }
    }
}
