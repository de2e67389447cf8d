//! Textures whose texels are compared with a depth, and textures of several samples.

use std::cmp::Ordering;

use gpucast_interpreter::texture::{BadTexture, Comparison, Textures};

use super::*;

const EVERY: [Comparison; 8] = [
    Comparison::Never,
    Comparison::Less,
    Comparison::Equal,
    Comparison::LessEqual,
    Comparison::Greater,
    Comparison::NotEqual,
    Comparison::GreaterEqual,
    Comparison::Always,
];

/// The orders of a depth to a texel in which each comparison holds.
fn orders(comparison: Comparison) -> &'static [Ordering] {
    use Ordering::{Equal, Greater, Less};
    match comparison {
        Comparison::Never => &[],
        Comparison::Less => &[Less],
        Comparison::Equal => &[Equal],
        Comparison::LessEqual => &[Less, Equal],
        Comparison::Greater => &[Greater],
        Comparison::NotEqual => &[Less, Greater],
        Comparison::GreaterEqual => &[Greater, Equal],
        Comparison::Always => &[Less, Equal, Greater],
    }
}

/// Threads compare the depth in `%f1` at the place in `%f0`.
const COMPARED: &str =
    "tex.1d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%o, {%f0}], %f1; mov.b32 %r4, %f4;";

#[test]
fn each_comparison_is_one_or_zero() {
    let texels = [0.25, 0.5, 0.75];
    let places: Vec<[f32; 3]> =
        (0..9).map(|i| [(i % 3) as f32 + 0.5, texels[i / 3], 0.0]).collect();
    for comparison in EVERY {
        let sampler = Sampler { compare: Some(comparison), ..Sampler::default() };
        let scene = Scene::of(sampled([3, 1, 1], sampler), bytes(&texels), reals(&places));
        let holds = |&[at, depth, _]: &[f32; 3]| {
            let order = depth.partial_cmp(&texels[at as usize]).unwrap();
            f32::from(u8::from(orders(comparison).contains(&order)))
        };
        let expected: Vec<f32> = places.iter().map(holds).collect();
        assert_eq!(first(&scene.results("", COMPARED)), expected, "{comparison:?}");
        // Without a depth the texels are read as they are.
        let plain = first(&scene.results("", LINEAR_1D));
        let texel = |&[at, ..]: &[f32; 3]| texels[at as usize];
        assert_eq!(plain, places.iter().map(texel).collect::<Vec<_>>());
    }
}

/// A filter weighs the results of the comparisons, not the texels.
#[test]
fn comparisons_come_before_the_filter() {
    let compare = Some(Comparison::LessEqual);
    let sampler = Sampler { filter: Filter::Linear, compare, ..Sampler::default() };
    let texels = bytes(&[0.0, 10.0, 20.0, 30.0]);
    let scene = Scene::of(sampled([4, 1, 1], sampler), texels, reals(&[[1.75, 15.0, 0.0]]));
    // Between texels 1 and 2, a quarter of the way: the first fails, the second passes.
    assert_eq!(first(&scene.results("", COMPARED)), [0.25]);
    let moved = COMPARED.replace("%f1;", "{%r8}, %f1;");
    let moved = format!("mov.u32 %r8, -1; {moved}");
    assert_eq!(first(&scene.results("", &moved)), [0.0]);
}

#[test]
fn a_gather_compares_four_texels() {
    let sampler = Sampler { compare: Some(Comparison::Greater), ..Sampler::default() };
    let texels = bytes(&[1.0, 2.0, 3.0, 4.0]);
    let scene = Scene::of(sampled([2, 2, 1], sampler), texels, reals(&[[1.0, 1.0, 2.5]]));
    let body = "tld4.r.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%o, {%f0, %f1}], %f2;\n\
        mov.b32 %r4, %f4; mov.b32 %r5, %f5; mov.b32 %r6, %f6; mov.b32 %r7, %f7;";
    // From the lower left one on: 3, 4, 2, 1.
    assert_eq!(scene.results("", body), [[0.0, 0.0, 1.0, 1.0].map(f32::to_bits)]);
}

