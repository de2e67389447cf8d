//! Packs the PTX of the kernels, which is most of what the corpus holds, to a seventh.

use std::path::Path;
use std::{env, fs, io};

/// The level of `deflate`; higher ones save a hundredth.
const LEVEL: u8 = 6;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=kernels");
    let to = env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    for family in fs::read_dir("kernels")? {
        let family = family?;
        for file in fs::read_dir(family.path())? {
            let path = file?.path();
            let is_ptx = path.extension().is_some_and(|extension| extension == "ptx");
            let Some(target) = path.file_stem().filter(|_| is_ptx) else { continue };
            let name = [family.file_name().as_os_str(), target].join("-".as_ref());
            let packed = miniz_oxide::deflate::compress_to_vec(&fs::read(&path)?, LEVEL);
            fs::write(Path::new(&to).join(name), packed)?;
        }
    }
    Ok(())
}
