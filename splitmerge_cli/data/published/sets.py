"""Published data sets: what they are, where they come from, whether they are here.

A set is a folder of its name in the folder that the environment variable SMCMC_DATA names (default: the user's cache).
A file whose SHA-256 is known is read only if it has it: the name of the set then stands for its content,
in the identity of a run too. Where no source states it, that of the first download is recorded beside the file, and
holds from then on; the file is unverified, as smcmc reports wherever it is fetched, listed or read.
"""

import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from splitmerge_cli.data.base import DataError
from splitmerge_cli.data.opening import content, sha256_of
from splitmerge_cli.data.published.download import download

if TYPE_CHECKING:
    from splitmerge_cli.data.transfer import Report

VARIABLE = "SMCMC_DATA"
SUMS = "SHA256SUMS"
"""The file of a set's folder with the digests that were recorded, as ``sha256sum --check`` reads it."""


@dataclass(frozen=True)
class File:
    """One file of a set: its name, size in bytes and SHA-256, and an address to fetch it from, where known."""

    name: str
    size: int | None = None
    sha256: str | None = None
    address: str | None = None


@dataclass(frozen=True)
class Published:
    """A published data set.

    Attributes
    ----------
    name : str
        That of ``conf/data/NAME.yaml``, and of its folder.
    kind : str
        As in `Dataset`.
    N : str
        Number of items, in words.
    what, paper, source, terms : str
        What it holds, the paper that uses it, where it comes from and how it was converted, terms of use.
    files : tuple of File
        What the folder holds.
    folder : str
        Its folder where that has another name.
    """

    name: str
    kind: str
    N: str
    what: str
    paper: str
    source: str
    terms: str
    files: tuple[File, ...]
    folder: str = ""


_NOPARAMA = "https://github.com/mrquincle/noparama-datasets, commit 533d3ff0d27d00212716d702ef7bb97cf6260029"
_BAG_OF_WORDS = "https://archive.ics.uci.edu/ml/machine-learning-databases/bag-of-words/"
_KNOWCEANS = "https://github.com/gregoryyy/knowceans, commit f8aef6854f3a0f1328c57fa82a3b46e324efb780"
_PUBMED = ("docword.pubmed.txt.gz", "vocab.pubmed.txt")

