//! The contract of a constitutive model.

use pulp::Simd;

use super::{Lame, Material, ValidRange};
use crate::math::lanes::{Lanes, Matrix, Row, Vector, plus, times, times_vector, trace, transpose};

/// How an element is deformed at a point of its quadrature, and what it remembers there.
#[derive(Clone, Copy, Debug)]
pub struct Deformation<'a, S: Simd> {
    /// Displacement gradient G = F - I [-].
    pub gradient: Matrix<S>,
    /// Rotation R of the element's frame: that of F = R S, followed from the last step, so an inverted element keeps
    /// its old orientation for a while.
    pub rotation: Matrix<S>,
    /// The model's own [`ConstitutiveModel::STATE_ROWS`].
    pub state: &'a [Row<S>],
}

/// The form of a tangent, which says what an element keeps of it for the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tangent {
    /// [`warped_differential`] with the moduli at rest: an element keeps one vector for each node, and an edge gathers
    /// its block from those.
    Warped,
    /// [`warped_differential`] without lambda, and `lambda (C : dG) C` with the derivative C of the volume change
    /// ([`ConstitutiveModel::volume_change`]): an element keeps two vectors for each node.
    Mixed,
    /// Any other: an element keeps a block for each of its edges, made of differentials along the shape gradients.
    General,
}

/// How much larger a point has become, as a model measures it: J, or the trace of a strain.
#[derive(Clone, Copy, Debug)]
pub struct VolumeChange<S: Simd> {
    /// theta [-]
    pub value: Lanes<S>,
    /// d theta / d F
    pub gradient: Matrix<S>,
}

