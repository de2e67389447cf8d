//! A plan as bytes, for a machine that has none of its files.
//!
//! The bytes hold everything that decides counts: the module's text, launches, arguments, and the
//! contents of buffer files. Machine code beside the PTX and expected results are left out, because
//! neither changes a count.

use gpucast_buffers::files;
use gpucast_buffers::init::Init;
use gpucast_counters::hierarchy::L2Contents;
use gpucast_interpreter::host_memory::{self, Shortage};
use serde::{Deserialize, Serialize};

use super::plan::{Buffer, LoadCaching, Plan, PlannedLaunch, Symbol};
use super::texture::PlannedTexture;
use crate::failure::{Report, SourceText};

/// The part of a plan that decides counts.
#[derive(Serialize, Deserialize)]
struct Packed {
    module: SourceText,
    /// The architecture, as `sm_80`.
    target: Option<String>,
    buffers: Vec<Buffer>,
    symbols: Vec<Symbol>,
    textures: Vec<PlannedTexture>,
    load_caching: Option<LoadCaching>,
    l2: L2Contents,
    launches: Vec<PlannedLaunch>,
}

/// Writes a plan. Equal plans have equal bytes.
///
/// # Errors
///
/// A buffer file that cannot be read or that does not fit, with its place.
pub fn pack(plan: &Plan) -> Result<Vec<u8>, Report> {
    let mut buffers = plan.buffers.clone();
    for buffer in buffers.iter_mut().filter(|buffer| matches!(buffer.init, Init::File(_))) {
        let size = buffer.len * buffer.ty.bytes();
        // A launch file may name 64 TiB.
        host_memory::ask(size as u64).map_err(|Shortage { available }| {
            let [long, left] = [size as u64, available].map(|bytes| bytes >> 20);
            let name = &buffer.name;
            let message = format!("{name} has {long} MiB, and {left} MiB of memory are available");
            Report::new(message).at(&buffer.anchor)
        })?;
        let mut bytes = vec![0; size];
        let filled = buffer.init.fill(buffer.ty, &mut bytes, &plan.folder);
        filled.map_err(|error| Report::new(error.to_string()).at(&buffer.anchor))?;
        buffer.init = Init::Bytes(bytes.into());
    }
    let mut symbols = plan.symbols.clone();
    for symbol in &mut symbols {
        if let Init::File(path) = &symbol.init {
            // The variable's size is known when the module has been parsed.
            let bytes = files::read_all(&plan.folder.join(path), symbol.ty)
                .map_err(|error| Report::new(error.to_string()).at(&symbol.anchor))?;
            symbol.init = Init::Bytes(bytes.into());
        }
    }
    let packed = Packed {
        module: plan.module.clone(),
        target: plan.target.map(|target| target.to_string()),
        buffers,
        symbols,
        textures: plan.textures.clone(),
        load_caching: plan.load_caching,
        l2: plan.l2,
        launches: plan.launches.clone(),
    };
    postcard::to_stdvec(&packed)
        .map_err(|error| Report::new(format!("{} cannot be packed: {error}", plan.module.name)))
}

/// Reads what [`pack`] wrote.
///
/// # Errors
///
/// If the bytes are of something else, or of another version of this program.
pub fn unpack(bytes: &[u8]) -> Result<Plan, Report> {
    let unreadable = |reason: &dyn std::fmt::Display| {
        Report::new(format!("a packed kernel cannot be read: {reason}"))
    };
    let packed: Packed = postcard::from_bytes(bytes).map_err(|error| unreadable(&error))?;
    // Another machine's files are not read for whoever packed this.
    let inits = packed.buffers.iter().map(|buffer| &buffer.init);
    let mut inits = inits.chain(packed.symbols.iter().map(|symbol| &symbol.init));
    if inits.any(|init| matches!(init, Init::File(_) | Init::Lent)) {
        return Err(unreadable(&"it names a file"));
    }
    let target = packed.target.map(|name| name.parse().map_err(|error| unreadable(&error)));
    Ok(Plan {
        module: packed.module,
        note: None,
        cubins: Vec::new(),
        target: target.transpose()?,
        corpus_name: None,
        folder: Default::default(),
        buffers: packed.buffers,
        symbols: packed.symbols,
        textures: packed.textures,
        load_caching: packed.load_caching,
        l2: packed.l2,
        timing: None,
        launches: packed.launches,
        expectations: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::kernel_argument;
    use crate::settings::{LaunchOptions, Size};

    /// Every launch file of the corpus comes back as it was, but for what no count depends on.
    #[test]
    fn a_packed_plan_comes_back() {
        for entry in gpucast_corpus::entries() {
            let options = LaunchOptions { size: Some(Size::Small), ..LaunchOptions::default() };
            let plan = kernel_argument::read(entry.name, &options).unwrap();
            let bytes = pack(&plan).unwrap();
            let unpacked = unpack(&bytes).unwrap();
            let kept = Plan {
                note: None,
                cubins: Vec::new(),
                corpus_name: None,
                folder: Default::default(),
                timing: None,
                expectations: Vec::new(),
                ..plan
            };
            assert_eq!(unpacked, kept, "{}", entry.name);
            assert_eq!(pack(&unpacked).unwrap(), bytes, "{}", entry.name);
        }
    }

    /// Files travel with the plan, and one that is missing is missed when it is packed.
    #[test]
    fn contents_of_files_are_packed() {
        let folder = tempfile::tempdir().unwrap();
        let text = "module = \"m.ptx\"\n[buffers.b]\ntype = \"u8\"\nlen = 3\n\
                    init = { file = \"b.bin\" }\n[[launch]]\nkernel = \"k\"\ngrid = [1, 1, 1]\n\
                    block = [1, 1, 1]\nargs = [\"b\"]\n";
        let ptx = ".version 7.0\n.target sm_50\n.address_size 64\n\
                   .visible .entry k(.param .u64 p)\n{\n ret;\n}\n";
        let file = folder.path().join("l.toml");
        std::fs::write(&file, text).unwrap();
        std::fs::write(folder.path().join("m.ptx"), ptx).unwrap();
        let plan = kernel_argument::read(&file.display().to_string(), &LaunchOptions::default());
        let plan = plan.unwrap();
        assert!(pack(&plan).unwrap_err().message.contains("b.bin"));
        std::fs::write(folder.path().join("b.bin"), [7, 8, 9]).unwrap();
        let unpacked = unpack(&pack(&plan).unwrap()).unwrap();
        assert_eq!(unpacked.buffers[0].init, Init::Bytes([7, 8, 9].into()));
        // 32 TiB are more than there is.
        let mut large = plan.clone();
        large.buffers[0].len = 1 << 45;
        assert!(pack(&large).unwrap_err().message.contains("of memory are available"));
        // Bytes that name a file after all, which nobody here packs, are refused.
        let packed = pack(&plan).unwrap();
        let mut forged: Packed = postcard::from_bytes(&packed).unwrap();
        forged.buffers[0].init = Init::File("/etc/hostname".into());
        let refused = unpack(&postcard::to_stdvec(&forged).unwrap()).unwrap_err();
        assert!(refused.message.contains("names a file"), "{refused}");
    }

    #[test]
    fn other_bytes_are_refused() {
        assert!(unpack(&[]).is_err());
        assert!(unpack(&[0xff; 64]).is_err());
    }
}
