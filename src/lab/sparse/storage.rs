//! One matrix, any storage, and the choice between them by measurement.

use std::collections::BTreeMap;
use std::time::Instant;

use super::{Bcsr, Csr, Real, Sell};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StorageKind {
    /// CSR.
    Bcsr1,
    Bcsr2,
    Bcsr3,
    Bcsr4,
    Bcsr8,
    /// 3x3 blocks, eight rows interleaved.
    Sell8,
}

impl StorageKind {
    pub const ALL: [Self; 6] = [Self::Bcsr1, Self::Bcsr2, Self::Bcsr3, Self::Bcsr4, Self::Bcsr8, Self::Sell8];

    /// As records spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bcsr1 => "bcsr1",
            Self::Bcsr2 => "bcsr2",
            Self::Bcsr3 => "bcsr3",
            Self::Bcsr4 => "bcsr4",
            Self::Bcsr8 => "bcsr8",
            Self::Sell8 => "sell8",
        }
    }

    /// N.
    pub fn block(self) -> usize {
        match self {
            Self::Bcsr1 => 1,
            Self::Bcsr2 => 2,
            Self::Bcsr3 | Self::Sell8 => 3,
            Self::Bcsr4 => 4,
            Self::Bcsr8 => 8,
        }
    }
}

/// A matrix in one of the storages.
#[derive(Clone, Debug)]
pub enum Storage<T> {
    Bcsr1(Bcsr<T, 1>),
    Bcsr2(Bcsr<T, 2>),
    Bcsr3(Bcsr<T, 3>),
    Bcsr4(Bcsr<T, 4>),
    Bcsr8(Bcsr<T, 8>),
    Sell8(Sell<T, 8>),
}

macro_rules! with_matrix {
    ($storage:expr, $matrix:ident => $work:expr) => {
        match $storage {
            Storage::Bcsr1($matrix) => $work,
            Storage::Bcsr2($matrix) => $work,
            Storage::Bcsr3($matrix) => $work,
            Storage::Bcsr4($matrix) => $work,
            Storage::Bcsr8($matrix) => $work,
            Storage::Sell8($matrix) => $work,
        }
    };
}

impl<T: Real> Storage<T> {
    pub fn new(csr: &Csr, kind: StorageKind) -> Self {
        match kind {
            StorageKind::Bcsr1 => Self::Bcsr1(Bcsr::new(csr)),
            StorageKind::Bcsr2 => Self::Bcsr2(Bcsr::new(csr)),
            StorageKind::Bcsr3 => Self::Bcsr3(Bcsr::new(csr)),
            StorageKind::Bcsr4 => Self::Bcsr4(Bcsr::new(csr)),
            StorageKind::Bcsr8 => Self::Bcsr8(Bcsr::new(csr)),
            StorageKind::Sell8 => Self::Sell8(Sell::new(&Bcsr::new(csr))),
        }
    }

    pub fn kind(&self) -> StorageKind {
        match self {
            Self::Bcsr1(_) => StorageKind::Bcsr1,
            Self::Bcsr2(_) => StorageKind::Bcsr2,
            Self::Bcsr3(_) => StorageKind::Bcsr3,
            Self::Bcsr4(_) => StorageKind::Bcsr4,
            Self::Bcsr8(_) => StorageKind::Bcsr8,
            Self::Sell8(_) => StorageKind::Sell8,
        }
    }

    /// `values` with zeros up to a whole block.
    pub fn padded(&self, values: &[f64]) -> Vec<T> {
        let mut padded: Vec<T> = values.iter().map(|value| T::from_f64(*value)).collect();
        padded.resize(values.len().next_multiple_of(self.kind().block()), T::ZERO);
        padded
    }

    /// Least bytes of a product: the matrix as stored and both vectors, each once.
    pub fn bytes(&self) -> u64 {
        with_matrix!(self, matrix => matrix.bytes())
    }

    /// Blocks with what the storage adds to them.
    pub fn n_blocks(&self) -> usize {
        match self {
            Self::Bcsr1(matrix) => matrix.blocks.len(),
            Self::Bcsr2(matrix) => matrix.blocks.len(),
            Self::Bcsr3(matrix) => matrix.blocks.len(),
            Self::Bcsr4(matrix) => matrix.blocks.len(),
            Self::Bcsr8(matrix) => matrix.blocks.len(),
            Self::Sell8(matrix) => matrix.n_padded(),
        }
    }

