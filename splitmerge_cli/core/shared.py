"""Read-only data and tables that the chains of a run share: prepared once while anybody holds them.

A model keeps pointers into the arrays of a `Prepared` and holds it; labels, lists of members and columns of clusters
are its own. Models made one after another, in one thread or in several, of the same data and options get the same
object; the last of them to go frees it.
"""

import threading
import weakref
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

_lock = threading.RLock()
_prepared: "weakref.WeakValueDictionary[Any, Prepared]" = weakref.WeakValueDictionary()


class Prepared:
    """Arrays, made read-only, and numbers that were prepared with them: the attributes of this object."""

    def __init__(self, contents: Mapping[str, Any]) -> None:
        for value in contents.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        self.__dict__.update(contents)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"nothing of the name {name} was prepared")

    @property
    def nbytes(self) -> int:
        """Memory of the arrays, in bytes."""
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))


def share(make: Callable[..., Mapping[str, Any]], *args: Any) -> Prepared:
    """Return what ``make(*args)`` returns, one object for all who ask for the same. `make` returns arrays and numbers
    by name, and must not keep what it is given, nor depend on anything else. Arrays and sparse matrices (csr) in `args`
    count as the same where they are the same object, whose content has not changed in between; a `Prepared` likewise;
    all others where they are equal.

    Who asks while another thread prepares it waits. A writable array is read once more to see whether it has changed.
    """
    key = (make, *map(_identity, args))
    with _lock:
        prepared = _prepared.get(key)
        if prepared is None:
            prepared = Prepared(make(*args))
            # while it is held, no other object can have the number of one of its sources
            prepared.__dict__["_sources"] = tuple(a for a in args if isinstance(a, np.ndarray | Prepared) or _sparse(a))
            _prepared[key] = prepared
        return prepared


def is_frozen(x: np.ndarray) -> bool:
    """Whether nobody can change this array: neither it nor any that it is a view of is writable."""
    array: Any = x
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    return True


def freeze(x: Any) -> None:
    """Make an array read-only, with those that it is a view of, so that it can be used without a copy; all else
    stays as it is."""
    while isinstance(x, np.ndarray):
        x.flags.writeable = False
        x = x.base


def as_array(x: Any) -> np.ndarray:
    """An array as it is, one of a subclass, such as a mapped file, too; else an array of this."""
    return x if isinstance(x, np.ndarray) else np.asarray(x)


def as_frozen(x: np.ndarray, dtype: Any) -> np.ndarray:
    """A row-by-row array of this type that nobody can change: the given one where it is such, else a copy."""
    if x.dtype == dtype and x.flags.c_contiguous and is_frozen(x):
        return x
    return np.array(x, dtype=dtype, order="C")


def _sparse(x: Any) -> bool:
    """Whether this is a sparse matrix or array in the format csr."""
    return getattr(x, "format", "") == "csr"


def _identity(x: Any) -> Any:
    """Return the key that distinguishes an argument from others."""
    if isinstance(x, np.ndarray):
        return "array", id(x), _content(x)
    if _sparse(x):
        return "sparse", id(x), tuple(map(_content, (x.data, x.indices, x.indptr)))
    if isinstance(x, Prepared):
        return "prepared", id(x)
    if isinstance(x, list | tuple):
        return "sequence", tuple(map(_identity, x))
    return type(x), x


def _content(x: np.ndarray) -> object:
    """A checksum of an array that may change, None of one that cannot."""
    if is_frozen(x):
        return None
    if x.dtype.hasobject:
        # nothing to compare: equal to itself alone
        return object()
    total, step = 0, max(1, (1 << 22) // max(1, x[:1].nbytes)) if x.ndim else 1
    for start in range(0, len(x) if x.size and x.ndim else 0, step):
        total = zlib.crc32(np.ascontiguousarray(x[start : start + step]).reshape(-1).view(np.uint8).data, total)
    return total