/// A hyper-elastic solid: energy, first Piola-Kirchhoff stress and tangent at one point, for as many elements as the
/// processor takes side by side.
///
/// Every function takes the volume [m^3] that the point stands for and gives what belongs to it: energies and stresses
/// in joules. The elements that share a register share the model and its numbers; an element has an index of its
/// material (`model::Tet::material`), so that a mesh may have several.
///
/// How it enters a step. At the start of a step the pass follows the rotation R of each element and calls
/// [`Self::advance`]; both are kept when the step is accepted and dropped when it fails. Then the forces are those of
/// [`Self::predicted_stress`], the matrix those of [`Self::differential`].
///
/// Locking. Elements of several points replace the volume change theta of their points by its mean
/// (`materials-study.md` 3). So the energy must be that of [`Self::without_volume_energy`] plus a function U of theta,
/// which is [`Self::volume_energy`]; but for inverted points of models that are expanded there.
///
/// Preconditioning. The factor of the rest pose and the coarse spaces take the matrix for that of the rest pose,
/// node by node turned by R. For [`Tangent::Warped`] that is true up to differences of rotation between neighbours,
/// whatever the strain. A general tangent also changes with the strain: both stay positive definite and valid, but
/// conjugate gradients take more iterations (`materials-study.md` 2: bent up to 15 %, stretched to twice the length 15
/// to 65 % more), and a correction of plain passes with the factor alone (`contact::cwc`) converges only while no
/// eigenvalue of factor^-1 A exceeds 2.
pub trait ConstitutiveModel: Copy + Send + Sync + 'static {
    const TANGENT: Tangent;
    /// Whether the matrix lets a small rotation of an unstrained body pass. A model whose matrix resists brakes every
    /// rotation (`materials-study.md` 1).
    const LETS_TURN: bool = true;
    /// Whether energy, stress and volume change count on the frame [`Deformation::rotation`]. Where they are functions
    /// of F alone, passes that ask for no tangent do not follow it.
    const IS_FRAMED: bool = true;
    /// Rows of four numbers that an element remembers from step to step beside its rotation ([`crate::model::State`]
    /// keeps them). The device keeps none yet.
    const STATE_ROWS: usize = 0;

    /// What energy, stress and tangent of one deformation share, such as singular vectors.
    type Kinematics<S: Simd>: Copy;
    /// What of the tangent does not depend on the change.
    type Moduli<S: Simd>: Copy;

    fn new(material: &Material) -> Self;

    /// The moduli of small strains, which the device's elements, the lightness of a body and [`Tangent::Warped`] build
    /// on.
    fn lame(&self) -> Lame;

    /// The deformations up to which the model answers as the solid that it stands for, and what it does beyond. Steps
    /// do not ask for it: what is beyond is told to the user.
    fn valid_range(&self) -> ValidRange;

    fn kinematics<S: Simd>(&self, at: &Deformation<S>) -> Self::Kinematics<S>;

    /// Energy of the volume [J].
    fn energy<S: Simd>(&self, volume: Lanes<S>, at: &Self::Kinematics<S>) -> Lanes<S>;

    /// The same of a deformation of which nothing else is asked, which may take less than its kinematics.
    #[inline(always)]
    fn energy_at<S: Simd>(&self, volume: Lanes<S>, at: &Deformation<S>) -> Lanes<S> {
        self.energy(volume, &self.kinematics(at))
    }

    /// First Piola-Kirchhoff stress times the volume [J]: the derivative of [`Self::energy`] by G.
    fn stress<S: Simd>(&self, volume: Lanes<S>, at: &Self::Kinematics<S>) -> Matrix<S>;

    /// What [`Self::differential`] needs besides the change, times the volume [J].
    fn moduli<S: Simd>(&self, volume: Lanes<S>, at: &Self::Kinematics<S>) -> Self::Moduli<S>;

    /// Change of the stress times the volume [J] with a small change of G, for the matrix: linear in `change`,
    /// symmetric, positive semidefinite. It agrees with [`Self::derivative`] where nothing is strained.
    fn differential<S: Simd>(&self, at: &Self::Kinematics<S>, moduli: &Self::Moduli<S>, change: &Matrix<S>) -> Matrix<S>;

    /// The block of two nodes with the shape gradients a and b [1/m]: its columns are `dP[e_c b^T] a` of
    /// [`Self::differential`].
    #[inline(always)]
    fn block<S: Simd>(&self, at: &Self::Kinematics<S>, moduli: &Self::Moduli<S>, a: &Vector<S>, b: &Vector<S>) -> Matrix<S> {
        let zero = a[0] * 0.0;
        let mut columns = [[zero; 3]; 3];
        for axis in 0..3 {
            let mut change = [[zero; 3]; 3];
            change[axis] = *b;
            columns[axis] = times_vector(&self.differential(at, moduli, &change), a);
        }
        transpose(&columns)
    }

    /// The change of the stress times the volume [J] that present rates of G predict. It differs from
    /// [`Self::differential`] in what resists a rotation of strained elements: predicted, that would eat the spin of
    /// a body (`materials-study.md` 0.2).
    #[inline(always)]
    fn rate_differential<S: Simd>(&self, at: &Self::Kinematics<S>, moduli: &Self::Moduli<S>, rates: &Matrix<S>) -> Matrix<S> {
        self.differential(at, moduli, rates)
    }

    /// The derivative of [`Self::stress`] times the volume [J] along `change`, as it is: not made positive. A model
    /// whose stress is that of a frame takes the frame for fixed.
    fn derivative<S: Simd>(&self, volume: Lanes<S>, at: &Self::Kinematics<S>, change: &Matrix<S>) -> Matrix<S>;

    /// The stress times the volume [J] after `time` [s] with the present rates of G [1/s], linear in them.
    #[inline(always)]
    fn predicted_stress<S: Simd>(
        &self,
        volume: Lanes<S>,
        at: &Self::Kinematics<S>,
        moduli: &Self::Moduli<S>,
        rates: &Matrix<S>,
        time: Lanes<S>,
    ) -> Matrix<S> {
        let (stress, change) = (self.stress(volume, at), self.rate_differential(at, moduli, rates));
        [plus(&stress[0], time, &change[0]), plus(&stress[1], time, &change[1]), plus(&stress[2], time, &change[2])]
    }

    /// The same model without its energy of volume changes: the first of Lame's parameters is 0 in it.
    fn without_volume_energy(&self) -> Self;

    fn volume_change<S: Simd>(&self, at: &Self::Kinematics<S>) -> VolumeChange<S>;

    /// The value alone, of a deformation of which nothing else is asked.
    #[inline(always)]
    fn volume_change_at<S: Simd>(&self, at: &Deformation<S>) -> Lanes<S> {
        self.volume_change(&self.kinematics(at)).value
    }

    /// U, its slope and its curvature [J/m^3] at a volume change; a curvature that is negative is given as 0.
    fn volume_energy<S: Simd>(&self, change: Lanes<S>) -> [Lanes<S>; 3];

    /// Takes what an element remembered when the last step was accepted to the start of the next step [s], G and R
    /// being those of that start.
    #[inline(always)]
    fn advance<S: Simd>(&self, _gradient: &Matrix<S>, _rotation: &Matrix<S>, _time_step: f64, _state: &mut [Row<S>]) {}
}

/// `mu (dG + R dG^T R) + lambda tr(R^T dG) R`: linear elasticity in the frame R. Symmetric, positive semidefinite,
/// blind to changes that turn R (`elasticity.md` 3.1, W).
#[inline(always)]
pub fn warped_differential<S: Simd>(mu: Lanes<S>, lambda: Lanes<S>, r: &Matrix<S>, change: &Matrix<S>) -> Matrix<S> {
    let b = times(&transpose(r), change);
    let mut strain = b;
    let diagonal = trace(&b) * lambda;
    for i in 0..3 {
        for j in 0..3 {
            strain[i][j] = (b[i][j] + b[j][i]) * mu;
        }
        strain[i][i] = strain[i][i] + diagonal;
    }
    times(r, &strain)
}
