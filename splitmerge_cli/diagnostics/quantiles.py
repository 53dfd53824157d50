"""Quantiles of the normal distribution and of Student's t: `scipy.special` has them, too, and its import takes longer
than a short run does for all the rest.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.extras import special

# ratios of polynomials by the distance from 1/2, and by 1/x of the tails up to x = 8 and beyond (Cephes, Moshier 1989)
_MIDDLE = (
    (
        *(-5.99633501014107895267e1, 9.80010754185999661536e1, -5.66762857469070293439e1, 1.39312609387279679503e1),
        *(-1.23916583867381258016,),
    ),
    (
        *(1.0, 1.95448858338141759834, 4.67627912898881538453, 8.63602421390890590575e1, -2.25462687854119370527e2),
        *(2.00260212380060660359e2, -8.20372256168333339912e1, 1.59056225126211695515e1, -1.18331621121330003142),
    ),
)
_TAIL = (
    (
        *(4.05544892305962419923, 3.15251094599893866154e1, 5.71628192246421288162e1, 4.40805073893200834700e1),
        *(1.46849561928858024014e1, 2.18663306850790267539, -1.40256079171354495875e-1, -3.50424626827848203418e-2),
        *(-8.57456785154685413611e-4,),
    ),
    (
        *(1.0, 1.57799883256466749731e1, 4.53907635128879210584e1, 4.13172038254672030440e1, 1.50425385692907503408e1),
        *(2.50464946208309415979, -1.42182922854787788574e-1, -3.80806407691578277194e-2, -9.33259480895457427372e-4),
    ),
)
_FAR = (
    (
        *(3.23774891776946035970, 6.91522889068984211695, 3.93881025292474443415, 1.33303460815807542389),
        *(2.01485389549179081538e-1, 1.23716634817820021358e-2, 3.01581553508235416007e-4, 2.65806974686737550832e-6),
        *(6.23974539184983293730e-9,),
    ),
    (
        *(1.0, 6.02427039364742014255, 3.67983563856160859403, 1.37702099489081330271, 2.16236993594496635890e-1),
        *(1.34204006088543189037e-2, 3.28014464682127739104e-4, 2.89247864745380683936e-6, 6.79019408009981274425e-9),
    ),
)
_ROOT_2_PI, _TAIL_FROM = 2.50662827463100050242, math.exp(-2)
_LARGE = 500.0
"""Degrees of freedom from which a series in their inverse is exact."""
_MANY = 200
"""Different degrees of freedom for which the import of SciPy is faster."""
_NODES = 512
"""Intervals of Simpson's rule."""


def normal_quantile(p: ArrayLike) -> NDArray[np.float64]:
    """Quantiles of the standard normal distribution for probabilities between 0 and 1, of the shape of `p`."""
    share = np.atleast_1d(np.asarray(p, dtype=np.float64))
    y = share - 0.5
    square = y * y
    x = (y + y * (square * np.polyval(_MIDDLE[0], square) / np.polyval(_MIDDLE[1], square))) * _ROOT_2_PI
    below = np.where(share > 1 - _TAIL_FROM, 1 - share, share)
    in_tail = below <= _TAIL_FROM
    # the logarithms of the C library, whose last digit NumPy's may not have
    root = np.sqrt([-2 * math.log(q) for q in below[in_tail]])
    z, first = 1 / root, root - np.array([math.log(r) for r in root]) / root
    near, far = (z * np.polyval(above, z) / np.polyval(under, z) for above, under in (_TAIL, _FAR))
    tail = first - np.where(root < 8, near, far)
    x[in_tail] = np.where(y[in_tail] > 0, tail, -tail)
    return x.reshape(np.shape(p))


def student_quantile(p: float, freedom: NDArray[np.float64]) -> NDArray[np.float64]:
    """Quantiles of Student's t for p > 1/2 and an array of degrees of freedom; nan where these are not above 0."""
    different, place = np.unique(np.where(freedom > 0, freedom, np.nan), return_inverse=True)
    is_smooth = (different >= 2) | (different == 1) | np.isnan(different)
    if len(different) > _MANY or not is_smooth.all():
        return np.asarray(special.stdtrit(freedom, p))
    quantiles = [math.nan if nu != nu else _student_quantile(p, nu) for nu in different.tolist()]
    return np.array(quantiles)[place].reshape(np.shape(freedom))


def _student_quantile(p: float, nu: float) -> float:
    """The quantile: Newton's method for the logarithm of the probability beyond exp(u), which is close to linear.

    With t = sqrt(nu) tan(a) that is a multiple of the integral of cos(a)^(nu - 1), which is smooth.
    """
    # of Gamma((nu + 1) / 2) / Gamma(nu / 2), whose two logarithms are large where nu is
    h = 1 / (4 * nu)
    ratio = math.sqrt(nu / 2) * (1 - h + h**2 / 2 + 5 * h**3 / 2 - 21 * h**4 / 8)
    if nu < _LARGE:
        ratio = math.exp(math.lgamma((nu + 1) / 2) - math.lgamma(nu / 2))
    u = math.log(float(normal_quantile(p)))
    for _ in range(100):
        angle = math.atan(math.exp(u) / math.sqrt(nu))
        cosines = np.cos(np.linspace(0, angle, _NODES + 1)) ** (nu - 1)
        area = (
            angle / _NODES / 3 * float(cosines[0] + cosines[-1] + 4 * cosines[1::2].sum() + 2 * cosines[2:-1:2].sum())
        )
        beyond = 0.5 - ratio / math.sqrt(math.pi) * area
        density = ratio / math.sqrt(math.pi * nu) * math.cos(angle) ** (nu + 1)
        step = beyond * math.log(beyond / (1 - p)) / (density * math.exp(u))
        u += step
        if abs(step) < 1e-13:
            break
    return math.exp(u)
