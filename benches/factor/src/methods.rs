//! The methods, each as the program would use it.

use anyhow::anyhow;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::LltRegularization;
use faer::perm::Perm;
use faer::sparse::linalg::SupernodalThreshold;
use faer::sparse::linalg::cholesky::{CholeskySymbolicParams, LltRef, SymbolicCholesky, SymmetricOrdering, factorize_symbolic_cholesky};
use faer::sparse::{SparseColMat, Triplet};
use faer::traits::RealField;
use faer::{Conj, Mat, Par, Side};
use pliant::math::Vec3;
use pliant::sparse::{Columns, FactorWork, RestFactor};

use crate::matrix::RestMatrix;

/// Memory for the columns that the program keeps of a body [bytes].
const COLUMNS_LIMIT: usize = 256 << 20;
/// Nodes whose columns are found together, as `Columns` does.
const GROUP: usize = 16;

#[derive(Clone, Copy)]
pub enum Precision {
    Single,
    Double,
}

#[derive(Clone, Copy)]
pub enum Order {
    /// Approximate minimum degree, faer's own.
    MinimumDegree,
    /// The nested dissection of `RestFactor`.
    Dissection,
}

#[derive(Clone, Copy)]
pub enum Method {
    Pliant,
    Faer(Precision, Order, SupernodalThreshold),
}

impl Method {
    pub const ALL: [Self; 7] = [
        Self::Pliant,
        Self::Faer(Precision::Single, Order::MinimumDegree, SupernodalThreshold::FORCE_SUPERNODAL),
        Self::Faer(Precision::Single, Order::Dissection, SupernodalThreshold::FORCE_SUPERNODAL),
        Self::Faer(Precision::Single, Order::MinimumDegree, SupernodalThreshold::FORCE_SIMPLICIAL),
        Self::Faer(Precision::Double, Order::MinimumDegree, SupernodalThreshold::FORCE_SUPERNODAL),
        Self::Faer(Precision::Double, Order::Dissection, SupernodalThreshold::FORCE_SUPERNODAL),
        Self::Faer(Precision::Double, Order::MinimumDegree, SupernodalThreshold::AUTO),
    ];

    pub fn name(self) -> String {
        let Self::Faer(precision, order, threshold) = self else { return "pliant f32".into() };
        let precision = match precision {
            Precision::Single => "f32",
            Precision::Double => "f64",
        };
        let order = match order {
            Order::MinimumDegree => "amd",
            Order::Dissection => "dissection",
        };
        let kind = match threshold.0 {
            0.0 => "super",
            f64::INFINITY => "simple",
            _ => "auto",
        };
        format!("faer {precision} {order} {kind}")
    }

    pub fn factor<'m>(self, matrix: &'m RestMatrix, threads: usize) -> anyhow::Result<Box<dyn Factored + 'm>> {
        Ok(match self {
            Self::Pliant => Box::new(Pliant::new(matrix)?),
            Self::Faer(Precision::Single, order, threshold) => Box::new(Faer::<f32>::new(matrix, order, threshold, threads)?),
            Self::Faer(Precision::Double, order, threshold) => Box::new(Faer::<f64>::new(matrix, order, threshold, threads)?),
        })
    }
}

pub trait Factored {
    fn memory(&self) -> usize;
    /// One entry a node of the body; zero at fixed nodes.
    fn solve(&mut self, rhs: &[Vec3], x: &mut [Vec3]);
    /// Finds the columns at the free nodes `nodes`, all touched rows of them; returns the first of them (its x).
    fn columns(&mut self, matrix: &RestMatrix, nodes: &[u32]) -> Vec<Vec3>;
}

struct Pliant {
    factor: RestFactor,
    work: FactorWork,
}

impl Pliant {
    fn new(matrix: &RestMatrix) -> anyhow::Result<Self> {
        let model = &matrix.model;
        let factor = RestFactor::new(&model.pattern, &matrix.blocks, &matrix.range, &model.fixed, &model.rest_positions)?;
        Ok(Self { factor, work: FactorWork::default() })
    }
}

