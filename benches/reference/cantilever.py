"""Static large-deflection answer of the cantilever, by another element and another method than the program's.

Bar 1.0 x 0.2 x 0.2 m along x, clamped at x = 0, under its own weight; the energies
    corotational          mu |S - I|^2 + lambda/2 tr(S - I)^2,   F = R S
    neo_hookean           mu/2 (|F|^2 - 3) - mu ln J + lambda/2 (ln J)^2
    stable_neo_hookean    mu/2 (|F|^2 - 3) - mu (J - 1) + l/2 (J - 1)^2,   l = lambda + mu
    st_venant_kirchhoff   mu |E|^2 + lambda/2 tr(E)^2,   E = (F^T F - I) / 2.
Quadratic hexahedra with 27 nodes and 27 Gauss points, rotations by SVD, the exact tangent, full Newton with load steps; the half z > 0 with its
symmetry. The program has tets, followed rotations and a time integrator: nothing is shared but the energy.

    python cantilever.py [--model corotational] [--nu 0.2] [--cells 5 10 20 40]        (cells along x; a fifth of them across)

Needs numpy. Prints the mean y displacement over all nodes of the mesh at x = 1 for each mesh and the extrapolated limits.
"""

import argparse
import time

import numpy as np

LENGTH, SIDE = 1.0, 0.2
YOUNG, DENSITY, GRAVITY = 5e5, 1000.0, 9.81


def lame(nu):
    return YOUNG / (2 * (1 + nu)), YOUNG * nu / ((1 + nu) * (1 - 2 * nu))


def shape_1d(s):
    """The three quadratic functions on [-1, 1] with nodes -1, 0, 1, and their slopes."""
    return np.array([s * (s - 1) / 2, 1 - s * s, s * (s + 1) / 2]), np.array([s - 0.5, -2 * s, s + 0.5])


def quadrature(h):
    """Shape values N[q, a], rest gradients G[q, a, 3], weights w[q] of a brick with edges h."""
    points, weights = np.polynomial.legendre.leggauss(3)
    values, gradients, volumes = [], [], []
    for i, x in enumerate(points):
        for j, y in enumerate(points):
            for k, z in enumerate(points):
                (nx, dx), (ny, dy), (nz, dz) = shape_1d(x), shape_1d(y), shape_1d(z)
                outer = lambda a, b, c: np.einsum("i,j,k->ijk", a, b, c).ravel()
                values.append(outer(nx, ny, nz))
                gradients.append(np.stack([outer(dx, ny, nz) * 2 / h[0], outer(nx, dy, nz) * 2 / h[1], outer(nx, ny, dz) * 2 / h[2]], -1))
                volumes.append(weights[i] * weights[j] * weights[k] * h[0] * h[1] * h[2] / 8)
    return np.array(values), np.array(gradients), np.array(volumes)


def corotational(F, mu, lam):
    U, s, Vt = np.linalg.svd(F)
    flip = np.where(np.linalg.det(U) * np.linalg.det(Vt) < 0, -1.0, 1.0)
    U[..., :, 2] *= flip[..., None]
    s = s.copy()
    s[..., 2] *= flip
    R = U @ Vt
    S = np.einsum("...ki,...k,...kj->...ij", Vt, s, Vt)
    trace = s.sum(-1) - 3
    eye = np.eye(3)
    P = 2 * mu * (F - R) + lam * trace[..., None, None] * R
    # dR = R [w]x with (tr(S) I - S) w = vex(R^T dF - dF^T R).
    G = np.linalg.inv((trace + 3)[..., None, None] * eye - S)
    e = np.zeros((3, 3, 3))
    e[0, 1, 2] = e[1, 2, 0] = e[2, 0, 1] = 1
    e[0, 2, 1] = e[2, 1, 0] = e[1, 0, 2] = -1
    # vex(M - M^T)_a = -e_abc M_bc, M = R^T dF: derivative to dF_kL is -e_abL R_kb.
    vex = -np.einsum("abL,...kb->...akL", e, R)
    w = np.einsum("...ab,...bkL->...akL", G, vex)
    dR = -np.einsum("...im,mJa,...akL->...iJkL", R, e, w)
    C = 2 * mu * np.einsum("ik,JL->iJkL", eye, eye) + lam * np.einsum("...iJ,...kL->...iJkL", R, R)
    return P, C + (lam * trace - 2 * mu)[..., None, None, None, None] * dR


