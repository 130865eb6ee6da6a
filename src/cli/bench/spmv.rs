//! `pliant bench spmv`: products in every storage, and which one the program would choose.

use super::matrices::NamedMatrix;
use super::measure::{Bandwidth, repeat};
use super::{BenchArgs, Failure, Record, device, print_head};
use crate::lab::sparse::{Chooser, Real, Storage, StorageKind};

pub fn bench(args: &BenchArgs) -> Result<Vec<Record>, Failure> {
    let matrices = args.matrices();
    if let Some(device) = args.machine.device()? {
        return device::products(&device, &matrices);
    }
    let pool = args.machine.pool()?;
    let limit = pool.install(Bandwidth::measure).limit();
    let mut chooser = Chooser::default();
    let mut records = vec![];
    print_head();
    matrices.for_each(|matrix| {
        pool.install(|| {
            products::<f64>(matrix, limit, &mut chooser, &mut records);
            products::<f32>(matrix, limit, &mut chooser, &mut records);
        });
        Ok(())
    })?;
    say!("limit: {limit:.1} GB/s, the better of copy and triad in this run; bytes: the matrix as stored, x and y, once each");
    Ok(records)
}

fn products<T: Real>(matrix: &NamedMatrix, limit: f64, chooser: &mut Chooser, records: &mut Vec<Record>) {
    let csr = &matrix.csr;
    for kind in StorageKind::ALL {
        let storage = Storage::<T>::new(csr, kind);
        let x = storage.padded(&vec![1.0; csr.n_columns]);
        let mut y = storage.padded(&vec![0.0; csr.n_rows()]);
        let ms = repeat(|| storage.multiply(&x, &mut y));
        let stored = storage.n_blocks() * kind.block() * kind.block();
        let record = Record {
            bench: "spmv",
            case: matrix.name.clone(),
            solver: kind.name(),
            backend: "cpu",
            precision: T::NAME,
            threads: rayon::current_num_threads(),
            size: matrix.size.clone(),
            density: Some(csr.n_entries() as f64 / stored as f64),
            ms,
            ..Record::default()
        };
        let record = record.of_bytes(storage.bytes(), limit);
        record.print();
        records.push(record);
    }
    let chosen = chooser.best::<T>(csr).name();
    say!("{:30} {chosen} would be chosen for {}", "", T::NAME);
    if let Some(record) = records.iter_mut().rev().take(StorageKind::ALL.len()).find(|record| record.solver == chosen) {
        record.note = Some("the one that would be chosen".into());
    }
}

#[cfg(test)]
mod tests {
    use super::super::matrices::MatrixArgs;
    use super::*;
    use crate::cli::bench::Size;

    #[test]
    fn every_storage_has_a_record_and_one_is_chosen() {
        let matrices = MatrixArgs { mesh: vec![[2, 2, 4]], matrix: vec![] };
        let (mut records, mut chooser) = (vec![], Chooser::default());
        matrices
            .for_each(|matrix| {
                products::<f64>(matrix, 20.0, &mut chooser, &mut records);
                products::<f32>(matrix, 20.0, &mut chooser, &mut records);
                Ok(())
            })
            .unwrap();
        assert_eq!(records.len(), 2 * StorageKind::ALL.len());
        for precision in records.chunks(StorageKind::ALL.len()) {
            assert_eq!(precision.iter().filter(|record| record.note.is_some()).count(), 1);
        }
        let record = records.iter().find(|record| record.solver == "bcsr3").unwrap();
        assert!((record.density.unwrap() - 1.0).abs() < 1e-12, "3x3 blocks of nodes have no zeros of their own");
        // 9 values and a column a block, a start a row, x and y.
        let Size { nodes, blocks, .. } = record.size;
        assert_eq!(record.bytes.unwrap(), (76 * blocks + 4 * (nodes + 1) + 2 * 24 * nodes) as u64);
        assert!((record.fraction.unwrap() * 20.0 / record.gb_per_s.unwrap() - 1.0).abs() < 1e-12);
    }
}
