use super::*;
use crate::cases::Random;
use crate::gpu::{CompiledKernels, DeviceRequest, KernelSource, Stage, check_kernels, check_structs, test_device};
use crate::lab::sparse::tests::{inverse_diagonal, positive, reference_product, relative, uneven};
use crate::lab::sparse::{Bcsr, CpuWorker, Csr, Grouped, Mapping, Sell, segments, solve_on};

#[test]
fn shaders_are_declared_and_lay_structs_out_as_the_host() {
    let stages = [cg::Kernels::KERNELS, product::SellKernel::KERNELS, product::CopyKernel::KERNELS, worker::Kernels::KERNELS];
    let kernels = [&stages.concat()[..], &[product::GROUPED]].concat();
    check_kernels(&kernels);
    assert_eq!(check_structs(&kernels), ["Lab", "LabControl"]);
}

/// Each kernel is compiled once for a device, and once more for other constants.
#[test]
fn kernels_are_compiled_once() {
    let (device, kernels) = (test_device(), CompiledKernels::default());
    let KernelSource { name, host } = product::GROUPED;
    let compiled = |constants: &[(&str, f64)]| kernels.get(&device.device, name, host, constants);
    let [first, again, other] = [2.0, 2.0, 3.0].map(|slots| compiled(&[("THREADS", 64.0), ("SLOTS", slots)]).unwrap());
    assert!(Arc::ptr_eq(&first, &again) && first.pipeline != other.pipeline);
    assert!(!Arc::ptr_eq(&first, &compiled(&[]).unwrap()));
    for _ in 0..2 {
        assert!(compiled(&[("NONE", 1.0)]).is_err(), "the shader has no such constant");
    }
}

fn run(device: &Arc<Device>, record: impl FnOnce(&mut wgpu::ComputePass)) {
    let mut encoder = device.device.create_command_encoder(&Default::default());
    record(&mut encoder.begin_compute_pass(&Default::default()));
    device.queue.submit([encoder.finish()]);
}

fn single(values: &[f64], padding: usize) -> Vec<f32> {
    let mut single: Vec<f32> = values.iter().map(|x| *x as f32).collect();
    single.resize(values.len().next_multiple_of(padding), 0.0);
    single
}

fn check_mappings<const N: usize>(csr: &Csr) {
    let device = test_device();
    let x = Random::new(5).list(csr.n_columns);
    let wanted = reference_product(csr, &x);
    let matrix = Bcsr::<f32, N>::new(csr);
    let x = single(&x, N);
    for (threads, sorted) in [(128, true), (256, false)] {
        // Each takes a pipeline: with many threads a few will do.
        for mapping in Mapping::all(threads, N as u32).into_iter().step_by(if sorted { 1 } else { 3 }) {
            let grouped = Grouped::new(&matrix, mapping, threads, sorted);
            let product = GroupedProduct::new(&device, &grouped, &x).unwrap();
            run(&device, |pass| product.record(pass));
            let y = product.result().unwrap();
            assert!(relative(&y, &wanted) < 1e-5, "N {N} {mapping:?}: {:e}", relative(&y, &wanted));
            let mut twin = vec![0.0; y.len()];
            grouped.multiply(&x, &mut twin);
            let twin: Vec<f64> = twin.iter().map(|y| f64::from(*y)).collect();
            assert!(relative(&y, &twin) < 1e-6, "N {N} {mapping:?}: {:e} from its twin", relative(&y, &twin));
        }
    }
}

#[test]
fn every_mapping_gives_the_product_on_the_device() {
    let csr = uneven(517, 1);
    check_mappings::<1>(&csr);
    check_mappings::<2>(&csr);
    check_mappings::<4>(&csr);
    check_mappings::<8>(&csr);
    assert_eq!(test_device().fault(), None);
}

#[test]
fn interleaved_rows_give_the_product_on_the_device() {
    let device = test_device();
    for csr in [uneven(517, 1), uneven(61, 2), positive(2000, 3)] {
        let x = Random::new(5).list(csr.n_columns);
        let matrix = Sell::<f32, 32>::new(&Bcsr::new(&csr));
        let product = SellProduct::new(&device, &matrix, &single(&x, 3)).unwrap();
        run(&device, |pass| product.record(pass));
        let y = product.result().unwrap();
        assert!(relative(&y, &reference_product(&csr, &x)) < 1e-5, "{:e}", relative(&y, &reference_product(&csr, &x)));
        // And on the CPU, in the same layout.
        let mut twin = vec![0.0f32; y.len()];
        matrix.multiply(&single(&x, 3), &mut twin);
        let twin: Vec<f64> = twin.iter().map(|y| f64::from(*y)).collect();
        assert!(relative(&y, &twin) < 1e-6);
        let mut wrong = csr.clone();
        wrong.values[11] += 0.1;
        assert!(relative(&y, &reference_product(&wrong, &x)) > 1e-5, "an error of an entry is seen");
    }
}

