"""Build of the compiled extensions; everything else is declared in pyproject.toml.

Environment variables read at build time:

``SMCMC_MARCH``
    Value of the compiler's ``-march`` option. Default ``native``: a build from source uses the machine's own
    instructions. ``portable``, for wheels: the baseline of x86-64 of the last decade, and modules with loops once more
    for each level of `LEVELS`, of which `splitmerge_cli.instruction_sets` chooses. Results do not depend on it:
    contraction is off, so every instruction set rounds alike.
``SMCMC_ABI3``
    ``1`` compiles against the stable ABI of Python 3.11: one wheel for all later versions (decision 32).
``SMCMC_LEVEL``
    ``1`` compiles every module with ``-O1``: half the compiler's time, and chains that take longer. Results are the
    same. Continuous integration builds so.
``SMCMC_DEBUG``
    ``1`` turns bounds checks on (slow; for hunting memory errors).
``CC``
    The compiler. Where it is not set and ccache is installed, ``ccache gcc``, or whatever compiles extensions of this
    Python: a second build of the same sources takes seconds. ``CCACHE_DISABLE=1`` turns the cache off.
``SMCMC_SANITIZE``
    ``address`` compiles with AddressSanitizer and UndefinedBehaviorSanitizer, ``thread`` with ThreadSanitizer, both
    with assertions and into ``build/sanitize``. ``scripts/sanitize.py`` builds so, beside the ordinary build.
"""

import gc
import os
import platform
import re
import shutil
import sys
import sysconfig
from copy import copy
from pathlib import Path

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

DEBUG = os.environ.get("SMCMC_DEBUG") == "1"
SANITIZERS = {"address": "address,undefined,float-cast-overflow", "thread": "thread"}
SANITIZE = os.environ.get("SMCMC_SANITIZE", "")
if SANITIZE not in ("", *SANITIZERS):
    raise SystemExit(f"SMCMC_SANITIZE={SANITIZE}: expected {' or '.join(SANITIZERS)}, or nothing")
X86 = platform.machine().lower() in ("x86_64", "amd64", "i686")
MARCH = os.environ.get("SMCMC_MARCH", "native" if X86 else "")
BASELINE, LEVELS = "x86-64-v2", ("x86-64-v3", "x86-64-v4")
PORTABLE = MARCH == "portable"
if PORTABLE:
    MARCH = BASELINE if X86 else ""

if "CC" not in os.environ and shutil.which("ccache"):
    os.environ["CC"] = f"ccache {sysconfig.get_config_var('CC')}"

compile_args = ["-ffp-contract=off", "-fno-math-errno", "-Wno-unused-function", "-Wno-psabi"]
if MARCH:
    compile_args.append(f"-march={MARCH}")
# modules without loops that -O3 vectorises or a chain waits for: there it only costs time
PLAIN = re.compile("tests/|splitmerge_cli/(verify/|core/(_cyutility|capabilities|chain|coupled|history|threads))")


def optimisation(source: str) -> list[str]:
    """Flags by which the compiler optimises a module."""
    level = "1" if DEBUG or SANITIZE else os.environ.get("SMCMC_LEVEL") or ("2" if PLAIN.match(source) else "3")
    # -O1 alone does not clean wide registers after use: numbers from NumPy's generator take up to 25 times as long then
    return [f"-O{level}", *["-fexpensive-optimizations"] * (level == "1")]


ABI3 = os.environ.get("SMCMC_ABI3") == "1"
macros = [("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")]
if ABI3:
    macros += [("CYTHON_LIMITED_API", "1"), ("Py_LIMITED_API", "0x030B0000")]
link_args: list[str] = []
options: dict[str, dict[str, object]] = {}
if SANITIZE:
    # an undefined operation ends the process, as a bad access does: each is a finding
    link_args = [f"-fsanitize={SANITIZERS[SANITIZE]}", "-fno-sanitize-recover=all"]
    compile_args += [*link_args, "-fno-omit-frame-pointer", "-g", "-UNDEBUG"]
    folder = f"build/sanitize/{SANITIZE}"
    options |= {"build": {"build_base": folder}, "bdist_wheel": {"bdist_dir": f"{folder}/wheel"}}
else:
    # no debugging symbols: a third of the compiler's time
    compile_args += ["-DNDEBUG"] if DEBUG else ["-DNDEBUG", "-g0"]

if ABI3:
    options["bdist_wheel"] = {"py_limited_api": "cp311"}

NUMPY = Path(np.__file__).parent
PACKAGE = Path("splitmerge_cli")
INCLUDE = PACKAGE / "core" / "include"
NEEDS = re.compile(
    r"""^\s*from\s+splitmerge_cli\.([\w.]+)\s+cimport|(?:extern from|include)\s+"(\w+\.h)\"""", re.MULTILINE
)


def find_header(source: Path, name: str) -> Path:
    """A header: in the folder of the source that includes it, or else in the core's."""
    own = source.parent / name
    return own if own.exists() else INCLUDE / name


