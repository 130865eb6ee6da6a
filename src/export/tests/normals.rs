//! Normals of mesh files, turned with the deformation.

use super::*;

/// Normals that no surface computes: an ellipsoid's on a ball, and others where a corner faces up, so that there is a
/// crease.
fn normals(surface: &crate::mesh::SurfaceMesh) -> Vec<crate::mesh::CornerNormals> {
    let tilted = |t: usize| {
        surface.corners(t).map(|p| {
            let up = if surface.corners(t).iter().all(|p| p.y > 0.02) { Vec3::y() * 0.05 } else { Vec3::zeros() };
            let n = (Vec3::new(p.x, 0.6 * p.y, 1.3 * p.z) + up).normalize();
            [n.x as f32, n.y as f32, n.z as f32]
        })
    };
    (0..surface.triangles.len()).map(tilted).collect()
}

fn apart(a: &[f32; 3], b: &Vec3) -> f64 {
    (Vec3::from(a.map(f64::from)) - b).norm()
}

#[test]
fn normals_of_a_file_turn_with_the_deformation() {
    let folder = folder("normals");
    let mut subject = textured();
    let ball = crate::mesh::shapes::icosphere(0.1, 2);
    let given = normals(&ball);
    let model = std::sync::Arc::make_mut(&mut subject.model);
    (model.bodies[0].normals, model.rigid_normals[0]) = (Some(given.clone()), Some(given.clone()));
    // A shear and a stretch of the soft body, a turn of the rigid body.
    let gradient = crate::math::Mat3::new(0.3, 0.4, 0.0, -0.1, 0.0, 0.2, 0.0, 0.5, -0.2);
    let mut frame = still(&subject);
    frame.displacements = subject.model.rest_positions.iter().map(|x| gradient * x).collect();
    let turn = crate::math::Quat::from_euler_angles(0.4, -0.7, 1.1);
    frame.rigid_poses[0].rotation = turn;
    let inverse = (crate::math::Mat3::identity() + gradient).try_inverse().unwrap().transpose();
    let n = ball.triangles.len();
    let want: Vec<[Vec3; 3]> = (0..2 * n)
        .map(|t| {
            given[t % n]
                .map(|n| Vec3::from(n.map(f64::from)))
                .map(|normal| if t < n { (inverse * normal).normalize() } else { turn * normal })
        })
        .collect();

    // Through a recording, out, and in again: of corners where the format has them, at least the mean at a vertex
    // elsewhere.
    let path = folder.join("a.pliant");
    export(&path, &subject, &[frame.clone()]);
    let mut recording = Recording::open(&path).unwrap();
    let (again, back) = (recording.subject.clone(), recording.frame(0).unwrap());
    for name in ["a.obj", "a.glb", "a.ply"] {
        export(&folder.join(name), &again, std::slice::from_ref(&back));
        let file = if name == "a.glb" { folder.join(name) } else { folder.join(name.replace("a.", "a_00000.")) };
        let read = crate::mesh::read_surface(&file).unwrap();
        let found = read.normals.as_ref().unwrap();
        let mut mean = vec![Vec3::zeros(); read.positions.len()];
        for (triangle, corners) in read.triangles.iter().zip(&want) {
            triangle.iter().zip(corners).for_each(|(&v, normal)| mean[v as usize] += normal);
        }
        assert_eq!(found.len(), 2 * n, "{name}");
        for t in 0..2 * n {
            for k in 0..3 {
                let want = if name == "a.ply" { mean[read.triangles[t][k] as usize].normalize() } else { want[t][k] };
                assert!(apart(&found[t][k], &want) < 2e-5, "{name}: triangle {t}: {:?} {want}", found[t][k]);
            }
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A ball in an OBJ file with normals of its own becomes a body that is turned and cut finer, and comes out with them
/// turned.
#[test]
fn normals_come_in_from_a_file() {
    let folder = folder("normals-in");
    let ball = crate::mesh::shapes::icosphere(0.1, 2);
    let given = normals(&ball);
    let mut text = crate::mesh::write_obj(&ball);
    for (t, triangle) in ball.triangles.iter().enumerate() {
        given[t].iter().for_each(|[x, y, z]| text += &format!("vn {x} {y} {z}\n"));
        let [a, b, c] = triangle.map(|v| v + 1);
        // The first ones face inwards, as the program that wrote them had it: they are mended, and their normals
        // turned.
        if t < 10 {
            text = text.replace(&format!("f {a} {b} {c}\n"), "");
            text += &format!("f {a}//-3 {c}//-1 {b}//-2\n");
        } else {
            text = text.replace(&format!("f {a} {b} {c}\n"), "");
            text += &format!("f {a}//-3 {b}//-2 {c}//-1\n");
        }
    }
    std::fs::write(folder.join("in.obj"), text).unwrap();
    let flags = ["body.0.tets=1000", "body.0.subdivide=\"off\"", "body.0.rotation=[0.0, 90.0, 0.0]"].map(String::from);
    let built = build(&Scene::from_mesh_with(&folder.join("in.obj"), &flags).unwrap()).unwrap();
    let body = &built.model.bodies[0];
    let found = body.normals.as_ref().unwrap();
    assert_eq!(found.len(), ball.triangles.len());
    // Which triangle it was is known from its corners: x becomes -z, z becomes x. The ball was made 0.3 m wide, its
    // middle at 0.2 m.
    let positions = built.model.surface_positions(&built.model.rest_positions);
    let turn = |v: Vec3| Vec3::new(v.z, v.y, -v.x);
    for (triangle, normals) in built.model.surface.triangles[body.triangles.clone()].iter().zip(found) {
        for (&v, normal) in triangle.iter().zip(normals) {
            let place = (positions[v as usize] - Vec3::y() * 0.2) / 1.5;
            let same = |other: &&[f32; 3]| apart(normal, &turn(Vec3::from(other.map(f64::from)))) < 1e-5;
            let here: Vec<&[f32; 3]> = (0..ball.triangles.len())
                .flat_map(|t| ball.corners(t).into_iter().zip(&given[t]))
                .filter(|(p, _)| (turn(*p) - place).norm() < 1e-3)
                .map(|(_, normal)| normal)
                .collect();
            assert!(!here.is_empty() && here.iter().any(same), "{place}: {normal:?}, of {here:?}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
