//! The launch file of a kernel.

use std::fmt::Write as _;

use crate::language::{Array, Contents, Kernel, Parameter, Place};

/// The launch file that runs a kernel of the file `module`, in TOML.
#[must_use]
pub fn file(kernel: &Kernel, module: &str) -> String {
    let mut text = format!("# {}\nmodule = \"{module}\"\n", kernel.summary);
    for Array { name, ty, len, place } in kernel.buffers() {
        let init = match place {
            Place::Input(contents) => written(contents),
            Place::Output | Place::Shared | Place::Constant(_) => written(&Contents::Zero),
        };
        let ty = ty.ptx();
        let _ = write!(text, "\n[buffers.{name}]\ntype = \"{ty}\"\nlen = {len}\ninit = {init}\n");
    }
    for Array { name, ty, len, place } in &kernel.arrays {
        if let Place::Constant(contents) = place {
            let (ty, init) = (ty.ptx(), written(contents));
            let _ =
                write!(text, "\n[symbols.{name}]\ntype = \"{ty}\"\nlen = {len}\ninit = {init}\n");
        }
    }
    let arguments: Vec<String> = kernel
        .parameters
        .iter()
        .map(|parameter| match parameter {
            Parameter::Buffer(array) => format!("\"{}\"", array.name),
            Parameter::Scalar { value, variable } => {
                format!("{{ {} = {value} }}", variable.ty.ptx())
            }
        })
        .collect();
    let _ = write!(
        text,
        "\n[[launch]]\nkernel = \"{}\"\ngrid = {:?}\nblock = {:?}\nargs = [{}]\n",
        kernel.name,
        kernel.grid,
        kernel.block,
        arguments.join(", ")
    );
    text
}

fn written(contents: &Contents) -> String {
    match contents {
        Contents::Zero => "\"zero\"".to_owned(),
        Contents::Uniform(seed) => {
            format!("{{ uniform = {{ low = 0.0, high = 1.0, seed = {seed} }} }}")
        }
        Contents::Chain(distance) => {
            format!("{{ generator = {{ name = \"chain\", shape = [{distance}] }} }}")
        }
    }
}
