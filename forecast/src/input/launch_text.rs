//! A launch of a plan as a launch file.

use std::fmt::Write as _;
use std::path::Path;

use gpucast_buffers::init::Init;
use gpucast_counters::hierarchy::L2Contents;

use super::plan::{LoadCaching, Plan, PlannedArgument, PlannedLaunch};
use crate::failure::Report;

/// A buffer with an element for each thread, which the last parameter points to.
#[derive(Clone, Copy, Debug)]
pub struct ThreadBuffer<'a> {
    /// The parameter's name.
    pub name: &'a str,
    /// The type of the elements.
    pub ty: &'a str,
}

/// The launch file for the module `name`.ptx, with one more buffer if there is one.
///
/// # Errors
///
/// Structures among the arguments, which a launch file would have to take apart, pointers in
/// buffers, and textures.
pub fn launch_text(
    plan: &Plan,
    launch: &PlannedLaunch,
    more: Option<ThreadBuffer<'_>>,
    name: &str,
) -> Result<String, Report> {
    if !plan.textures.is_empty() {
        return Err(Report::new(
            "the launch has textures, and no launch file can be written for it",
        )
        .hint("without -o, the PTX goes to the standard output"));
    }
    let mut text = format!("module = \"{name}.ptx\"\n");
    if plan.l2 != L2Contents::default() {
        let _ = writeln!(text, "l2 = \"{}\"", plan.l2.name());
    }
    if let Some(timing) = plan.timing {
        let _ = writeln!(text, "timing = \"{}\"", timing.name());
    }
    match plan.load_caching {
        Some(LoadCaching::Ca) => text += "load_caching = \"ca\"\n",
        Some(LoadCaching::Cg) => text += "load_caching = \"cg\"\n",
        None => {}
    }
    if let Some(buffer) = plan.buffers.iter().find(|buffer| !buffer.pointers.is_empty()) {
        let message =
            format!("buffer {} holds pointers, and no launch file is written for it", buffer.name);
        return Err(Report::new(message).hint("without -o, the PTX goes to the standard output"));
    }
    for buffer in &plan.buffers {
        let (ty, len) = (buffer.ty.name(), buffer.len);
        let _ = write!(text, "\n[buffers.{:?}]\ntype = \"{ty}\"\nlen = {len}\n", buffer.name);
        text += &init(&buffer.init, &plan.folder)?;
    }
    if let Some(ThreadBuffer { name, ty }) = more {
        let threads: u64 =
            launch.grid.iter().chain(&launch.block).map(|&extent| u64::from(extent)).product();
        let _ =
            write!(text, "\n[buffers.{name}]\ntype = \"{ty}\"\nlen = {threads}\ninit = \"zero\"\n");
    }
    for symbol in &plan.symbols {
        let _ = write!(text, "\n[symbols.{:?}]\ntype = \"{}\"\n", symbol.name, symbol.ty.name());
        if let Some(len) = symbol.len {
            let _ = writeln!(text, "len = {len}");
        }
        text += &init(&symbol.init, &plan.folder)?;
    }
    let _ = write!(
        text,
        "\n[[launch]]\nkernel = {:?}\ngrid = {:?}\nblock = {:?}\n",
        launch.kernel, launch.grid, launch.block
    );
    if let Some(cluster) = launch.cluster {
        let _ = writeln!(text, "cluster = {cluster:?}");
    }
    if launch.shared_bytes > 0 {
        let _ = writeln!(text, "shared_bytes = {}", launch.shared_bytes);
    }
    let mut arguments = Vec::new();
    for argument in &launch.arguments {
        arguments.push(written(plan, argument)?);
    }
    arguments.extend(more.map(|buffer| format!("\"{}\"", buffer.name)));
    let _ = writeln!(text, "args = [{}]", arguments.join(", "));
    Ok(text)
}

fn written(plan: &Plan, argument: &PlannedArgument) -> Result<String, Report> {
    match argument {
        PlannedArgument::Pointer(pointer) => {
            let name = plan.buffers.get(pointer.buffer).map_or("", |buffer| &buffer.name);
            Ok(match pointer.offset {
                0 => format!("{name:?}"),
                offset => format!("\"{name}+{offset}\""),
            })
        }
        PlannedArgument::Scalar { ty, bits } => {
            let bytes = bits.to_le_bytes();
            let value = ty.decode(bytes.get(..ty.bytes()).unwrap_or(&bytes));
            Ok(format!("{{ {} = {value} }}", ty.name()))
        }
        PlannedArgument::Structure(_) => Err(Report::new(
            "the kernel takes a structure, and no launch file can be written for it",
        )
        .hint("without -o, the PTX goes to the standard output")),
    }
}

/// The line of first contents, if they are stated.
fn init(init: &Init, folder: &Path) -> Result<String, Report> {
    let value = match init {
        Init::Unstated => return Ok(String::new()),
        Init::Zero => "\"zero\"".to_owned(),
        Init::Iota => "\"iota\"".to_owned(),
        Init::Constant(value) => format!("{{ constant = {value} }}"),
        Init::Values(values) => {
            let values: Vec<String> = values.iter().map(ToString::to_string).collect();
            format!("{{ values = [{}] }}", values.join(", "))
        }
        Init::Uniform { low, high, seed } => {
            format!("{{ uniform = {{ low = {low}, high = {high}, seed = {seed} }} }}")
        }
        Init::Generator { name, shape } => {
            format!("{{ generator = {{ name = {name:?}, shape = {shape:?} }} }}")
        }
        Init::File(path) => {
            let path = folder.join(path);
            let path = path.canonicalize().unwrap_or(path);
            format!("{{ file = {:?} }}", path.display().to_string())
        }
        Init::Bytes(_) | Init::Lent => {
            return Err(Report::new("a buffer's contents are those of another program"));
        }
    };
    Ok(format!("init = {value}\n"))
}