def find_dependencies(source: str) -> list[str]:
    """Declarations and headers that a module is compiled with: a change of another leaves it as it is."""
    found, waiting = set(), [Path(source), Path(source).with_suffix(".pxd")]
    while waiting:
        path = waiting.pop()
        if path not in found and path.exists():
            found.add(path)
            for module, header in NEEDS.findall(path.read_text(encoding="utf-8")):
                waiting.append(find_header(path, header) if header else PACKAGE / f"{module.replace('.', '/')}.pxd")
    return sorted(path.as_posix() for path in found - {Path(source)})


# what tests call piece by piece is no part of a wheel
HELPERS = "tests/compiled"
sources = sorted(p.as_posix() for folder in (PACKAGE, Path(HELPERS)) for p in folder.rglob("*.pyx"))
extensions = [
    Extension(
        source.removesuffix(".pyx").replace("/", "."),
        [source],
        include_dirs=[np.get_include(), "splitmerge_cli/core/include", os.path.dirname(source)],
        # normal, gamma and beta draws: NumPy's own, from its static library
        library_dirs=[str(NUMPY / "random" / "lib")],
        libraries=["npyrandom", "m"],
        define_macros=macros,
        py_limited_api=ABI3,
        extra_compile_args=[*optimisation(source), *compile_args],
        extra_link_args=link_args,
        depends=find_dependencies(source),
    )
    for source in sources
]
# what Cython writes for memoryviews, once for all modules (Cython generates the file)
SHARED = "splitmerge_cli/core/_cyutility.c"
extensions.append(
    Extension(
        SHARED.removesuffix(".c").replace("/", "."),
        [SHARED],
        define_macros=macros,
        py_limited_api=ABI3,
        extra_compile_args=[*optimisation(SHARED), *compile_args],
        extra_link_args=link_args,
    )
)


class BuildExt(build_ext):
    """Uses all processors. An editable installation keeps what it compiles where the next one, and ``build_ext
    --inplace``, look for it; a wheel, which may be for another machine, is compiled anew."""

    def run(self) -> None:
        # an editable installation forgets the options of `setup`
        self.parallel = self.parallel or os.cpu_count()
        in_place = self.editable_mode or self.inplace
        if in_place and not SANITIZE:
            self.build_lib = f"build/editable.{self.plat_name}-{sys.implementation.cache_tag}"
        elif not SANITIZE:
            self.force = True
        # the longest first, so that no processor waits for it at the end
        self.extensions.sort(key=lambda one: -os.path.getsize(one.sources[0]))
        if not in_place:
            self.extensions = [one for one in self.extensions if one.name.startswith(f"{PACKAGE}.")]
        compiler, own = self.compiler, self.extensions
        super().run()
        if not PORTABLE or not X86 or in_place:
            return
        lib, temp = Path(self.build_lib), Path(self.build_temp)
        for level in LEVELS:
            # the same C files, compiled once more
            self.extensions = [self._for_level(one, level) for one in own if not PLAIN.match(one.sources[0])]
            self.build_lib, self.build_temp, self.compiler = str(temp / "lib" / level), str(temp / level), compiler
            shutil.rmtree(self.build_lib, ignore_errors=True)  # another Python's modules would be packed, too
            super().run()
            shutil.copytree(Path(self.build_lib) / PACKAGE, lib / PACKAGE / "_levels" / level, dirs_exist_ok=True)
        self.build_lib, self.build_temp, self.extensions = str(lib), str(temp), own

    @staticmethod
    def _for_level(extension: Extension, level: str) -> Extension:
        """Return an extension as it is compiled for a level."""
        found = copy(extension)
        found.extra_compile_args = [re.sub(r"-march=.*", f"-march={level}", one) for one in found.extra_compile_args]
        return found


# what Cython makes of one module stays until the last one is written; looking for garbage in all of it again and again
# takes as long as the rest
gc.set_threshold(100_000, 50, 100)

subpackages = sorted(p.parent.as_posix().replace("/", ".") for p in Path("splitmerge_cli").glob("*/**/__init__.py"))
groups = sorted(".".join(p.parent.parts[1:]) for p in Path("conf").glob("*/**/__init__.py"))
configuration = ["splitmerge_cli.conf", *(f"splitmerge_cli.conf.{group}" for group in groups)]

setup(
    options=options,
    cmdclass={"build_ext": BuildExt},
    packages=["smcmc", "smcmc.tests", "splitmerge_cli", *subpackages, *configuration],
    package_dir={"splitmerge_cli.conf": "conf"},
    package_data={
        "": [
            "*.yaml",
            "experiment/*.yaml",
            "*.pxd",
            "*.h",
            "include/*.h",
            "*.pyi",
            "py.typed",
            "*.mplstyle",
            "*.csv",
            "*.toml",
            "*.md",
        ]
    },
    include_package_data=False,
    ext_modules=cythonize(
        extensions,
        build_dir="build/sanitize/c" if SANITIZE else None,
        shared_utility_qualified_name=extensions[-1].name,
        nthreads=0 if DEBUG else min(4, os.cpu_count() or 1),
        compiler_directives={
            "language_level": 3,
            "boundscheck": DEBUG,
            "wraparound": False,
            "initializedcheck": False,
            "nonecheck": False,
            "cdivision": True,
            "freethreading_compatible": True,
            "embedsignature": True,
            # no compiled object is pickled, and the sources say what the C code is made of: a quarter of its lines
            "auto_pickle": False,
            "emit_code_comments": False,
        },
    ),
)
