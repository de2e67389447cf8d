use super::*;

fn texture(extent: [u32; 3], sampler: Sampler) -> Texture {
    let format = Format::new(Channel::F32, 1);
    Texture::new(Resource::dense(0x1000, extent, 1, format), format, sampler)
}

#[test]
fn a_handle_stands_for_its_object_until_that_is_destroyed() {
    let mut textures = Textures::default();
    let one = textures.create(Object::Sampler(Sampler::default())).unwrap();
    let two = textures.create(Object::Texture(texture([4, 1, 1], Sampler::default()))).unwrap();
    assert_eq!([one, two], [Textures::handle(0), Textures::handle(1)]);
    assert!(matches!(textures.get(two), Some(Object::Texture(_))));
    assert!(textures.destroy(two));
    assert!(!textures.destroy(two));
    assert_eq!(textures.get(two), None);
    assert_eq!([textures.get(0), textures.get(u64::MAX)], [None, None]);
    assert!(matches!(textures.get(one), Some(Object::Sampler(_))));
}

#[test]
fn a_variable_is_bound_by_its_address_before_its_name() {
    let mut textures = Textures::default();
    textures.bind_name("t", 1);
    assert_eq!(textures.bound(0x10, Some("module variable t")), Some(1));
    textures.bind(0x10, 2);
    assert_eq!(textures.bound(0x10, Some("module variable t")), Some(2));
    textures.unbind(0x10);
    assert_eq!(textures.bound(0x10, Some("module variable t")), Some(1));
    assert_eq!(textures.bound(0x10, None), None);
}

#[test]
fn impossible_objects_are_refused() {
    let mut textures = Textures::default();
    let mut refused = |texture| textures.create(Object::Texture(texture)).unwrap_err();
    let good = texture([4, 4, 1], Sampler::default());
    let with = |change: fn(&mut Texture)| {
        let mut bad = good.clone();
        change(&mut bad);
        bad
    };
    assert!(matches!(refused(with(|t| t.resource.extent[1] = 0)), BadTexture::Extent { .. }));
    assert!(matches!(refused(with(|t| t.resource.row_pitch = 12)), BadTexture::Pitch { .. }));
    assert!(matches!(refused(with(|t| t.resource.address = 2)), BadTexture::Misaligned { .. }));
    assert_eq!(refused(with(|t| t.format.channels = 3)), BadTexture::Format);
    assert_eq!(refused(with(|t| t.format.normalized = true)), BadTexture::Format);
    let wraps = with(|t| t.sampler.address[0] = AddressMode::Wrap);
    assert_eq!(refused(wraps), BadTexture::NotNormalized);
    let filters = with(|t| {
        t.format.channel = Channel::U32;
        t.sampler.filter = Filter::Linear;
    });
    assert_eq!(refused(filters), BadTexture::FilteredIntegers);
}

#[test]
fn bytes_reach_to_the_end_of_the_last_texel() {
    let format = Format::new(Channel::U16, 2);
    assert_eq!(Resource::dense(0, [5, 3, 2], 1, format).bytes(format), 5 * 3 * 2 * 4);
    let pitched = Resource { row_pitch: 32, ..Resource::dense(0, [5, 3, 1], 1, format) };
    assert_eq!(pitched.bytes(format), 2 * 32 + 20);
}
