"""All files are written through the sealed store, and no pickle is read; exceptions are listed, with reasons."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from sources import parse

import splitmerge_cli

pytestmark = pytest.mark.xdist_group("sources")

ROOT = Path(splitmerge_cli.__file__).parent
STORE = "runs/store/"
"""The store itself: what it writes has a digest, in the file or in a manifest."""
WRITES = {
    "write_text", "write_bytes", "write_json", "replace_file", "open_new", "to_csv", "to_json", "to_parquet",
    "to_feather", "to_excel", "to_netcdf", "to_zarr", "to_pickle", "to_hdf", "to_file", "to_html", "to_latex", "tofile",
    "np.save", "savez", "savez_compressed", "save_npz", "savetxt", "savefig", "mmwrite", "memmap", "open_memmap",
    "json.dump", "yaml.dump", "safe_dump", "OmegaConf.save", "write_table", "write_feather", "write_array",
    "write_array_header_1_0", "ParquetWriter", "symlink_to", "hardlink_to", "touch", "copyfile", "copy2", "copytree",
    "shutil.copy", "shutil.move", "extractall", "mkdtemp", "NamedTemporaryFile", "mkstemp", "urlretrieve",
}  # fmt: skip
"""Calls that write a file, by their last name or the last two."""
PICKLES = {"pickle", "cPickle", "cloudpickle", "dill", "joblib.load", "shelve", "marshal", "read_pickle", "torch.load"}
"""Modules and calls that read objects by running what the file says."""
# Path -> (calls, why no digest is needed, or who keeps it)
ALLOWED: dict[str, tuple[set[str], str]] = {
    "analysis/plots/style.py": (
        {"replace_file", "savefig"},
        "pictures, which nothing reads; figures have them in their manifest",
    ),
    "papers/report.py": ({"replace_file", "write_text"}, "a page for people, which nothing reads"),
    "analysis/pages/runs.py": ({"write_text"}, "a page for people, which nothing reads"),
    "kinds/networks/links.py": ({"write_text"}, "a table for people, which nothing reads"),
    "kinds/records/entities.py": ({"write_text"}, "pairs that a person labels: the file is to change"),
    "analysis/pages/html.py": ({"savefig"}, "into memory: pictures of a page"),
    "api/updating.py": (
        {"mkdtemp", "np.save", "replace_file", "write_bytes"},
        "start states, whose digest is in the id of their run, and a folder for a run, which the store writes",
    ),
    "papers/reproduce.py": ({"replace_file", "to_csv", "write_text"}, "figures and tables, which have manifests"),
    "fits/stored_draws.py": ({"ZipFile", "extractall", "mkdtemp"}, "a sealed run, packed and unpacked as it is"),
    "api/certifying.py": ({"mkdtemp"}, "a folder for a certificate, which is sealed"),
    "analysis/certificate.py": (
        {"np.save", "open", "replace_file"},
        "estimates of a pair: the sealed pairs.json has digests",
    ),
    "runs/shards/source.py": (
        {"ParquetWriter", "np.save", "open", "replace_file", "write_table"},
        "labels, which a worker writes: the sealed checkpoint, or the manifest, has their digests",
    ),
    "kinds/documents/readers/bag_of_words.py": (
        {"np.save", "open", "write_array_header_1_0", "write_text"},
        "arrays of a text, and a record with its digest: they are made again when it is another",
    ),
    "data/downloads.py": (
        {"open", "write_text"},
        "a download, whose digest is published or recorded, and SHA256SUMS, the digests of downloads",
    ),
}


def name_of(call: ast.Call) -> str:
    """Name of the function that is called: ``a.b.c`` or ``c``."""
    return ast.unparse(call.func) if isinstance(call.func, ast.Name | ast.Attribute) else ""


def mode_of(call: ast.Call) -> str:
    """The mode of an ``open``: the first string that is one."""
    given = [*call.args, *(word.value for word in call.keywords if word.arg == "mode")]
    words = [arg.value for arg in given if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    return next((word for word in words if set(word) <= set("rwaxbt+") and word), "r")


def writes(tree: ast.AST) -> set[str]:
    """Calls of a module that write files past the store."""
    found = set()
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        parts = name_of(call).split(".")
        names = {parts[-1], ".".join(parts[-2:])}
        if parts[-1] in ("open", "ZipFile"):
            names = {parts[-1]} if set(mode_of(call)) & set("wax+") else set()
        elif parts[-1] == "to_csv" and not call.args:  # which returns the text
            names = set()
        else:
            names &= WRITES
        found |= names
    return found


def pickle_readers(tree: ast.AST) -> set[str]:
    """Calls and imports of a module that may read a pickle."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & PICKLES
        elif isinstance(node, ast.ImportFrom) and node.module in PICKLES:
            found.add(str(node.module))
        elif isinstance(node, ast.Attribute) and node.attr == "result_pickle":
            found.add(node.attr)
        elif isinstance(node, ast.Call):
            name = name_of(node)
            if name in PICKLES or name.rpartition(".")[2] in PICKLES:
                found.add(name)
            # numpy reads none unless an argument allows it; so the call has to reject them by name
            safe = any(word.arg == "allow_pickle" and ast.unparse(word.value) == "False" for word in node.keywords)
            if name in ("np.load", "numpy.load", "np.lib.format.read_array") and not safe:
                found.add(name)
    return found


@cache
def modules() -> dict[str, ast.AST]:
    return {path.relative_to(ROOT).as_posix(): parse(path) for path in sorted(ROOT.rglob("*.py"))}


def test_every_module_that_writes_past_the_store_is_listed() -> None:
    found = {name: calls for name, tree in modules().items() if not name.startswith(STORE) and (calls := writes(tree))}
    assert found == {name: calls for name, (calls, _) in ALLOWED.items()}


def test_no_module_reads_a_pickle() -> None:
    assert not {name: found for name, tree in modules().items() if (found := pickle_readers(tree))}


def test_compiled_modules_write_and_read_no_files() -> None:
    words = re.compile(r"with open\(|fopen|pickle|np\.save|np\.load|write_text|to_parquet|to_csv")
    assert not {path.name for path in ROOT.rglob("*.pyx") if words.search(path.read_text())}


def test_compiled_code_uses_no_negative_index() -> None:
    """``wraparound`` is off: Cython leaves ``x[-1]`` undefined, and one build of NumPy read past the end."""
    files = sorted(ROOT.rglob("*.pyx"))
    lines = [f"{file.name}: {line}" for file in files for line in file.read_text().splitlines() if "[-1" in line]
    assert len(files) > 50 and not lines


def test_the_rule_sees_pickles() -> None:
    source = """
import pickle
np.load(path); np.load(path, allow_pickle=False); joblib.load(path); job.paths.result_pickle.exists()
"""
    assert pickle_readers(ast.parse(source)) == {"pickle", "np.load", "joblib.load", "result_pickle"}
