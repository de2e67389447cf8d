//! Generators against structures worked out by hand.

use std::collections::BTreeMap;

use super::*;

fn run(name: &str, shape: &[u64], len: usize) -> Result<Values, GeneratorError> {
    let generator = generator(name).unwrap();
    let values = (generator.run)(shape, len);
    assert_eq!((generator.check)(shape, len).is_ok(), values.is_ok(), "{name}");
    if let Ok(values) = &values {
        assert_eq!((values.len(), values.element_type()), (len, generator.element_type), "{name}");
    }
    values
}

fn indices(name: &str, shape: &[u64], len: usize) -> Vec<usize> {
    let Values::S32(columns) = run(name, shape, len).unwrap() else { panic!("{name}") };
    columns.into_iter().map(|column| usize::try_from(column).unwrap()).collect()
}

fn floats(name: &str, shape: &[u64], len: usize) -> Vec<f32> {
    let Values::F32(values) = run(name, shape, len).unwrap() else { panic!("{name}") };
    values
}

#[test]
fn systems_are_symmetric_and_dominated_by_their_diagonal() {
    let (equations, len) = (8, 24);
    let lower = floats("tridiagonal-lower", &[equations as u64], len);
    let diagonal = floats("tridiagonal-diagonal", &[equations as u64], len);
    let upper = floats("tridiagonal-upper", &[equations as u64], len);
    for i in 0..len {
        assert_eq!(diagonal[i] + lower[i] + upper[i], 1.0 / 4096.0, "row {i}");
        if i % equations == 0 {
            assert_eq!(lower[i], 0.0);
        } else {
            assert_eq!(lower[i], upper[i - 1]);
            assert!((-1.0..=-0.5).contains(&lower[i]));
        }
    }
    assert_eq!(upper[equations - 1], 0.0);
    assert_ne!(upper[..equations], upper[equations..2 * equations], "all systems are the same");
}

#[test]
fn a_site_of_the_lattice_couples_to_the_spins_that_dirac_matrices_say() {
    // Site (1, 1, 1, 1) of 3 x 3 x 3 x 3 is number 40; its neighbours are 1, 3, 9 and 27 away.
    let (block_rows, site) = (81 * 4, 40);
    let columns = indices("qcd-block-columns", &[3, 3, 3, 3], 13 * block_rows);
    let of_spin = |spin: usize| -> Vec<(usize, usize)> {
        let row = site * 4 + spin;
        (0..13).map(|k| columns[k * block_rows + row]).map(|c| (c / 4, c % 4)).collect()
    };
    // Spin 0: itself and 3 in x and y, itself and 2 in z, itself one step ahead in time.
    let expected = [
        (31, 0),
        (31, 2),
        (37, 0),
        (37, 3),
        (39, 0),
        (39, 3),
        (41, 0),
        (41, 3),
        (43, 0),
        (43, 3),
        (49, 0),
        (49, 2),
        (67, 0),
    ];
    assert_eq!(of_spin(0), expected);
    // Spin 3: itself and 0 in x and y, itself and 1 in z, itself one step back in time.
    let expected = [
        (13, 3),
        (31, 1),
        (31, 3),
        (37, 0),
        (37, 3),
        (39, 0),
        (39, 3),
        (41, 0),
        (41, 3),
        (43, 0),
        (43, 3),
        (49, 1),
        (49, 3),
    ];
    assert_eq!(of_spin(3), expected);
}

#[test]
fn the_lattice_is_periodic_and_its_structure_symmetric() {
    let block_rows = 4 * 3 * 2 * 5 * 4;
    let columns = indices("qcd-block-columns", &[4, 3, 2, 5], 13 * block_rows);
    let mut blocks: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for (place, &column) in columns.iter().enumerate() {
        assert!(column < block_rows);
        *blocks.entry((place % block_rows, column)).or_default() += 1;
    }
    // gamma_5 D gamma_5 is the adjoint of D (Matrix Market, set QCD): (r, c) has a counterpart at
    // (c', r') with spins exchanged by gamma_5, 0 with 2 and 1 with 3.
    let exchanged = |row: usize| row ^ 2;
    for (&(row, column), count) in &blocks {
        assert_eq!(blocks.get(&(exchanged(column), exchanged(row))), Some(count));
    }
}

#[test]
fn ell_and_bell_are_the_same_matrix_of_the_published_size() {
    let shape = [8, 8, 8, 8];
    let (rows, block_rows) = (49_152, 16_384);
    let ell = indices("qcd-columns", &shape, 1_916_928);
    let bell = indices("qcd-block-columns", &shape, 13 * block_rows);
    for row in (0..rows).step_by(7) {
        let entries: Vec<usize> = (0..39).map(|k| ell[k * rows + row]).collect();
        let expected: Vec<usize> = (0..13)
            .map(|k| bell[k * block_rows + row / 3])
            .flat_map(|block| [3 * block, 3 * block + 1, 3 * block + 2])
            .collect();
        assert_eq!(entries, expected, "row {row}");
        assert!(entries.is_sorted_by(|a, b| a < b), "row {row}");
    }
}

#[test]
fn masks_are_checkerboards_within_a_frame_of_zeros() {
    let Values::F64(mask) = run("red-black-mask", &[2], 48).unwrap() else { panic!() };
    let zero = [0.0; 6];
    let (even, odd) = ([1.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(mask, [zero, even, odd, zero, zero, odd, even, zero].concat());
}

#[test]
fn what_does_not_fit_is_refused() {
    let message = |name, shape: &[u64], len| run(name, shape, len).unwrap_err().to_string();
    assert_eq!(
        message("qcd-columns", &[8, 8], 5),
        "the shape is [x, y, z, t], the sites of the lattice in each direction"
    );
    assert_eq!(
        message("qcd-columns", &[1, 1, 1, 1], 5),
        "this shape makes 468 elements, the buffer has 5"
    );
    assert_eq!(
        message("tridiagonal-lower", &[4], 6),
        "this shape makes a multiple of 4 elements, the buffer has 6"
    );
    for shape in [&[0, 1, 1, 1], &[u64::MAX; 4], &[1 << 30, 1, 1, 1]] {
        assert!(run("qcd-block-columns", shape, 52).is_err());
    }
    assert!(run("tridiagonal-upper", &[0], 0).is_err());
    assert!(run("red-black-mask", &[u64::MAX], 48).is_err());
}

#[test]
fn a_chain_visits_its_elements_and_begins_anew() {
    assert_eq!(indices("chain", &[2], 6), [2, 3, 4, 5, 0, 1]);
    for (shape, len) in [(&[4][..], 6), (&[0], 6), (&[8], 6), (&[], 6), (&[2, 2], 6)] {
        assert!(run("chain", shape, len).is_err(), "{shape:?} of {len}");
    }
}