def inverse_transposed(F):
    A = np.swapaxes(np.linalg.inv(F), -1, -2)
    return A, np.einsum("...iJ,...kL->...iJkL", A, A), np.einsum("...iL,...kJ->...iJkL", A, A)


DELTA = np.einsum("ik,JL->iJkL", np.eye(3), np.eye(3))


def neo_hookean(F, mu, lam):
    A, outer, turned = inverse_transposed(F)
    log = np.log(np.linalg.det(F))[..., None, None]
    return mu * F + (lam * log - mu) * A, mu * DELTA + lam * outer - (lam * log - mu)[..., None, None] * turned


def stable_neo_hookean(F, mu, lam):
    A, outer, turned = inverse_transposed(F)
    J, l = np.linalg.det(F)[..., None, None], lam + mu
    slope = l * (J - 1) - mu
    J4 = J[..., None, None]
    return mu * F + slope * J * A, mu * DELTA + l * J4 * J4 * outer + slope[..., None, None] * J4 * (outer - turned)


def st_venant_kirchhoff(F, mu, lam):
    E = (np.swapaxes(F, -1, -2) @ F - np.eye(3)) / 2
    S = 2 * mu * E + lam * np.trace(E, axis1=-2, axis2=-1)[..., None, None] * np.eye(3)
    C = np.einsum("ik,...JL->...iJkL", np.eye(3), S) + lam * np.einsum("...iJ,...kL->...iJkL", F, F)
    C += mu * (np.einsum("...iL,...kJ->...iJkL", F, F) + np.einsum("JL,...ik->...iJkL", np.eye(3), F @ np.swapaxes(F, -1, -2)))
    return F @ S, C


# P[..., 3, 3] and dP/dF[..., 3, 3, 3, 3] of each energy.
MODELS = {f.__name__: f for f in (corotational, neo_hookean, stable_neo_hookean, st_venant_kirchhoff)}


