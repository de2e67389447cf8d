//! The tests of the models, in one program.

mod completed_gpus;
mod component_throughput;
mod device_models;
mod energy;
mod gpu_bases;
mod gpu_files;
mod gpu_imports;
mod gpu_overrides;
mod gpus_page;
mod hierarchical_roofline;
mod reads;
mod refinements;
mod roofline_edges;
mod roofs;
mod sensitivity;
mod sustained;
mod thesis_tables;
mod warning_codes;
mod what_if;
