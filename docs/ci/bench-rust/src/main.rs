// SPDX-License-Identifier: MIT
//
// The benchmarks of bench.cc in Rust, and one of a hash table, whose order is random from run to run
// without --reproducible=yes.

mod bench;

use bench::keep;
use std::collections::HashMap;

// How often the word is hashed.
const ROUNDS: u32 = 1000;

fn numbers(n: usize) -> Vec<u32> {
    let mut x: u32 = 1;

    std::iter::repeat_with(|| {
        x = x.wrapping_mul(1664525).wrapping_add(1013904223); // the same on every machine
        x
    })
    .take(n)
    .collect()
}

benches! {
    fn sort() {
        let mut v = numbers(1000);

        v.sort_unstable();
        keep(&v);
    }

    fn hash() {
        let mut h: u32 = 2166136261;

        for _ in 0..ROUNDS {
            for c in keep(b"a word to be hashed") {
                h = (h ^ u32::from(*c)).wrapping_mul(16777619);
            }
        }
        keep(h);
    }

    fn table() {
        let m: HashMap<u32, u32> = numbers(1000).into_iter().map(|n| (n, n / 2)).collect();

        keep(m.values().map(|&v| u64::from(v)).sum::<u64>());
    }
}
