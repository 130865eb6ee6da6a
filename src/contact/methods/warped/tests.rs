use nalgebra::DMatrix;

use super::*;
use crate::body::BodyRef;
use crate::budget::Allowance;
use crate::cancel::CancelToken;
use crate::contact::{ContactPoint, JacobianEntry, Rest};
use crate::elastic::NodeRotations;
use crate::math::Vec3;
use crate::model::{PairId, PairKind};
use crate::sparse::{Columns, Operator, Pattern, RestFactor, Segment, System, elastic_box};

const DT: f64 = 1.0 / 60.0;

fn dense(pattern: &Pattern, blocks: &[Mat3]) -> DMatrix<f64> {
    let mut dense = DMatrix::zeros(3 * pattern.n_rows(), 3 * pattern.n_rows());
    for i in 0..pattern.n_rows() {
        for b in pattern.row(i) {
            dense.fixed_view_mut::<3, 3>(3 * i, 3 * pattern.columns[b] as usize).copy_from(&blocks[b]);
        }
    }
    dense
}

/// What two boxes that nothing connects are.
#[derive(Clone, Copy, PartialEq)]
enum Boxes {
    Bodies,
    PartsOfOneBody,
    /// And points of both meet the ground as one.
    Bridged,
}

/// Points of the first box, which hangs by a corner, against the second one and against the ground, and of the second
/// box against the ground, in frames that look anywhere.
fn contacts(nodes: u32, boxes: Boxes) -> Vec<Constraint> {
    let frame = |k: u32| {
        let axis = Vec3::new(f64::from(k).sin(), (2.0 * f64::from(k)).cos(), 0.3);
        nalgebra::Rotation3::new(axis * f64::from(k)).into_inner()
    };
    let linear = |unknown, weight| JacobianEntry::Linear { unknown, weight };
    let second = u32::from(boxes == Boxes::Bodies);
    let contact = |k: u32| {
        let (a, b) = (1 + k, (2 * k + 5) % nodes);
        let first = [linear(a, 0.3), linear((a + 3) % nodes, 0.7)];
        let of_second = [linear(nodes + b, -0.6), linear(nodes + (b + 1) % nodes, -0.4)];
        let (bodies, entries) = match k % 4 {
            0 | 2 => ([0, second], [first, of_second].concat()),
            _ if boxes == Boxes::Bridged => ([0, 2], [first, of_second].concat()),
            1 => ([0, 2], first.to_vec()),
            _ => ([second, 2], of_second.to_vec()),
        };
        let pair = PairId { kind: PairKind::VertexTriangle, first: k, second: 0 };
        let mut contact = Constraint::contact(ContactPoint::new(pair), bodies.map(BodyRef::Deformable), 0.5);
        (contact.row.entries, contact.row.frame) = (entries, frame(k));
        contact
    };
    // In the order in which `assemble` puts them.
    let mut of_ground: Vec<u32> = (1..12).step_by(2).collect();
    if boxes != Boxes::Bridged {
        of_ground.sort_by_key(|k| k % 4);
    }
    (0..12).step_by(2).chain(of_ground).map(contact).collect()
}