    /// `y = A x`, both padded.
    pub fn multiply(&self, x: &[T], y: &mut [T]) {
        with_matrix!(self, matrix => matrix.multiply(x, y));
    }

    /// [`Self::multiply`], and `x.y` if `dots` has places for partial sums.
    pub fn multiply_and_dot(&self, x: &[T], y: &mut [T], dots: Option<&mut Vec<f64>>) -> f64 {
        with_matrix!(self, matrix => matrix.multiply_and_dot(x, y, dots))
    }
}

/// Storages whose least traffic is this many times the least of all are not tried: memory bounds the product. In a
/// cache instructions do, and stored zeros may save some.
const HOPELESS: f64 = 1.6;
const HOPELESS_IN_CACHE: f64 = 5.0;
/// Bytes of a matrix that the caches next to the cores may hold.
const CACHE: f64 = 2e6;
/// Products that each storage is timed with, after one to warm up; the fastest counts.
const TRIALS: usize = 9;

/// Remembers which storage is fastest for a structure on this machine.
#[derive(Clone, Debug, Default)]
pub struct Chooser {
    /// By structure, precision and number of threads.
    known: BTreeMap<(u64, &'static str, usize), StorageKind>,
}

impl Chooser {
    /// The fastest storage of `csr`; measured the first time, remembered afterwards for all matrices of its structure.
    pub fn best<T: Real>(&mut self, csr: &Csr) -> StorageKind {
        let key = (fingerprint(csr), T::NAME, rayon::current_num_threads());
        *self.known.entry(key).or_insert_with(|| fastest::<T>(csr))
    }

    /// Structures that have been measured.
    pub fn n_known(&self) -> usize {
        self.known.len()
    }
}

fn fastest<T: Real>(csr: &Csr) -> StorageKind {
    let traffic = |kind: StorageKind| floor_bytes::<T>(csr, kind);
    let least = StorageKind::ALL.map(traffic).into_iter().fold(f64::INFINITY, f64::min);
    let hopeless = if least <= CACHE { HOPELESS_IN_CACHE } else { HOPELESS };
    let tried = StorageKind::ALL.into_iter().filter(|kind| traffic(*kind) <= hopeless * least);
    let storages: Vec<Storage<T>> = tried.map(|kind| Storage::new(csr, kind)).collect();
    let mut timed = vec![f64::INFINITY; storages.len()];
    // All in turn: what disturbs the machine for a while disturbs all.
    for trial in 0..=TRIALS {
        for (storage, fastest) in storages.iter().zip(&mut timed) {
            let x = storage.padded(&vec![1.0; csr.n_columns]);
            let mut y = storage.padded(&vec![0.0; csr.n_rows()]);
            let start = Instant::now();
            storage.multiply(&x, &mut y);
            if trial > 0 {
                *fastest = start.elapsed().as_secs_f64().min(*fastest);
            }
        }
    }
    let best = storages.iter().zip(&timed).min_by(|a, b| a.1.total_cmp(b.1));
    best.map_or(StorageKind::Bcsr1, |(storage, _)| storage.kind())
}

/// Bytes of the blocks and their columns, without making them.
fn floor_bytes<T: Real>(csr: &Csr, kind: StorageKind) -> f64 {
    fn blocks<const N: usize>(csr: &Csr) -> usize {
        let mut found = vec![];
        let count = |i| {
            csr.block_columns::<N>(i, &mut found);
            found.len()
        };
        (0..csr.n_rows().div_ceil(N)).map(count).sum()
    }
    let n_blocks = match kind.block() {
        1 => csr.n_entries(),
        2 => blocks::<2>(csr),
        3 => blocks::<3>(csr),
        4 => blocks::<4>(csr),
        _ => blocks::<8>(csr),
    };
    (n_blocks * (kind.block() * kind.block() * size_of::<T>() + 4)) as f64
}

/// Of the structure alone (FNV-1a).
fn fingerprint(csr: &Csr) -> u64 {
    let words = csr.row_starts.iter().map(|start| *start as u64).chain(csr.columns.iter().map(|column| u64::from(*column)));
    words.fold(0xcbf2_9ce4_8422_2325, |hash, word| (hash ^ word).wrapping_mul(0x0100_0000_01b3))
}
