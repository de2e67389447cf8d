//! The store of a shared sweep, by the place that the user names.

#[cfg(feature = "cloud")]
mod cloud;

use gpucast_forecast::store::{Folder, Store};

use crate::failure::Report;

/// Opens a folder, or a bucket of a cloud.
pub(crate) fn open(place: &str) -> Result<Box<dyn Store>, Report> {
    match place.split_once("://") {
        None => Ok(Box::new(Folder::new(place))),
        Some(("file", path)) => Ok(Box::new(Folder::new(path))),
        #[cfg(feature = "cloud")]
        Some(_) => Ok(Box::new(cloud::Bucket::open(place)?)),
        #[cfg(not(feature = "cloud"))]
        Some(_) => Err(Report::new(format!(
            "{place} is in a cloud, and this program was built for folders alone"
        ))
        .hint("build it with `cargo install --path . --features cloud`")),
    }
}
