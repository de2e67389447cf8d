//! Tells the linkers that ask for it that Python's symbols come from the program that loads us.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
