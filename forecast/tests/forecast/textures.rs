//! Textures of launch files: samples, and depths to compare with.

use gpucast_forecast::{Alone, Failure, LaunchOptions};

use crate::common::{execute, floats, launch_file};

/// Thread `t` reads sample `t` of pixel (1, 0), or compares 0.5 with texel `t`.
const KERNELS: &str = ".version 8.0\n.target sm_80\n.address_size 64
.global .texref pixels;
.visible .entry samples(.param .u64 out) {
    .reg .b64 %d<3>; .reg .f32 %f<4>; .reg .b32 %r<3>;
    ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, 1; mov.u32 %r2, 0;
    mad.wide.u32 %d1, %r0, 4, %d0;
    tex.2dms.v4.f32.s32 {%f0, %f1, %f2, %f3}, [pixels, {%r0, %r1, %r2, %r2}];
    st.global.f32 [%d1], %f0; ret; }
.visible .entry depths(.param .u64 out) {
    .reg .b64 %d<3>; .reg .f32 %f<6>; .reg .b32 %r<3>;
    ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mad.wide.u32 %d1, %r0, 4, %d0;
    cvt.rn.f32.u32 %f4, %r0; mov.f32 %f5, 0f3F000000;
    tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [pixels, {%f4}], %f5;
    st.global.f32 [%d1], %f0; ret; }
";

fn run(kernel: &str, texture: &str) -> Result<Vec<f32>, Failure> {
    let text = format!(
        "[buffers.texels]\ntype = \"f32\"\nlen = 8\ninit = {{ values = [0.25, 0.5, 0.75, 1, 2, 3, 4, 5] }}\n\
         [buffers.out]\ntype = \"f32\"\nlen = 4\n\
         [textures.pixels]\nbuffer = \"texels\"\ntype = \"f32\"\n{texture}\n\
         [[launch]]\nkernel = \"{kernel}\"\ngrid = [1, 1, 1]\nblock = [4, 1, 1]\nargs = [\"out\"]\n"
    );
    let kernel = launch_file(KERNELS, &text, &LaunchOptions::default())?;
    Ok(floats(&execute(&kernel, &Alone)?, "out")[..4].to_vec())
}

#[test]
fn a_texture_may_have_samples_or_depths() {
    assert_eq!(run("samples", "width = 2\nsamples = 4").unwrap(), [2.0, 3.0, 4.0, 5.0]);
    // Sample 2 and later ones are the second.
    assert_eq!(run("samples", "width = 4\nsamples = 2").unwrap(), [0.75, 1.0, 1.0, 1.0]);
    for (compare, expected) in [
        ("less", [0.0, 0.0, 1.0, 1.0]),
        ("less-equal", [0.0, 1.0, 1.0, 1.0]),
        ("not-equal", [1.0, 0.0, 1.0, 1.0]),
        ("never", [0.0; 4]),
    ] {
        let texture = format!("width = 4\ncompare = \"{compare}\"");
        assert_eq!(run("depths", &texture).unwrap(), expected, "{compare}");
    }
}

#[test]
fn what_no_texture_has_is_refused() {
    for (texture, expected) in [
        ("width = 2\nsamples = 33", "from 1 to 32 samples"),
        ("width = 1\ndepth = 2\nsamples = 2", "from 1 to 32 samples"),
        ("width = 3\nsamples = 4", "the texels need 48 bytes"),
        ("width = 2\nlinear = true\nsamples = 2", "linear memory has no `samples`"),
        ("width = 2\nchannels = 2\ncompare = \"less\"", "one channel"),
        ("width = 2\nsurface = true\ncompare = \"less\"", "a surface has no `compare`"),
    ] {
        let refused = run("samples", texture).unwrap_err().to_string();
        assert!(refused.contains(expected), "{texture}: {refused}");
    }
}