/// Largest difference of W~ from J A^-1 J^T, as a part of its largest entry: with the inverse of the rest pose in full
/// precision, and as it is stored; and the entries that are stored. The boxes are turned as wholes by `turns`, and their
/// nodes in W~ by `nodes_turn`.
fn difference(boxes: Boxes, turns: [Mat3; 2], nodes_turn: [Mat3; 2]) -> ([f64; 2], usize) {
    let (single, rest_blocks, places) = elastic_box(2, 0.1, DT);
    let n = single.n_rows();
    let edges = single.edges.iter().copied().chain(single.edges.iter().map(|e| e.map(|i| i + n as u32))).collect();
    let pattern = Pattern::new(2 * n, edges);
    // The matrix of a body that is turned as a whole is turned with it (`step` tests that).
    let turned = turns.iter().flat_map(|r| rest_blocks.iter().map(move |block| r * block * r.transpose())).collect();
    let fixed: Vec<bool> = (0..2 * n).map(|i| i == 0).collect();
    let mut a = Operator { blocks: turned, ..Operator::default() };
    a.invert_diagonals(&pattern, &fixed);
    let rhs = vec![Vec3::zeros(); 2 * n];
    let mut contacts = contacts(n as u32, boxes);
    let m = contacts.len();

    // J A^-1 J^T; what is fixed does not move.
    let free = |matrix: &DMatrix<f64>| {
        let mut inverse = DMatrix::zeros(6 * n, 6 * n);
        let part = matrix.view((3, 3), (6 * n - 3, 6 * n - 3)).into_owned().cholesky().unwrap().inverse();
        inverse.view_mut((3, 3), (6 * n - 3, 6 * n - 3)).copy_from(&part);
        inverse
    };
    let mut j = DMatrix::zeros(3 * m, 6 * n);
    for (k, contact) in contacts.iter().enumerate() {
        for entry in &contact.row.entries {
            j.fixed_view_mut::<3, 3>(3 * k, 3 * entry.unknown()).copy_from(&(contact.row.frame * entry.matrix() * DT));
        }
    }
    let wanted = &j * free(&dense(&pattern, &a.blocks)) * j.transpose();

    let rest = [rest_blocks.clone(), rest_blocks].concat();
    let positions = [places.clone(), places].concat();
    let n_bodies = if boxes == Boxes::Bodies { 2 } else { 1 };
    let ranges: Vec<_> = (0..n_bodies).map(|k| 2 * n * k / n_bodies..2 * n * (k + 1) / n_bodies).collect();
    let rotations: Vec<Mat3> = nodes_turn.iter().flat_map(|r| vec![*r; n]).collect();
    let factors: Vec<_> = ranges.iter().map(|range| RestFactor::new(&pattern, &rest, range, &fixed, &positions).unwrap()).collect();
    let columns: Vec<_> = factors.iter().map(|factor| Columns::new(factor, &Vec::from_iter(0..factor.n_nodes() as u32), 1 << 24)).collect();
    let bodies = ranges.into_iter().zip(&factors).zip(&columns).zip(0..);
    let blocks: Vec<Block> = bodies
        .map(|(((unknowns, factor), columns), body)| Block {
            rest: Some(Rest { factor, columns, rotations: NodeRotations::All(&rotations[unknowns.clone()]) }),
            segment: Segment { body: BodyRef::Deformable(body), start: unknowns.start, unknowns },
            single: None,
            coarse: None,
            slow: 0,
            mass: None,
        })
        .collect();
    let segments: Vec<Segment> = blocks.iter().map(|block| block.segment.clone()).collect();
    let system = System { a: &a, pattern: &pattern, fixed: &fixed, segments: &segments };
    let local: Vec<u32> = (0..2 * n as u32).collect();
    let bounds = crate::contact::Bounds {
        residual: 0.0,
        elastic_tolerance: 0.0,
        max_elastic_iterations: 0,
        fixed_iterations: None,
        max_iterations: 0,
        gives_up: false,
        may_halve: false,
    };
    let problem = Problem {
        system,
        blocks: &blocks,
        local: &local,
        position: &|_| Vec3::zeros(),
        dt: DT,
        rhs: &rhs,
        tolerance: 5e-6,
        bounds,
        cancel: CancelToken::never(),
        allowance: Allowance::endless(),
    };
    let rest_inverse = free(&dense(&pattern, &rest));
    // dt C H R of the contacts, in full precision.
    let mut turned_rows = DMatrix::zeros(3 * m, 6 * n);
    for (k, contact) in contacts.iter().enumerate() {
        for entry in &contact.row.entries {
            let rotation = rotations[entry.unknown()];
            turned_rows.fixed_view_mut::<3, 3>(3 * k, 3 * entry.unknown()).copy_from(&(contact.row.frame * entry.matrix() * rotation * DT));
        }
    }
    let exact = &turned_rows * rest_inverse * turned_rows.transpose();
    let mut islands = vec![];
    assemble(&problem, &mut contacts, std::iter::empty(), &mut islands, &mut Scratch::default());
    let stored = islands[0].compliance.to_dense();
    check_renewals(&problem, &contacts);
    ([exact, stored].map(|found| (found - &wanted).amax() / wanted.amax()), islands[0].compliance.n_entries())
}

