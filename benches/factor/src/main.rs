//! The factor of the rest pose (`pliant::sparse::RestFactor`) against the sparse Cholesky of faer, in the three uses
//! that the program has: to factor a body's matrix, to solve for one right-hand side, and to find the columns of the
//! inverse at nodes that touch.
//!
//!     cd benches/factor && cargo run --release -- [SCENE.toml[:BODY]]...
//!
//! All methods take turns in each round, so that other work on the machine is shared; the median of the rounds is
//! printed.

mod matrix;
mod methods;

use std::time::Instant;

use anyhow::Context;
use pliant::math::Vec3;

use matrix::RestMatrix;
use methods::Method;

/// Bodies of the gallery, a cube of the pile, and a cube of `cubes`.
const DEFAULT: [&str; 5] = ["gallery.toml:bunny", "gallery.toml:armadillo", "gallery.toml:dragon", "peers/pile27.toml:", "cubes.toml:"];
const ROUNDS: usize = 9;
const SOLVES: usize = 25;
/// Touched nodes whose columns are found, the lowest of the body: those that a landing touches.
const TOUCHED: usize = 48;

/// Times of one method [ms], one a round.
#[derive(Default)]
struct Times {
    factor: Vec<f64>,
    solve: Vec<f64>,
    columns: Vec<f64>,
}

/// What does not change from round to round.
#[derive(Clone, Copy, Default)]
struct Quality {
    megabytes: f64,
    /// Largest error of a solution and of a column, as a part of its largest entry.
    solution: f64,
    column: f64,
}

fn main() -> anyhow::Result<()> {
    let named: Vec<String> = std::env::args().skip(1).collect();
    let scenes = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes/");
    let default = || DEFAULT.iter().map(|name| format!("{scenes}{name}")).collect();
    for name in if named.is_empty() { default() } else { named } {
        let matrix = RestMatrix::read(&name).with_context(|| name.clone())?;
        println!(
            "\n{}: {} free nodes, {} blocks, {} nodes may be touched",
            matrix.name,
            matrix.n_free(),
            matrix.n_blocks(),
            matrix.touched.len()
        );
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
            pool.install(|| compare(&matrix, threads))?;
        }
    }
    Ok(())
}

fn compare(matrix: &RestMatrix, threads: usize) -> anyhow::Result<()> {
    let rhs: Vec<Vec3> = (0..matrix.n_nodes()).map(|i| load(i, matrix.is_fixed(i))).collect();
    let touched = &matrix.lowest(TOUCHED);
    let exact = methods::exact_solution(matrix, &rhs)?;
    let exact_column = methods::exact_solution(matrix, &matrix.unit_load(touched[0]))?;
    let mut times: Vec<Times> = Method::ALL.iter().map(|_| Times::default()).collect();
    let mut qualities = vec![Quality::default(); Method::ALL.len()];
    for _ in 0..ROUNDS {
        for ((method, times), quality) in Method::ALL.iter().zip(&mut times).zip(&mut qualities) {
            let start = Instant::now();
            let mut factored = method.factor(matrix, threads)?;
            times.factor.push(milliseconds(start));
            let mut x = vec![Vec3::zeros(); rhs.len()];
            let start = Instant::now();
            (0..SOLVES).for_each(|_| factored.solve(&rhs, &mut x));
            times.solve.push(milliseconds(start) / SOLVES as f64);
            let start = Instant::now();
            let column = factored.columns(matrix, touched);
            times.columns.push(milliseconds(start));
            *quality = Quality {
                megabytes: factored.memory() as f64 / 1e6,
                solution: error(&x, &exact),
                column: error(&column, &matrix.touched.iter().map(|i| exact_column[*i as usize]).collect::<Vec<_>>()),
            };
        }
    }
    println!("  {threads} thread(s)             factor [ms]   solve [us]  {TOUCHED} columns [ms]      [MB]   solution     column");
    for ((method, times), quality) in Method::ALL.iter().zip(&mut times).zip(&qualities) {
        let [factor, solve, columns] = [&mut times.factor, &mut times.solve, &mut times.columns].map(|times| median(times));
        let Quality { megabytes, solution, column } = quality;
        let name = method.name();
        println!("  {name:22} {factor:12.2} {:12.1} {columns:16.2} {megabytes:9.2} {solution:10.1e} {column:10.1e}", 1e3 * solve);
    }
    Ok(())
}

fn load(i: usize, is_fixed: bool) -> Vec3 {
    let i = i as f64;
    if is_fixed { Vec3::zeros() } else { Vec3::new(i.sin(), (1.7 * i).cos(), (0.3 * i).sin()) }
}

fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn error(found: &[Vec3], exact: &[Vec3]) -> f64 {
    let largest = |vectors: &mut dyn Iterator<Item = Vec3>| vectors.map(|v| v.amax()).fold(0.0, f64::max);
    largest(&mut found.iter().zip(exact).map(|(a, b)| a - b)) / largest(&mut exact.iter().copied())
}