impl Factored for Pliant {
    fn memory(&self) -> usize {
        self.factor.memory()
    }

    fn solve(&mut self, rhs: &[Vec3], x: &mut [Vec3]) {
        self.factor.solve(rhs, x, &mut self.work);
    }

    fn columns(&mut self, matrix: &RestMatrix, nodes: &[u32]) -> Vec<Vec3> {
        let columns = Columns::new(&self.factor, &matrix.touched, COLUMNS_LIMIT);
        let whole = columns.whole(&self.factor, nodes);
        let row = |i: &u32| columns.row(*i).zip(whole.first());
        let entry = |(row, first): (u32, &Vec<[f32; 9]>)| Vec3::from_fn(|axis, _| f64::from(first[row as usize][axis]));
        matrix.touched.iter().map(|i| row(i).map_or_else(Vec3::zeros, entry)).collect()
    }
}

/// Numbers of `Faer`.
pub trait Real: RealField {
    fn of(value: f64) -> Self;
    fn value(&self) -> f64;
}

impl Real for f32 {
    fn of(value: f64) -> Self {
        value as Self
    }

    fn value(&self) -> f64 {
        (*self).into()
    }
}

impl Real for f64 {
    fn of(value: f64) -> Self {
        value
    }

    fn value(&self) -> f64 {
        *self
    }
}

struct Faer<T> {
    symbolic: SymbolicCholesky<u32>,
    values: Vec<T>,
    /// Among the free nodes, of each node.
    places: Vec<Option<usize>>,
    par: Par,
    stack: MemBuffer,
    one: Mat<T>,
}

impl<T: Real> Faer<T> {
    fn new(matrix: &RestMatrix, order: Order, threshold: SupernodalThreshold, threads: usize) -> anyhow::Result<Self> {
        let mut n_free = 0;
        let places: Vec<Option<usize>> = (0..matrix.n_nodes())
            .map(|node| {
                let place = (!matrix.is_fixed(node)).then_some(n_free);
                n_free += usize::from(place.is_some());
                place
            })
            .collect();
        let mut triplets = vec![];
        for (node, place) in places.iter().enumerate() {
            for (column, block) in matrix.row(node) {
                let (Some(row), Some(column)) = (place, places[column]) else { continue };
                for r in 0..3 {
                    for c in 0..3 {
                        let (r, c, value) = (3 * row + r, 3 * column + c, block[(r, c)]);
                        if r >= c {
                            triplets.push(Triplet::new(r as u32, c as u32, T::of(value)));
                        }
                    }
                }
            }
        }
        let n = 3 * n_free;
        let a = SparseColMat::<u32, T>::try_new_from_triplets(n, n, &triplets).map_err(|error| anyhow!("{error:?}"))?;
        let par = if threads > 1 { Par::rayon(threads) } else { Par::Seq };
        let permutation = match order {
            Order::MinimumDegree => None,
            Order::Dissection => Some(dissection(matrix, &places)?),
        };
        let ordering = permutation.as_ref().map_or(SymmetricOrdering::Amd, |p| SymmetricOrdering::Custom(p.as_ref()));
        let params = CholeskySymbolicParams { supernodal_flop_ratio_threshold: threshold, ..Default::default() };
        let symbolic = factorize_symbolic_cholesky(a.symbolic(), Side::Lower, ordering, params).map_err(|error| anyhow!("{error:?}"))?;
        let mut values = vec![T::of(0.0); symbolic.len_val()];
        let mut stack = MemBuffer::new(symbolic.factorize_numeric_llt_scratch::<T>(par, Default::default()));
        symbolic
            .factorize_numeric_llt(
                &mut values,
                a.as_ref(),
                Side::Lower,
                LltRegularization::default(),
                par,
                MemStack::new(&mut stack),
                Default::default(),
            )
            .map_err(|error| anyhow!("{error:?}"))?;
        let stack = MemBuffer::new(symbolic.solve_in_place_scratch::<T>(3 * GROUP, par));
        Ok(Self { symbolic, values, places, par, stack, one: Mat::zeros(n, 1) })
    }
}