#[test]
fn a_solve_stays_on_the_device_until_it_has_converged() {
    let device = test_device();
    let csr = positive(1501, 21);
    let b = Random::new(22).list(1501);
    let matrix = Bcsr::<f32, 3>::new(&csr);
    let mut d = single(&inverse_diagonal(&csr), 3);
    d.resize(matrix.n_block_rows() * 3, 0.0);
    let b32 = single(&b, 3);
    let mut cg = DeviceCg::new(&device, &Sell::new(&matrix), &d).unwrap();
    let (x, solved) = cg.solve(&b32, 1e-4, 200).unwrap();
    assert!(solved.converged && solved.residual <= 1e-4, "{solved:?}");
    let x64: Vec<f64> = x[..1501].iter().map(|x| f64::from(*x)).collect();
    let left: f64 = reference_product(&csr, &x64).iter().zip(&b).map(|(ax, b)| (ax - b).powi(2)).sum();
    assert!(left.sqrt() < 3e-4, "true residual {}", left.sqrt());
    // As many iterations as in f64, and the same numbers every time.
    let rows = 0..matrix.n_block_rows();
    let exact = Bcsr::<f64, 3>::new(&csr);
    let wide = |values: &[f32]| values.iter().map(|v| f64::from(*v)).collect::<Vec<_>>();
    let (reference, on_cpu) = solve_on(vec![CpuWorker::new(&exact, &rows, &wide(&d), &wide(&b32))], 1e-4, 200).unwrap();
    assert!(on_cpu.iterations.abs_diff(solved.iterations) <= 1, "{} on the CPU, {}", on_cpu.iterations, solved.iterations);
    assert!(relative(&x, &reference) < 1e-3);
    let (again, same) = cg.solve(&b32, 1e-4, 200).unwrap();
    assert!(again == x && same == solved);
}

#[test]
fn a_solve_with_a_fixed_number_of_iterations_does_so_many() {
    let device = test_device();
    let csr = positive(600, 23);
    let b = single(&Random::new(24).list(600), 3);
    let matrix = Bcsr::<f32, 3>::new(&csr);
    let d = single(&inverse_diagonal(&csr), 3);
    let mut cg = DeviceCg::new(&device, &Sell::new(&matrix), &d).unwrap();
    let exact = Bcsr::<f64, 3>::new(&csr);
    let wide = |values: &[f32]| values.iter().map(|v| f64::from(*v)).collect::<Vec<_>>();
    for iterations in [0, 1, 2, 3, 7, 8, 9] {
        let (x, solved) = cg.solve(&b, 0.0, iterations).unwrap();
        assert_eq!((solved.iterations, solved.converged), (iterations, false));
        let worker = CpuWorker::new(&exact, &(0..matrix.n_block_rows()), &wide(&d), &wide(&b));
        let (reference, wanted) = solve_on(vec![worker], 0.0, iterations).unwrap();
        assert!((solved.residual / wanted.residual - 1.0).abs() < 1e-4, "{iterations}: {solved:?} {wanted:?}");
        assert!(iterations == 0 || relative(&x, &reference) < 1e-5, "iteration {iterations}: {:e}", relative(&x, &reference));
    }
    // A right-hand side of zero is solved at once.
    let (x, solved) = cg.solve(&vec![0.0; b.len()], 1e-6, 50).unwrap();
    assert!(solved.converged && solved.iterations == 0 && x.iter().all(|x| *x == 0.0));
}

#[test]
fn several_logical_devices_give_the_iterates_of_one() {
    let csr = positive(700, 12);
    let b = single(&Random::new(13).list(700), 3);
    let matrix = Bcsr::<f32, 3>::new(&csr);
    let mut d = single(&inverse_diagonal(&csr), 3);
    d.resize(b.len(), 0.0);
    let open = || Device::open(&DeviceRequest::default()).unwrap();
    let devices = [open(), open(), open()];
    let solve = |n: usize, iterations: u32| {
        let parts = segments(&matrix.row_starts, n);
        let workers =
            parts.iter().zip(&devices).map(|(part, device)| DeviceWorker::new(device.clone(), &matrix, part, &d, &b).unwrap()).collect();
        solve_on(workers, 1e-5, iterations).unwrap()
    };
    let (one, _) = solve(1, 6);
    let one: Vec<f64> = one.iter().map(|x| f64::from(*x)).collect();
    for n in [2, 3] {
        let (several, solved) = solve(n, 6);
        assert_eq!(solved.iterations, 6);
        assert!(relative(&several, &one) < 1e-6, "{n}: {:e}", relative(&several, &one));
    }
    let (x, solved) = solve(3, 100);
    assert!(solved.converged, "{solved:?}");
    let x: Vec<f64> = x[..700].iter().map(|x| f64::from(*x)).collect();
    let left: f64 = reference_product(&csr, &x).iter().zip(&b).map(|(ax, b)| (ax - f64::from(*b)).powi(2)).sum();
    assert!(left.sqrt() < 5e-5, "{left:e}");
}
