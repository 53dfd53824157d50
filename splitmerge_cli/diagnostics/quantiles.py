"""Quantiles of the normal distribution, without SciPy, whose import takes a fifth of a short run."""

import math

import numpy as np
from numpy.typing import NDArray

_COEFFICIENTS = """\
-59.96335010141079 98.00107541859997 -56.67628574690703 13.931260938727968 -1.2391658386738125
1 1.9544885833814176 4.676279128988815 86.36024213908905 -225.46268785411937 200.26021238006066 -82.03722561683334 \
15.90562251262117 -1.1833162112133
4.0554489230596245 31.525109459989388 57.16281922464213 44.08050738932008 14.684956192885803 2.1866330685079025 \
-0.1402560791713545 -0.03504246268278482 -0.0008574567851546854
1 15.779988325646675 45.39076351288792 41.3172038254672 15.04253856929075 2.504649462083094 -0.14218292285478779 \
-0.03808064076915783 -0.0009332594808954574
3.2377489177694603 6.915228890689842 3.9388102529247444 1.3330346081580755 0.20148538954917908 0.012371663481782003 \
0.00030158155350823543 2.6580697468673755e-06 6.239745391849833e-09
1 6.02427039364742 3.6798356385616087 1.3770209948908132 0.21623699359449663 0.013420400608854318 \
0.00032801446468212774 2.8924786474538068e-06 6.790194080099813e-09
"""
_POLYNOMIALS = [np.array(line.split(), dtype=np.float64) for line in _COEFFICIENTS.splitlines()]
"""Numerators and denominators, the highest power first: of the middle, of the tails, of the far tails."""
_TAIL = 0.13533528323661269189
"""exp(-2)"""


def normal_quantiles(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Quantiles of the standard normal distribution ``[n]`` at `p` in (0, 1): to the bit those of SciPy's ``ndtri``.

    Source: Moshier 1989, Cephes, ``ndtri.c``.
    """

    def ratio(part: int, x: NDArray[np.float64]) -> NDArray[np.float64]:
        above, below = _POLYNOMIALS[2 * part : 2 * part + 2]
        return x * np.polyval(above, x) / np.polyval(below, x)

    upper = p > 1 - _TAIL
    y = np.where(upper, 1 - p, p)
    found, middle = np.empty_like(y), y > _TAIL
    x = y[middle] - 0.5
    found[middle] = (x + x * ratio(0, x * x)) * 2.50662827463100050242
    # NumPy's logarithms are rounded otherwise, the one or other
    x = np.sqrt(-2 * np.array([math.log(each) for each in y[~middle]]))
    tail = x - np.array([math.log(each) for each in x]) / x - np.where(x < 8, ratio(1, 1 / x), ratio(2, 1 / x))
    found[~middle] = np.where(upper[~middle], tail, -tail)
    return found