/// The order of elimination of `RestFactor`, unknown by unknown.
fn dissection(matrix: &RestMatrix, places: &[Option<usize>]) -> anyhow::Result<Perm<u32>> {
    let order = Pliant::new(matrix)?.factor;
    let forward: Vec<u32> = order
        .order()
        .iter()
        .filter_map(|node| places[*node as usize])
        .flat_map(|place| (0..3).map(move |c| (3 * place + c) as u32))
        .collect();
    let mut inverse = vec![0; forward.len()];
    forward.iter().enumerate().for_each(|(k, unknown)| inverse[*unknown as usize] = k as u32);
    Ok(Perm::new_checked(forward.into(), inverse.into(), 3 * places.iter().flatten().count()))
}

impl<T: Real> Factored for Faer<T> {
    fn memory(&self) -> usize {
        size_of_val(&*self.values)
    }

    fn solve(&mut self, rhs: &[Vec3], x: &mut [Vec3]) {
        for (place, rhs) in self.places.iter().zip(rhs) {
            if let Some(place) = place {
                (0..3).for_each(|c| self.one[(3 * place + c, 0)] = T::of(rhs[c]));
            }
        }
        let factor = LltRef::new(&self.symbolic, &self.values);
        factor.solve_in_place_with_conj(Conj::No, self.one.as_mut(), self.par, MemStack::new(&mut self.stack));
        for (place, x) in self.places.iter().zip(x) {
            *x = place.map_or_else(Vec3::zeros, |place| Vec3::from_fn(|c, _| self.one[(3 * place + c, 0)].value()));
        }
    }

    fn columns(&mut self, matrix: &RestMatrix, nodes: &[u32]) -> Vec<Vec3> {
        let mut kept: Vec<Vec<[f32; 9]>> = vec![];
        let factor = LltRef::new(&self.symbolic, &self.values);
        for group in nodes.chunks(GROUP) {
            let mut values = Mat::<T>::zeros(self.one.nrows(), 3 * group.len());
            for (k, node) in group.iter().enumerate() {
                if let Some(place) = self.places[*node as usize] {
                    (0..3).for_each(|c| values[(3 * place + c, 3 * k + c)] = T::of(1.0));
                }
            }
            factor.solve_in_place_with_conj(Conj::No, values.as_mut(), self.par, MemStack::new(&mut self.stack));
            for k in 0..group.len() {
                let block = |i: &u32| {
                    let place = self.places[*i as usize];
                    place.map_or([0.0; 9], |place| std::array::from_fn(|e| values[(3 * place + e % 3, 3 * k + e / 3)].value() as f32))
                };
                kept.push(matrix.touched.iter().map(block).collect());
            }
        }
        kept[0].iter().map(|block| Vec3::new(block[0].into(), block[1].into(), block[2].into())).collect()
    }
}

/// A solution in f64, improved once.
pub fn exact_solution(matrix: &RestMatrix, rhs: &[Vec3]) -> anyhow::Result<Vec<Vec3>> {
    let mut factor = Faer::<f64>::new(matrix, Order::MinimumDegree, SupernodalThreshold::AUTO, 1)?;
    let (mut x, mut change) = (vec![Vec3::zeros(); rhs.len()], vec![Vec3::zeros(); rhs.len()]);
    for _ in 0..2 {
        let product = |node: usize| matrix.row(node).map(|(j, block)| block * x[j]).sum::<Vec3>();
        let residual: Vec<Vec3> = rhs.iter().enumerate().map(|(node, rhs)| rhs - product(node)).collect();
        factor.solve(&residual, &mut change);
        x.iter_mut().zip(&change).for_each(|(x, change)| *x += change);
    }
    Ok(x)
}