class Bar:
    def __init__(self, cells_x, nu, model):
        self.stress_and_tangent = MODELS[model]
        self.n = (cells_x, cells_x // 5, max(cells_x // 10, 1))
        if cells_x // 5 != 2 * self.n[2] and cells_x != 5:
            raise SystemExit("cells along x: 5 or a multiple of 10")
        self.whole = cells_x == 5  # one cell across has no symmetry plane between cells: the whole bar then
        width = SIDE if self.whole else SIDE / 2
        self.h = (LENGTH / self.n[0], SIDE / self.n[1], width / self.n[2])
        self.mu, self.lam = lame(nu)
        self.planes = [2 * n + 1 for n in self.n]
        self.plane = self.planes[1] * self.planes[2]
        index = np.arange(np.prod(self.planes)).reshape(self.planes)
        self.elements = np.array([
            index[2 * i:2 * i + 3, 2 * j:2 * j + 3, 2 * k:2 * k + 3].ravel()
            for i in range(self.n[0]) for j in range(self.n[1]) for k in range(self.n[2])
        ])
        fixed = np.zeros((*self.planes, 3), bool)
        fixed[0] = True
        if not self.whole:
            fixed[:, :, 0, 2] = True
        self.fixed = fixed.reshape(-1, 3)
        self.N, self.G, self.w = quadrature(self.h)
        load = np.zeros((len(self.fixed), 3))
        share = -DENSITY * GRAVITY * np.einsum("q,qa->a", self.w, self.N)
        load[:, 1] = np.bincount(self.elements.ravel(), np.tile(share, len(self.elements)))
        self.load = load

    def forces(self, u):
        F = np.eye(3) + np.einsum("qaJ,eai->eqiJ", self.G, u[self.elements])
        P, C = self.stress_and_tangent(F, self.mu, self.lam)
        corners = np.einsum("q,eqiJ,qaJ->eai", self.w, P, self.G).reshape(-1, 3)
        force = np.stack([np.bincount(self.elements.ravel(), corners[:, i]) for i in range(3)], -1)
        return force, C

    def solve_linear(self, C, r):
        """Block elimination along x: an element layer couples the plane before it with its own two planes."""
        layers, size = self.n[0], 6 * self.plane
        per_layer = self.n[1] * self.n[2]
        first = 3 * self.plane  # the clamped plane
        D = [np.zeros((size, size)) for _ in range(layers)]
        lower = [None] * layers
        for e in range(layers):
            elements = self.elements[e * per_layer:(e + 1) * per_layer]
            local = (elements - 2 * e * self.plane)[:, :, None] * 3 + np.arange(3)
            A = np.zeros((9 * self.plane, 9 * self.plane))
            for k, dofs in enumerate(local.reshape(len(elements), -1)):
                B = np.einsum("qaJ,ik->qiJak", self.G, np.eye(3)).reshape(len(self.w), 9, 81)
                CB = C[e * per_layer + k].reshape(len(self.w), 9, 9) @ (B * self.w[:, None, None])
                A[np.ix_(dofs, dofs)] += np.tensordot(B, CB, ([0, 1], [0, 1]))
            D[e] += A[first:, first:]
            if e > 0:
                D[e - 1][-first:, -first:] += A[:first, :first]
                lower[e] = np.zeros((size, size))
                lower[e][:, -first:] = A[first:, :first]
        fixed = self.fixed.ravel()[first:].reshape(layers, size)
        r = r.ravel()[first:].reshape(layers, size).copy()
        r[fixed] = 0
        for e in range(layers):
            f = fixed[e]
            D[e][f, :] = 0
            D[e][:, f] = 0
            D[e][f, f] = 1
            if e > 0:
                lower[e][f, :] = 0
                lower[e][:, fixed[e - 1]] = 0
        # The matrix is symmetric: upper[e] = lower[e + 1]^T.
        for e in range(1, layers):
            W = np.linalg.solve(D[e - 1], np.column_stack([lower[e].T, r[e - 1]]))
            D[e] -= lower[e] @ W[:, :-1]
            r[e] -= lower[e] @ W[:, -1]
        x = np.zeros_like(r)
        for e in reversed(range(layers)):
            b = r[e] if e == layers - 1 else r[e] - lower[e + 1].T @ x[e + 1]
            x[e] = np.linalg.solve(D[e], b)
        return np.concatenate([np.zeros(first), x.ravel()]).reshape(-1, 3)

    def solve(self, load_steps):
        u = np.zeros_like(self.load)
        for step in range(1, load_steps + 1):
            target = self.load * step / load_steps
            for _ in range(30):
                force, C = self.forces(u)
                r = np.where(self.fixed, 0, target - force)
                size = np.linalg.norm(r) / np.linalg.norm(self.load)
                if size < (1e-10 if step == load_steps else 1e-3):
                    break
                du = self.solve_linear(C, r)
                u += du
            else:
                raise SystemExit("no convergence")
        self.u = u
        return u, size

    def tip(self):
        """Mean y displacement over the nodes at x = 1 of the whole bar."""
        uy = self.u[-self.plane:, 1].reshape(self.planes[1:])
        if self.whole:
            return uy.mean()
        weight = np.full(self.planes[2], 2.0)
        weight[0] = 1.0
        return (uy * weight).sum() / (weight.sum() * self.planes[1])


def check_tangent(nu, model):
    stress_and_tangent = MODELS[model]
    rng = np.random.default_rng(1)
    F = np.eye(3) + 0.2 * rng.standard_normal((5, 3, 3))
    dF = rng.standard_normal((5, 3, 3))
    mu, lam = lame(nu)
    e = 1e-6
    difference = (stress_and_tangent(F + e * dF, mu, lam)[0] - stress_and_tangent(F - e * dF, mu, lam)[0]) / (2 * e)
    exact = np.einsum("niJkL,nkL->niJ", stress_and_tangent(F, mu, lam)[1], dF)
    return np.abs(difference - exact).max() / np.abs(exact).max()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=MODELS, default="corotational")
    parser.add_argument("--nu", type=float, default=0.2)
    parser.add_argument("--cells", type=int, nargs="+", default=[5, 10, 20, 40])
    parser.add_argument("--load-steps", type=int, default=10)
    options = parser.parse_args()
    print(f"{options.model}, nu {options.nu}: exact tangent against differences {check_tangent(options.nu, options.model):.1e}")
    tips = []
    for cells in options.cells:
        start = time.time()
        bar = Bar(cells, options.nu, options.model)
        _, residual = bar.solve(options.load_steps)
        tips.append(bar.tip())
        line = f"cells {cells:3d} nodes {len(bar.fixed):6d} tip {tips[-1]:.8f} m  residual {residual:.1e}  {time.time() - start:.1f} s"
        if len(tips) > 2:
            a, b, c = tips[-3:]
            ratio = (b - a) / (c - b)
            line += f"  order {np.log2(abs(ratio)):.2f}  limit {c + (c - b) / (ratio - 1):.7f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
