//! The page `docs/metrics.md` says what the definitions say.
//!
//! `GPUCAST_UPDATE=1 cargo test --workspace --release --all-features --test all metrics_page`
//! writes it anew.

#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

use std::path::Path;

#[test]
fn the_page_of_metrics_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/metrics.md");
    let page = gpucast_counters::definitions::page();
    if std::env::var_os("GPUCAST_UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        written,
        page,
        "{} is out of date; run this test with GPUCAST_UPDATE=1",
        path.display()
    );
}
