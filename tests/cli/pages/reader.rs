//! What pages take for granted: files, a program and folders of their reader.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use super::root;
use crate::gpucast::stdout;

/// A kernel of the reader's, with the parameters that pages give it.
const SAXPY: &str = "\
.version 7.0
.target sm_50
.address_size 64
.visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n)
{
    .reg .pred %p;
    .reg .f32 %a, %x, %y;
    .reg .b32 %i, %n, %c, %w;
    .reg .b64 %px, %py;
    mov.u32 %c, %ctaid.x;
    mov.u32 %w, %ntid.x;
    mov.u32 %i, %tid.x;
    mad.lo.u32 %i, %c, %w, %i;
    ld.param.u32 %n, [n];
    setp.ge.u32 %p, %i, %n;
    @%p ret;
    ld.param.f32 %a, [a];
    ld.param.u64 %px, [x];
    ld.param.u64 %py, [y];
    mad.wide.u32 %px, %i, 4, %px;
    mad.wide.u32 %py, %i, 4, %py;
    ld.global.f32 %x, [%px];
    ld.global.f32 %y, [%py];
    fma.rn.f32 %y, %a, %x, %y;
    st.global.f32 [%py], %y;
    ret;
}
";

/// A kernel that leaves its thread's number in a buffer.
const FIRST: &str = "\
.version 7.0
.target sm_50
.address_size 64
.visible .entry k(.param .u64 x)
{
    .reg .b32 %i, %c, %w;
    .reg .b64 %px;
    mov.u32 %c, %ctaid.x;
    mov.u32 %w, %ntid.x;
    mov.u32 %i, %tid.x;
    mad.lo.u32 %i, %c, %w, %i;
    ld.param.u64 %px, [x];
    mad.wide.u32 %px, %i, 4, %px;
    st.global.u32 [%px], %i;
    ret;
}
";

const TIMES: &str = "kernel,gpu,size,measured_ms\ntranspose,a100,small,0.004\n";

/// A tuning space that runs a program, as far as `trust` looks at it.
const SPACE: &str = "\
launch = \"saxpy.toml\"
[parameters]
n = [1000, 2000]
[compile]
command = [\"nvcc\", \"-ptx\", \"-o\", \"${output}\", \"${source}\"]
";

/// What commands of an earlier day printed.
static EARLIER: LazyLock<[(&str, String); 2]> = LazyLock::new(|| {
    [
        ("base.json", "predict sgemm --gpu h100-sxm --machine rules --format json"),
        ("counts.csv", "profile sgemm --gpu gtx-480 --format csv --metrics nvprof"),
    ]
    .map(|(name, arguments)| (name, stdout(arguments)))
});

/// Launches of a small product, kernels, GPUs, times, and what earlier commands left.
pub(super) fn files(folder: &Path) {
    let root = root();
    let page = fs::read_to_string(root.join("docs/counting.md")).unwrap();
    let (_, product) = page.split_once("<!-- file: product.toml -->\n```toml\n").unwrap();
    let module = root.join("corpus/kernels/sgemm/sm_35.ptx").display().to_string();
    let product = product.split("```").next().unwrap().replace("sgemm/sm_35.ptx", &module);
    let small = product.replace("1280", "64").replace("640", "64");
    let small = small.replace("type = \"f32\"", "type = \"f32\"\ninit = \"iota\"");
    assert_ne!(small, product);
    for name in ["launch", "my", "before", "after", "my-kernel", "product"] {
        fs::write(folder.join(format!("{name}.toml")), &small).unwrap();
    }
    for (name, text) in [
        ("my.ptx", SAXPY),
        ("gpucast.toml", "[defaults]\nmachine = \"rules\"\n"),
        ("space.toml", SPACE),
        ("kernel.ptx", FIRST),
        ("my.csv", TIMES),
        ("measured.csv", TIMES),
    ] {
        fs::write(folder.join(name), text).unwrap();
    }
    for (name, input) in [
        ("saxpy.ptx", "tests/inputs/saxpy.ptx"),
        ("saxpy.toml", "tests/inputs/saxpy-n.toml"),
        ("own.toml", "tests/inputs/saxpy-n.toml"),
        ("samples.csv", "tests/inputs/cost-samples.csv"),
        ("transfers.csv", "tests/inputs/offload-samples.csv"),
        ("roofline.json", "model/tests/imports/roofline-v100.json"),
        ("mine.toml", "tests/inputs/my-gpu.toml"),
        ("next.toml", "tests/inputs/h100-next.toml"),
        ("shmembench.log", "model/tests/imports/shmembench-gtx-480.txt"),
        ("cachebench.log", "model/tests/imports/cachebench-gtx-480.txt"),
    ] {
        fs::copy(root.join(input), folder.join(name)).unwrap();
    }
    let imports = root.join("model/tests/imports");
    for (name, input) in
        [("device-query.txt", "device-query-cuda-5"), ("mixbench.log", "mixbench-gtx-1060")]
    {
        // Of the GPU that the other two files are of.
        let mut text = fs::read_to_string(imports.join(format!("{input}.txt"))).unwrap();
        for other in ["GeForce GT 650M", "GeForce GTX 1060 6GB"] {
            text = text.replace(other, "GeForce GTX 480");
        }
        let text = text.replace("Capability:  6.1", "Capability:  2.0");
        let text = text.replace("number:    3.0", "number:    2.0").replace("128-bit", "384-bit");
        fs::write(folder.join(name), text).unwrap();
    }
    for (name, text) in &*EARLIER {
        fs::write(folder.join(name), text).unwrap();
    }
    #[cfg(unix)]
    for name in ["corpus", "examples"] {
        std::os::unix::fs::symlink(root.join(name), folder.join(name)).unwrap();
    }
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    programs(folder);
}

/// A program that launches kernels, under the names that pages give it.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn programs(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;

    use crate::exec;

    static PROGRAM: LazyLock<std::path::PathBuf> = LazyLock::new(|| exec::programs("pages"));
    let ptx = exec::sources().join("kernels.ptx");
    let (ptx, program) = (ptx.display(), PROGRAM.display());
    for name in ["heat", "program"] {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\nTEST_PTX='{ptx}' exec '{program}' heat\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}