SETS = {
    published.name: published
    for published in (
        Published(
            name="noparama_lines",
            kind="points",
            N="200",
            what="100 sets of 200 points on 2 to 13 lines, with the true line of every point (columns dataset, x, y, "
            "cluster)",
            paper="van Rossum et al. 2018; likely, but not stated to be, the data of its Table 1",
            source=f"folder lines of {_NOPARAMA}; 100 pairs of text files, here joined into one table",
            terms="none stated",
            files=(
                File(
                    "points.csv.gz",
                    265_246,
                    "8da534071b2c8cb814310ac99b16e4dce9a0a1d21948a9fc8b51170509e92d51",
                ),
            ),
        ),
        Published(
            name="noparama_twogaussians",
            kind="points",
            N="200",
            what="100 points each from N((0,0), I) and N((5,5), I), with the true one (columns x, y, cluster)",
            paper="none; the example of the program that van Rossum et al. 2018 names",
            source=f"twogaussians/twogaussians.data of {_NOPARAMA}; here with the columns named",
            terms="none stated",
            files=(
                File(
                    "points.csv.gz",
                    2_415,
                    "f32291deb91d24bb973d6327e8fe4c0ac4f513002646ec33a50af5348f696ab0",
                ),
            ),
        ),
        Published(
            name="usair97",
            kind="graph",
            N="332",
            what="US airports and the flights between them in 1997: 2,126 edges (columns source, target, weight) and "
            "the names of the airports",
            paper="Herlau et al. 2014; n agrees, it gives no number of edges",
            source="data/USAir97.net of https://github.com/bavla/corrected, commit "
            "be3f774cd9b1454c04a3a535d0ecfdef0f467283, converted to Pajek's format by V. Batagelj; here a row per edge",
            terms="CC BY-NC-SA 2.5 by the page of Pajek's data; GPL 3 in that repository",
            files=(
                File("edges.csv.gz", 9_997, "aef0aee5d0e487f6866113be713ba115fd43a965df9ef7e5dbdb77244ee173e7"),
                File("nodes.csv.gz", 6_494, "c669203cd44ac54fd8ed1e783506b503774e20e97b2ae6681dc3df5c604b54a0"),
            ),
        ),
        Published(
            name="caltech36",
            kind="graph",
            N="769",
            what="Friendships on Facebook at Caltech in September 2005: 16,656 edges (columns source, target); what "
            "the source tells of the people is left out",
            paper="Herlau et al. 2014; n agrees, it gives no number of edges",
            source="datasets/facebook100/Caltech36.mat of https://github.com/sisaman/pyg-datasets, commit "
            "9a92bf1e84f73b7b24dd745eb14f13e4d1979769; here a row per edge",
            terms="none stated; its readme asks to cite Traud, Mucha and Porter (arXiv:1102.2166 and arXiv:0809.0690)",
            files=(File("edges.csv.gz", 41_059, "4d0f85082dd8706221c8f50435cf387d438790bc99c06c1e9c44c05718197f5b"),),
        ),
        Published(
            name="nips234",
            kind="graph",
            N="234",
            what="Co-authors of NIPS 1 to 17, the 234 who had most: 598 edges (columns source, target) and the names",
            paper="Herlau et al. 2014; n agrees, how it broke ties between authors is not known",
            source="NIPS/NIPS.csv of https://github.com/adiehl96/Network-Science-Datasets, commit "
            "1c4dc000e37c5898bd16e4f677078118cfe31336; names from knowceans-tools/corpus-example/nips17 of "
            "https://github.com/gregoryyy/knowceans, commit f8aef6854f3a0f1328c57fa82a3b46e324efb780",
            terms="MIT licence (network); GPL 3 (names)",
            files=(
                File("edges.csv.gz", 1_610, "70fd643a49a635d085b68b83a718f408ce9211be0aac3d4b2971376d7fc6c347"),
                File("nodes.csv.gz", 2_861, "e6dfeeeeb8c4164bc9bfc758f4ebc12f5915ea01c6c693e6738bc5ee9e338a41"),
            ),
        ),
        Published(
            name="hagmann998",
            kind="graph",
            N="998",
            what="Fibres between regions of the human cortex, the average of five people: 17,865 edges (columns "
            "source, target, weight) and the region of every node",
            paper=(
                "Herlau et al. 2014, which prints 988 and 998; it may have summed the single scans, which "
                "makes more edges"
            ),
            source="CIJ_fbden_average of data/Conectoma.mat of "
            "https://github.com/JayRod12/loss_of_consciousness_simulations, commit "
            "261fc900ee160bcfdd1cff133b70c9f255104da4; regions from anatomy/connectivity_998.zip of "
            "https://github.com/bfinl/DeepSIF, commit c40fc8425cf301627f048f16ddd178b11d728cec",
            terms="none stated (weights); GPL 3 (regions); cite Hagmann et al. 2008, PLoS Biology 6(7): e159",
            files=(
                File("edges.csv.gz", 136_009, "74348543658189ec8fe0bfbd1eef1b115157074859870f755ed97b7780a17f6e"),
                File("nodes.csv.gz", 7_068, "69126f3e26262a67764f74c09c919a93d415cab3c1820bdd89c772b743830923"),
            ),
        ),
        Published(
            name="kddcup04bio",
            kind="points",
            N="145751",
            what="Pairs of proteins of KDD Cup 2004, the training set of its second task: 145,751 rows of 74 numbers "
            "separated by spaces",
            paper=(
                "Luo & Shrivastava 2018, which counts 2,000 true clusters; no such labels are public, so there "
                "is no truth"
            ),
            source="collection of clustering data sets of the University of Eastern Finland, "
            "https://cs.joensuu.fi/sipu/datasets/; originally bio_train.dat of "
            "https://kdd.org/cupfiles/KDDCupData/2004/data_kddcup04.tar.gz, which is read under the name below too",
            terms="none stated; cite KDD Cup 2004 (Caruana, Joachims and Backstrom)",
            files=(File("KDDCUP04Bio.txt", address="https://cs.joensuu.fi/sipu/datasets/KDDCUP04Bio.txt"),),
        ),
        Published(
            name="ohsumed23",
            kind="points",
            N="7400",
            what="Titles and abstracts of MEDLINE, 1991, on cardiovascular diseases, as counts of the 141,043 words of "
            "the UCI PubMed vocabulary (31,627 of them occur), each in one of 23 categories",
            paper=(
                "Luo & Shrivastava 2018, in place of PubMed: the same words and kind of text, 0.09% of the "
                "documents, with labels"
            ),
            source="data/ohsumed_single_23 of https://github.com/yao8839836/text_gcn, commit "
            "962223652e9bb164ac2d83cd09fc7b8845ce860b (7,400 texts, the single-label subset of OHSUMED of Yao, Mao "
            "and Luo 2019); words of vocab.pubmed.txt of https://github.com/m4nu7/sqlite3_UCIdata-Project, commit "
            "a4b22eee673bf566879d20cda2d4d3634c8eb3d8; here counted, with a tokeniser near UCI's, which is not public",
            terms="these data are incomplete and out of date; for experimentation only, not for any non-experimental "
            "clinical, library or other setting (National Library of Medicine, through TREC-9; users must be told); "
            "none stated by that repository",
            files=(
                File("counts.npz", 1_046_179, "45c82e99d650da60a162d7102fe5eb748df3a4e69f986e0a4209e8c9f94ea2d1"),
                File("docs.csv.gz", 54_851, "36c6f78be4b0c5a5ebf475751ffa6e51747d9d043d79484676cf87fe1a279433"),
                File("vocab.txt.gz", 475_245, "ffc1e77a461feeb21ae84ad98e4f4ce5a632d8e9246359897dc1e097604373fc"),
            ),
        ),
        Published(
            name="pubmed",
            kind="points",
            N="8200000",
            what="Abstracts of PubMed as counts of 141,043 words (lines of document, word and count), and the words; "
            "1.9 GB, and 4 GB more for the arrays that the first reading makes beside them",
            paper=(
                "Luo & Shrivastava 2018; the collection has no class labels, and the paper does not say by "
                "which it scores: no truth"
            ),
            source='collection "Bag of Words" of the UCI machine learning repository; whole: '
            "https://archive.ics.uci.edu/static/public/164/bag+of+words.zip",
            terms="not read here; the page of the collection states them",
            files=tuple(File(name, address=_BAG_OF_WORDS + name) for name in _PUBMED),
        ),
        Published(
            name="20news_w100",
            kind="documents",
            N="16242",
            what="Postings of 20 newsgroups in four groups, presence or absence of 100 chosen words: 65,451 ones",
            paper="Rana et al. 2013, section 4.2; documents and words agree",
            source="20news_w100/20news_w100.mat of https://github.com/probml/pmtkdata, commit "
            "42bc2738a294382f9d6ffb1b0203404ffb10295a, which names http://cs.nyu.edu/~roweis/data.html; here as a "
            "sparse matrix",
            terms="none stated",
            files=(
                File("counts.npz", 82_233, "57989aebe3b4b6d205c06bfc7787045df95c6bc2743892d1c426a55a78993282"),
                File("docs.csv.gz", 39_399, "47197834afc39ec5cf5d5d00d9e34be8a97849b32637d0b13fa0bf85d516fd13"),
                File("vocab.txt", 657, "8878e61c2d5eaa9d05a34fff309a4c1f3d7c4654f1d94e4e11e04ea63e5043d0"),
            ),
        ),
        Published(
            name="nips_abstracts",
            kind="documents",
            N="1740",
            what="Abstracts of NIPS 0 to 12 (1987 to 1999) as counts of 12,728 words, stop words among them: 269,965 "
            "tokens; subject of each",
            paper='002, section 4.2: its "1392 abstracts consisting of 263K words" are 80% of 1,740, but 1,392 of '
            "these have some 216,000 tokens",
            source=f"knowceans-tools/corpus-example/nips.abstracts of {_KNOWCEANS}; here counted, tokens being runs "
            "of a to z in lower case",
            terms="GPL 3 (that repository); none stated for the abstracts",
            files=(
                File("counts.npz", 300_332, "c4990562d8d01b0d8aff9d4137e2729672c9c60b771a57191b54e81d49e3f625"),
                File("docs.csv.gz", 18_777, "95cc7d477c945907b234f27bcecb532f26a2954ae623b61d467e2a9aebbbe99a"),
                File("vocab.txt", 109_841, "84c20063abc6f51bf20edb9b5698a5117cf7dbadcfc85fd22f5ba43b3746d8fb"),
            ),
        ),
        Published(
            name="nips0_12",
            kind="documents",
            N="1740",
            what="Papers of NIPS 0 to 12 (1987 to 1999) as counts of 13,649 words, without stop words: 2,301,375 "
            "tokens; subject of each",
            paper="none; the whole papers of the abstracts of Rana et al. 2013",
            source=f"corpus-example/nips.corpus in knowceans-tools/nips-corpus-20111205.zip of {_KNOWCEANS}, whose "
            "counts come from S. Roweis's NIPS 0-12; here as a sparse matrix",
            terms="GPL 3 (that repository); none stated for the papers",
            files=(
                File("counts.npz", 1_981_454, "d533f2a6f2daca8892eb39349a4ff4c1cd03e06d08628e6f4dfcb2de9fddbef0"),
                File("docs.csv.gz", 16_576, "4414dc5c2fcf055e4b69e29188f16a83d43f1746ca3329d7af1dc9d087af80e6"),
                File("vocab.txt", 112_756, "83096d8f506f2210cd09c9b85c81e49bc26a0ab23286c24feb3254580e4ddf65"),
            ),
        ),
    )
}
SETS["ohsumed23_documents"] = replace(
    SETS["ohsumed23"], name="ohsumed23_documents", kind="documents", folder="ohsumed23", paper="none"
)


