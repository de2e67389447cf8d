//! The launch file of a kernel.

use std::fmt::Write as _;

use crate::language::{Array, ArrayMemory, Contents, Kernel, Parameter};
use crate::removal::Destination;

/// The launch file that runs a kernel of the file `module`, in TOML. Where work was removed, sums
/// may go to a `destination`, which the launch has besides.
#[must_use]
pub fn file(kernel: &Kernel, module: &str, destination: Option<&Destination>) -> String {
    let mut text = format!("# {}\nmodule = \"{module}\"\n", kernel.summary);
    for Array { name, ty, len, place } in kernel.buffers() {
        let init = match place {
            ArrayMemory::Input(contents) => written(contents),
            ArrayMemory::Output | ArrayMemory::Shared | ArrayMemory::Constant(_) => {
                written(&Contents::Zero)
            }
        };
        let ty = ty.ptx();
        let _ = write!(text, "\n[buffers.{name}]\ntype = \"{ty}\"\nlen = {len}\ninit = {init}\n");
    }
    if let Some(Destination { name, ty }) = destination {
        let threads: u64 =
            kernel.grid.iter().chain(&kernel.block).map(|&extent| u64::from(extent)).product();
        let _ =
            write!(text, "\n[buffers.{name}]\ntype = \"{ty}\"\nlen = {threads}\ninit = \"zero\"\n");
    }
    for Array { name, ty, len, place } in &kernel.arrays {
        if let ArrayMemory::Constant(contents) = place {
            let (ty, init) = (ty.ptx(), written(contents));
            let _ =
                write!(text, "\n[symbols.{name}]\ntype = \"{ty}\"\nlen = {len}\ninit = {init}\n");
        }
    }
    for parameter in &kernel.parameters {
        if let Parameter::Texture { variable, texels: Array { name: buffer, ty, len, .. } } =
            parameter
        {
            let (name, ty) = (kernel.name_of(*variable), ty.ptx());
            let _ = write!(
                text,
                "\n[textures.{name}]\nbuffer = \"{buffer}\"\ntype = \"{ty}\"\nwidth = {len}\nlinear = true\n"
            );
        }
    }
    let mut arguments: Vec<String> = kernel
        .parameters
        .iter()
        .map(|parameter| match parameter {
            Parameter::Buffer(array) => format!("\"{}\"", array.name),
            Parameter::Scalar { value, variable } => {
                format!("{{ {} = {value} }}", variable.ty.ptx())
            }
            Parameter::Texture { variable, .. } => {
                format!("{{ texture = \"{}\" }}", kernel.name_of(*variable))
            }
        })
        .collect();
    arguments.extend(destination.map(|destination| format!("\"{}\"", destination.name)));
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
        Contents::Below { limit, seed } => {
            let high = limit.saturating_sub(1);
            format!("{{ uniform = {{ low = 0, high = {high}, seed = {seed} }} }}")
        }
        Contents::Chain(distance) => {
            format!("{{ generator = {{ name = \"chain\", shape = [{distance}] }} }}")
        }
    }
}
