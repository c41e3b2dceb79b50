// SPDX-License-Identifier: MIT
//
// Benchmarks that are counted, not timed, as bench.h is for C++. The program runs the one named on
// its command line, once, or lists all of them:
//
//     benches! {
//         fn sort() {
//             let mut v = numbers(1000); // counted, too
//             v.sort();
//             keep(&v);
//         }
//     }
//
// The function of a benchmark is called bench_NAME, so that it can be counted alone, with what it
// calls: `quern run --calls=yes --toggle-collect='bench_*'`.

pub use std::hint::black_box as keep;

pub type Entry = (&'static str, fn());

#[macro_export]
macro_rules! benches {
    ($(fn $name:ident() $body:block)*) => {
        mod bench_functions {
            use super::*;
            $(
                #[export_name = concat!("bench_", stringify!($name))]
                #[inline(never)]
                pub extern "C" fn $name() $body
            )*
        }
        fn main() -> std::process::ExitCode {
            $crate::bench::main(&[$((stringify!($name), || bench_functions::$name())),*])
        }
    };
}

pub fn main(all: &[Entry]) -> std::process::ExitCode {
    let mut args = std::env::args().skip(1);
    match (args.next().as_deref(), args.next()) {
        (Some("--list"), None) => all.iter().for_each(|e| println!("{}", e.0)),
        (Some(name), None) if all.iter().any(|e| e.0 == name) => {
            all.iter().filter(|e| e.0 == name).for_each(|e| (e.1)())
        }
        _ => {
            eprintln!("usage: bench NAME, or --list");
            return 2.into();
        }
    }
    0.into()
}