def folder() -> Path:
    """Where the published sets are: SMCMC_DATA, or the user's cache folder."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else platformdirs.user_cache_path("smcmc")


def place(name: str) -> Path:
    """The folder of a set."""
    return folder() / (SETS[name].folder or name)


def present(name: str) -> bool:
    """Whether all files of a set are in their folder; they are not read."""
    return all((place(name) / file.name).is_file() for file in SETS[name].files)


def describe_place(name: str) -> str:
    """The folder of a set, for a list, marked where a file in it is unverified; or "absent"."""
    if not present(name):
        return "absent"
    known = all(file.sha256 is not None for file in SETS[name].files)
    return f"{place(name)}{'' if known else ' (unverified)'}"


def verification_notes(name: str, digest: Callable[[Path], str] | None = None) -> list[str]:
    """Notes on the present files of a set whose SHA-256 no source states, one each.

    Parameters
    ----------
    name : str
        The set.
    digest : callable, optional
        What tells the SHA-256 of a file for which none was recorded; without it the note names none.

    Raises
    ------
    DataError
        The record of the digests, or a file, cannot be read.
    """
    notes = []
    for file in SETS[name].files:
        path = place(name) / file.name
        if file.sha256 is None and path.is_file():
            recorded = _read_digests(place(name) / SUMS).get(file.name)
            if recorded is not None:
                seen = f"{recorded} was recorded when it was fetched"
            else:
                seen = f"none was recorded{f', it has {digest(path)}' if digest else ''}"
            notes.append(f"{path}: unverified: no source states its SHA-256; {seen}")
    return notes


def locate(name: str, file: str, digest: Callable[[Path], str] = sha256_of) -> Path:
    """Path of a published file, checked against its SHA-256 where that is known.

    Parameters
    ----------
    name, file : str
        The set, and the file in its folder.
    digest : callable
        What tells the SHA-256 of the file.

    Raises
    ------
    DataError
        It is absent, cannot be read, or is not the published one.
    """
    path = place(name) / file
    of = next(f for f in SETS[name].files if f.name == file)
    if not path.exists():
        how = f"smcmc data info {name} says where it comes from"
        raise DataError(
            f"data={name}: {path}: no such file; expected it in the folder that the environment variable {VARIABLE} "
            f"names ({f'smcmc data fetch {name} downloads it, ' if of.address else ''}{how})"
        )
    expected, origin = _expected(name, of)
    if expected is not None and (found := digest(path)) != expected:
        raise DataError(f"{path}: SHA-256 {found}; expected {expected}, {origin}")
    return path


def _expected(name: str, file: File) -> tuple[str | None, str]:
    """The SHA-256 that a file must have, None if it is not known, and what that digest is."""
    if file.sha256 is not None:
        return file.sha256, "that of the published file"
    sums = place(name) / SUMS
    return _read_digests(sums).get(
        file.name
    ), f"which {sums} says was fetched first (without that line any is accepted)"


def _read_digests(sums: Path) -> dict[str, str]:
    """Read the recorded digests by name of file; empty where nothing was recorded."""
    try:
        text = content(sums).decode("utf-8") if sums.exists() else ""
    except UnicodeDecodeError as error:
        raise DataError(f"{sums}: cannot be read: {error}") from error
    digests = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not (found := re.fullmatch(r"([0-9a-f]{64}) [ *](.+)", line)):
            raise DataError(f"{sums}: row {number}: expected a SHA-256, two spaces and the name of a file")
        digests[found[2]] = found[1]
    return digests


def _record(sums: Path, path: Path, digest: str) -> None:
    """Add the digest of a file that was fetched; without it the file does not stay."""
    part = sums.with_name(f".{SUMS}.{os.getpid()}")
    try:
        digests = _read_digests(sums) | {path.name: digest}
        part.write_text("".join(f"{known}  {name}\n" for name, known in digests.items()), encoding="utf-8")
        part.replace(sums)
    except OSError as error:
        for left in (part, path):
            with suppress(OSError):
                left.unlink(missing_ok=True)
        raise DataError(f"{sums}: cannot be written: {error.strerror or error}") from error


def describe(name: str) -> str:
    """Provenance, terms, sizes of a set, and whether it is here: lines of text."""
    of = SETS[name]
    where = "present" if present(name) else "absent"
    lines = [f"What:    {of.what}", f"Paper:   {of.paper}", f"Source:  {of.source}", f"Terms:   {of.terms}"]
    lines.append(f"Folder:  {place(name)} ({where}; {VARIABLE} names the folder above it)")
    for file in of.files:
        size = "" if file.size is None else f", {file.size:,} bytes"
        recorded = "" if file.sha256 else " (recorded when it was fetched)"
        expected = _expected(name, file)[0]
        here = file.sha256 is None and (place(name) / file.name).is_file()
        said = "; unverified: no source states it" if here else ""
        lines.append(
            f"File:    {file.name}{size}, SHA-256 {f'{expected}{recorded}' if expected else 'not known'}{said}"
        )
        if file.address is not None:
            lines.append(f"Address: {file.address}")
    return "\n".join(lines)


def fetch(name: str, report: "Report | None" = None) -> Path:
    """Download what is missing of a set, and check what is here.

    A file appears whole, with the right SHA-256 where that is known or was recorded; on failure nothing is left of it.
    Where it is not known, that of the file is recorded beside it, and `verification_notes` reports it.

    Parameters
    ----------
    name : str
        One of `SETS`.
    report : callable, optional
        Told of the progress.

    Returns
    -------
    Path
        The folder of the set.

    Raises
    ------
    DataError
        A missing file has no address, cannot be had or written, or is not the published one.
    """
    of, target = SETS[name], place(name)
    for file in of.files:
        path = target / file.name
        if path.is_file():
            locate(name, file.name)
        elif file.address is None:
            raise DataError(
                f"{name}: no address is known from which {file.name} can be fetched as it is. It was made from "
                f"{of.source}. Put the file into {target} (SHA-256 {file.sha256 or 'not known'})"
            )
        else:
            expected, origin = _expected(name, file)
            digest = download(file.address, path, expected, origin, report, file.size)
            if expected is None:
                _record(target / SUMS, path, digest)
    return target