/// Where few rows change, W~ is what it were if nothing was kept.
fn check_renewals(problem: &Problem, contacts: &[Constraint]) {
    let n = contacts.len();
    let mut scratch = Scratch::default();
    let mut islands = vec![];
    let mut check = |contacts: &[Constraint], n_kept: usize, scratch: &mut Scratch| {
        let [mut contacts, mut again] = [contacts.to_vec(), contacts.to_vec()];
        assemble(problem, &mut contacts, std::iter::empty(), &mut islands, scratch);
        assert_eq!(scratch.kept.n_kept(), n_kept);
        let mut new = vec![];
        assemble(problem, &mut again, std::iter::empty(), &mut new, &mut Scratch::default());
        let dense = |islands: &[ContactIsland]| islands.iter().map(|island| island.compliance.to_dense()).collect::<Vec<_>>();
        assert!(dense(&islands) == dense(&new) && contacts.iter().map(Constraint::id).eq(again.iter().map(Constraint::id)));
    };
    check(contacts, 0, &mut scratch);
    check(contacts, n, &mut scratch);
    // One has another row, one is no more, and comes back.
    let mut renewed = contacts.to_vec();
    renewed[n / 2].row.frame = nalgebra::Rotation3::new(Vec3::new(0.1, 0.2, -0.3)).into_inner() * renewed[n / 2].row.frame;
    check(&renewed, n - 1, &mut scratch);
    let taken = renewed.remove(n / 3);
    check(&renewed, n - 1, &mut scratch);
    renewed.push(taken);
    check(&renewed, n - 1, &mut scratch);
    scratch.forget();
    check(&renewed, 0, &mut scratch);
}

/// `contact-study.md` 8, fact 1.
#[test]
fn the_warped_compliance_of_a_body_that_is_turned_as_a_whole_is_the_true_one() {
    let turn = |x: f64, y: f64, z: f64| nalgebra::Rotation3::new(Vec3::new(x, y, z)).into_inner();
    let still = [Mat3::identity(); 2];
    for turns in [still, [turn(0.3, -1.2, 2.0), turn(-2.5, 0.4, 0.1)]] {
        let ([exact, stored], _) = difference(Boxes::Bodies, turns, turns);
        println!("W~ is {exact:.1e} off, {stored:.1e} as stored");
        assert!(exact < 1e-12, "{exact}");
        // Of the factor, its columns and W~ in f32.
        assert!(stored < 1e-6, "{stored}");
    }
    let ([wrong, _], _) = difference(Boxes::Bodies, [turn(0.3, -1.2, 2.0), turn(-2.5, 0.4, 0.1)], still);
    assert!(wrong > 1e-2, "without the rotations it is {wrong} off");
}

#[test]
fn parts_of_a_body_meet_each_other_as_bodies_do() {
    let still = [Mat3::identity(); 2];
    let [bodies, parts, bridged] = [Boxes::Bodies, Boxes::PartsOfOneBody, Boxes::Bridged].map(|boxes| difference(boxes, still, still));
    for ([_, stored], _) in [&bodies, &parts, &bridged] {
        assert!(*stored < 1e-6, "{stored}");
    }
    assert!(parts.1 == bodies.1 && bridged.1 > bodies.1, "{} {} {}", bodies.1, parts.1, bridged.1);
}

#[test]
fn a_region_keeps_its_weight_in_lumps() {
    let entries: Vec<_> = (10..1010).map(|unknown| JacobianEntry::Linear { unknown, weight: 1e-3 }).collect();
    let found: Vec<_> = lumps(entries.iter(), 1000usize.div_ceil(REPRESENTATIVES)).collect();
    assert_eq!(found.len(), 250);
    assert!(found.iter().enumerate().all(|(k, (unknown, _))| *unknown == 10 + 4 * k));
    assert!((found.iter().map(|(_, matrix)| matrix).sum::<Mat3>() - Mat3::identity()).amax() < 1e-12);
    // Rows of a contact stay as they are.
    let few: Vec<_> = lumps(entries[..3].iter(), 1).collect();
    assert!(few.iter().zip(&entries).all(|((unknown, matrix), entry)| *unknown == entry.unknown() && *matrix == entry.matrix()));
}
