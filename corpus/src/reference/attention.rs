//! Attention, softmax(Q Kᵀ / √D) V for each head of a batch, in f64 and rounded once to bf16.
//!
//! `attention`: arguments Q, K, V, O, all \[batch\]\[sequence\]\[heads\]\[D\], the length of
//! sequences and the heads. The kernel's name says D, and whether a query sees the keys up to its
//! own place alone.
//!
//! `attention-decode`: one query for each head of a sequence, and four heads that share keys and
//! values. Arguments of two launches: Q, K, V, three buffers of parts, the length, the heads and,
//! where K and V lie in pages of 16 keys, their table and the pages of a sequence; then three
//! buffers of parts, O and the number of parts.

use half::bf16;

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::{Inputs, unsupported};

/// Elements of a head where the kernel's name does not say.
const DECODED: usize = 128;

/// Keys of a page.
const PAGE: usize = 16;

/// Heads that share keys and values when one token is decoded.
const SHARING: usize = 4;

/// The result of one query. `keys` gives the key and the value at each place.
fn attend<'a>(
    query: &[bf16],
    keys: impl Iterator<Item = (&'a [bf16], &'a [bf16])> + Clone,
) -> Vec<bf16> {
    let scale = 1.0 / (query.len() as f64).sqrt();
    let score = |key: &[bf16]| {
        let products = query.iter().zip(key).map(|(q, k)| q.to_f64() * k.to_f64());
        products.sum::<f64>() * scale
    };
    let scores: Vec<f64> = keys.clone().map(|(key, _)| score(key)).collect();
    let greatest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (mut total, mut sums) = (0.0, vec![0.0; query.len()]);
    for ((_, value), score) in keys.zip(scores) {
        let weight = (score - greatest).exp();
        total += weight;
        sums.iter_mut().zip(value).for_each(|(sum, v)| *sum += weight * v.to_f64());
    }
    sums.into_iter().map(|sum| bf16::from_f64(sum / total)).collect()
}

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let [q, k, v, o] = [0, 1, 2, 3].map(|position| inputs.buffer::<bf16>(position));
    let (q, k, v, o) = (q?, k?, v?, o?);
    let (sequence, heads) = (inputs.size(4)?, inputs.size(5)?);
    let d = if inputs.kernel.contains("d64") { 64 } else { 128 };
    let is_causal = inputs.kernel.ends_with("causal");
    let of_token = heads.saturating_mul(d);
    let of_batch = sequence.saturating_mul(of_token);
    if of_batch == 0 || !q.elements.len().is_multiple_of(of_batch) {
        let length = q.elements.len();
        return Err(unsupported(format!("Q has {length} elements, which are no batches")));
    }
    for buffer in [k, v, o] {
        buffer.exactly(q.elements.len())?;
    }
    if !inputs.runs() {
        return Ok(o.replaced_by(o.elements.to_vec()));
    }
    let mut elements = Vec::with_capacity(q.elements.len());
    for first in (0..q.elements.len()).step_by(of_batch) {
        for token in 0..sequence {
            for head in 0..heads {
                let place = |token: usize| first + token * of_token + head * d;
                let seen = if is_causal { token + 1 } else { sequence };
                let keys = (0..seen).map(place).map(|at| {
                    let head = at..at + d;
                    (&k.elements[head.clone()], &v.elements[head])
                });
                elements.extend(attend(&q.elements[place(token)..][..d], keys));
            }
        }
    }
    Ok(o.replaced_by(elements))
}

pub(super) fn run_decode(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let [q, k, v] = [0, 1, 2].map(|position| inputs.buffer::<bf16>(position));
    let (q, k, v) = (q?, k?, v?);
    let (sequence, heads) = (inputs.size(6)?, inputs.size(7)?);
    let is_paged = inputs.kernel.ends_with("paged");
    let o = inputs.buffer::<bf16>(if is_paged { 13 } else { 11 })?;
    let (key_heads, of_batch) = (heads / SHARING, heads.saturating_mul(DECODED));
    if key_heads == 0 || !q.elements.len().is_multiple_of(of_batch) {
        return Err(unsupported(format!("{} elements of Q for {heads} heads", q.elements.len())));
    }
    o.exactly(q.elements.len())?;
    let batch = q.elements.len() / of_batch;
    // The place of each key in its buffer.
    let table = if is_paged {
        let table = inputs.buffer::<i32>(8)?;
        let pages = inputs.size(9)?;
        table.at_least(batch.saturating_mul(pages))?;
        Some((table.elements, pages))
    } else {
        None
    };
    let place = |sequence_of: usize, token: usize| match table {
        None => Some(sequence_of * sequence + token),
        Some((table, pages)) => {
            let page = *table.get(sequence_of * pages + token / PAGE)?;
            Some(usize::try_from(page).ok()? * PAGE + token % PAGE)
        }
    };
    let of_token = key_heads * DECODED;
    let tokens = k.elements.len().min(v.elements.len()) / of_token;
    let mut elements = Vec::with_capacity(q.elements.len());
    for sequence_of in 0..batch {
        let places: Option<Vec<usize>> =
            (0..sequence).map(|token| place(sequence_of, token)).collect();
        let places = places.filter(|places| places.iter().all(|&place| place < tokens));
        let places =
            places.ok_or_else(|| unsupported("a key lies behind its buffer".to_owned()))?;
        for head in 0..heads {
            let at = (sequence_of * heads + head) * DECODED;
            let keys = places.iter().map(|place| {
                let first = place * of_token + head / SHARING * DECODED;
                let key = first..first + DECODED;
                (&k.elements[key.clone()], &v.elements[key])
            });
            elements.extend(attend(&q.elements[at..at + DECODED], keys));
        }
    }
    Ok(o.replaced_by(elements))
}