#[test]
fn a_texture_without_a_comparison_has_no_depths() {
    let scene = Scene::of(sampled([2, 1, 1], Sampler::default()), bytes(&[1.0; 2]), vec![[0; 3]]);
    let fault = scene.fault(COMPARED);
    assert!(fault.contains("the depth of a texture without a comparison"), "{fault}");
    let sampler = Sampler { compare: Some(Comparison::Less), ..Sampler::default() };
    // A sampler of its own compares real texels, and no others.
    let independent = COMPARED.replace("%o", "%o, %s");
    let mut real =
        Scene::of(sampled([2, 1, 1], Sampler::default()), bytes(&[9.0; 2]), vec![[0; 3]]);
    real.sampler = sampler;
    assert_eq!(first(&real.results("", &independent)), [1.0]);
    let format = Format::new(Channel::U32, 1);
    let resource = Resource::dense(0, [2, 1, 1], 1, format);
    let texture = Texture::new(resource, format, Sampler::default());
    let whole = Scene { sampler, ..Scene::of(texture, words(&[9; 2]), vec![[0; 3]]) };
    assert!(whole.fault(&independent).contains("the depth of a texture without a comparison"));
    for format in [Format::new(Channel::F32, 2), Format::new(Channel::U16, 1)] {
        let resource = Resource::dense(0, [1; 3], 1, format);
        let texture = Texture::new(resource, format, sampler);
        let made = Textures::default().create(Object::Texture(texture));
        assert_eq!(made, Err(BadTexture::Depth));
    }
}

/// Texel `s` of pixel (`x`, `y`) of layer `l` is 1000 l + 100 y + 10 x + s.
fn multisampled(layers: u32, samples: u32, inputs: Vec<[u32; 3]>) -> Scene {
    let format = Format::new(Channel::U32, 1);
    let (width, height) = (3, 2);
    let resource = Resource::multisampled(0, [width, height], layers, samples, format);
    let mut texels = Vec::new();
    for layer in 0..layers {
        for y in 0..height {
            for x in 0..width {
                texels.extend((0..samples).map(|s| 1000 * layer + 100 * y + 10 * x + s));
            }
        }
    }
    Scene::of(Texture::new(resource, format, Sampler::default()), words(&texels), inputs)
}

#[test]
fn samples_of_a_pixel_have_numbers() {
    let inputs = vec![[0, 0, 0], [3, 2, 1], [1, 1, 1], [9, 0, 1], [2, 7, 0]];
    let scene = multisampled(1, 4, inputs);
    let body = "tex.2dms.v4.u32.s32 {%r4, %r5, %r6, %r7}, [%o, {%r0, %r1, %r2, %r2}];";
    let firsts: Vec<u32> = scene.results("", body).iter().map(|result| result[0]).collect();
    // The last sample and the last column stand for what is beyond.
    assert_eq!(firsts, [0, 123, 111, 103, 22]);
    let count = scene.results("", "txq.num_samples.b32 %r4, [%o]; txq.width.b32 %r5, [%o];");
    assert_eq!(count[0][..2], [4, 3]);
    // One sample is a texture like any other.
    let plain = multisampled(1, 1, vec![[0, 1, 1]]);
    assert_eq!(plain.results("", body)[0][0], 110);
    assert_eq!(
        plain.results("", "tex.2d.v4.u32.s32 {%r4, %r5, %r6, %r7}, [%o, {%r1, %r2}];")[0][0],
        110
    );
}

#[test]
fn samples_have_layers_and_offsets() {
    let scene = multisampled(3, 2, vec![[2, 1, 1], [7, 0, 2], [1, 1, 0]]);
    let body = "mov.u32 %r8, 1; mov.u32 %r9, -1; \
        tex.a2dms.v4.u32.s32 {%r4, %r5, %r6, %r7}, [%o, {%r0, %r1, %r2, %r8}], {%r9, %r9};";
    let firsts: Vec<u32> = scene.results("", body).iter().map(|result| result[0]).collect();
    assert_eq!(firsts, [2001, 2010, 1001]);
}

#[test]
fn only_planes_have_several_samples() {
    let format = Format::new(Channel::U32, 1);
    let scene = multisampled(1, 2, vec![[0; 3]]);
    let fault = scene.fault("tex.2d.v4.u32.s32 {%r4, %r5, %r6, %r7}, [%o, {%r0, %r1}];");
    assert!(fault.contains("the handle of a texture of several samples"), "{fault}");
    let plane = Resource::multisampled(0, [2, 2], 1, 2, format);
    let texture = |resource| Object::Texture(Texture::new(resource, format, Sampler::default()));
    let deep = Resource { extent: [2, 2, 2], ..plane };
    let many = Resource::multisampled(0, [2, 2], 1, 33, format);
    for resource in [deep, many, Resource { samples: 0, ..plane }] {
        let made = Textures::default().create(texture(resource));
        assert!(matches!(made, Err(BadTexture::Samples { .. })), "{made:?}");
    }
    let surface = Object::Surface(Surface { resource: plane, format });
    assert_eq!(Textures::default().create(surface), Err(BadTexture::SurfaceSamples));
    let short = Resource { row_pitch: 8, ..plane };
    let made = Textures::default().create(texture(short));
    assert!(matches!(made, Err(BadTexture::Pitch { .. })), "{made:?}");
}
