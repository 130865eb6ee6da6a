//! `pliant bench copy`: the bandwidth of the memory.

use super::measure::{Bandwidth, LIMIT_BYTES};
use super::{BenchArgs, Failure, Milliseconds, Record, device, print_head};

pub fn bench(args: &BenchArgs) -> Result<Vec<Record>, Failure> {
    if let Some(device) = args.machine.device()? {
        let record = device::copy(&device)?;
        print_head();
        record.print();
        return Ok(vec![record]);
    }
    let pool = args.machine.pool()?;
    let bandwidth = pool.install(Bandwidth::measure);
    let limit = bandwidth.limit();
    let record = |what: &'static str, ms: Milliseconds, arrays: u64| {
        let case = format!("arrays of {} MiB", LIMIT_BYTES >> 20);
        Record {
            bench: "copy",
            case,
            solver: what,
            backend: "cpu",
            precision: "f64",
            threads: pool.current_num_threads(),
            ms,
            ..Record::default()
        }
        .of_bytes(arrays * LIMIT_BYTES as u64, limit)
    };
    let records = [record("copy y = x", bandwidth.copy, 2), record("triad z = x + s y", bandwidth.triad, 3)];
    print_head();
    records.iter().for_each(Record::print);
    say!("what is read and what is written count once each; lines that are read only to be overwritten do not count");
    Ok(records.into())
}
