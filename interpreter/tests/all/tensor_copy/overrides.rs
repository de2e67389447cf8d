//! Copies whose operands replace the address, sizes and strides of a tensor map (manual,
//! "Overriding tensor property value").

use gpucast_interpreter::tensor_map::{Element, TensorMap};
use proptest::prelude::*;

use super::{
    WAIT, a_case, coordinates, dense, elements, fault, kernel, loaded, noise, offset, outcome,
    swizzled, tensor_bytes,
};

/// The operands after a tensor map's address that stand for what `map` says of its tensor. Sizes
/// have 8 bits, and something else above them.
fn replaced(map: &TensorMap) -> String {
    let list = |values: Vec<String>| format!("{{{}}}", values.join(", "));
    let sizes = map.global_dim[..map.rank].iter();
    let mut text =
        format!("%tensor, {}", list(sizes.map(|size| (size | 0x5a00).to_string()).collect()));
    let strides = &map.global_stride[..map.rank - 1];
    if map.rank > 1 {
        let lower = strides.iter().map(|stride| (stride >> 4 & 0xffff_ffff).to_string()).collect();
        let upper = strides.iter().rev().fold(0, |all, stride| all << 4 | stride >> 36);
        text += &format!(", {}, {upper}", list(lower));
    }
    text
}

fn modifiers(map: &TensorMap) -> &'static str {
    match map.rank {
        1 => ".override::global_address.override::global_dim",
        _ => ".override::global_address.override::global_dim_stride",
    }
}

/// A map with nothing of the tensor that it is used for but the type, and no address at all.
fn stripped(map: &TensorMap) -> TensorMap {
    let strides = std::array::from_fn(|index| if index + 1 < map.rank { 8 } else { 0 });
    TensorMap { global_dim: [0; 5], global_stride: strides, global_address: 4, ..map.clone() }
}

fn for_rubin(text: &str) -> String {
    text.replace(".version 8.8\n.target sm_100", ".version 9.4\n.target sm_107f")
}

fn load(map: &TensorMap, first: &[i32], bytes: usize) -> String {
    let body = format!(
        "cp.async.bulk.tensor.{}d.shared::cta.global.tile.mbarrier::complete_tx::bytes{} \
         [%r1], [%map, {}, {}], [%r3];\n{WAIT}",
        map.rank,
        modifiers(map),
        replaced(map),
        coordinates(first),
    );
    for_rubin(&kernel(&body, bytes as u32))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn other_tensors_than_the_maps_are_loaded((map, _) in a_case()) {
        let tensor = noise(tensor_bytes(&map));
        let first = vec![0; map.rank];
        let elements = elements(&map, &first);
        let bytes = elements.len() * map.element.bytes() as usize;
        let (after, got) = outcome(&load(&map, &first, bytes), &stripped(&map), &tensor);
        prop_assert_eq!(&after, &tensor);
        prop_assert_eq!(got, loaded(&map, &tensor, &elements));
    }

    #[test]
    fn other_tensors_than_the_maps_are_stored((map, _) in a_case()) {
        let tensor = noise(tensor_bytes(&map));
        let first = vec![0; map.rank];
        let body = format!(
            "cp.async.bulk.tensor.{}d.global.shared::cta.tile.bulk_group{} \
             [%map, {}, {}], [%r1];\ncp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
            map.rank,
            modifiers(&map),
            replaced(&map),
            coordinates(&first),
        );
        let text = for_rubin(&kernel(&body, 0));
        let (got, contents) = outcome(&text, &stripped(&map), &tensor);
        let bytes = map.element.bytes() as usize;
        let mut wanted = tensor;
        for (number, at) in elements(&map, &first).iter().enumerate() {
            let Some(offset) = offset(&map, at) else { continue };
            for byte in 0..bytes {
                wanted[offset + byte] = contents[swizzled(map.swizzle, number * bytes + byte)];
            }
        }
        prop_assert_eq!(got, wanted);
    }
}

#[test]
fn wrong_overrides_are_faults() {
    let map = dense(Element::F32, &[8, 4, 2], &[8, 2, 2]);
    let tensor = noise(tensor_bytes(&map));
    let said = |change: &dyn Fn(&mut TensorMap), first: [i32; 3]| {
        let mut map = map.clone();
        change(&mut map);
        fault(&load(&map, &first, 128), &stripped(&map), &tensor)
    };
    // A stride beyond 32 bits of units of 16 bytes leads where no buffer is.
    let far = gpucast_interpreter::memory::FIRST_ADDRESS + (5 << 36);
    for (said, wanted) in [
        (
            said(&|_| {}, [0, 1, 0]),
            "a coordinate in a tensor of other sizes than its map's is 1, but must be 0".to_owned(),
        ),
        (said(&|map| map.global_dim[1] = 256, [0; 3]), "a dimension of a tensor is 0".to_owned()),
        (
            said(&|map| map.global_stride[1] = 5 << 36, [0; 3]),
            format!("out-of-bounds load of 32 bytes at global address {far:#x}"),
        ),
    ] {
        assert!(said.starts_with(&wanted), "{said}, not {wanted}");
    }
    let misaligned = load(&map, &[0; 3], 128).replace("%tensor, {", "%d7, {").replace(
        "mov.u32 %r1, box; mov.u32 %r3",
        "add.u64 %d7, %tensor, 8; mov.u32 %r1, box; mov.u32 %r3",
    );
    let said = fault(&misaligned, &stripped(&map), &tensor);
    assert!(said.starts_with("the address in a tensor map is"), "{said}");
}
