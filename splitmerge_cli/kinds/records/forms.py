"""Forms in which people write one thing: telephone numbers, first and last names in the wrong columns, short forms of
first names.

The first two are matters of reading: cells are put in one form before the model sees them. A short form is a slip of
the model, as near to the name as a typing error.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

PHONES = re.compile(r"(?i)(.*[_ .-])?((tele)?phone|tel|mobile|cell|fax)([_ .-]?(numbers?|nr|no))?")
"""Names of columns that hold telephone numbers."""
_PHONE = re.compile(r"[+(]*[0-9][0-9 ()./+-]{4,}(\s*(x|ext\.?)\s*\d+)?")
LEAST_PHONES = 0.9
"""Share of cells that must look like telephone numbers."""
DIGITS = (6, 10)
"""Digits of a number that are compared: fewest and most."""
FIRST = ("first", "firstname", "givenname", "forename", "fname", "vorname", "prenom", "nombre")
LAST = ("last", "lastname", "surname", "familyname", "lname", "nachname", "nom", "apellido")
"""Names of columns that hold first and last names, without what is between words."""
RARE = 0.1
"""Addition to the number of other records that have a name in a column."""
SURE = np.log(300.0)
"""Log ratio of these numbers, for the two columns exchanged over as they are, from which on they are exchanged."""
LEAST_COMMON = 0.05
"""Share of the records, at most, that have the value in which a record and one with its names exchanged agree."""


def read_phones(words: Sequence[str | None]) -> tuple[list[str | None], int] | None:
    """Telephone numbers in one form: their last digits, as many as most numbers have without zeros in front. None if
    fewer than `LEAST_PHONES` of the cells are such numbers, or all are in one form.

    >>> read_phones(["030 123-4567", "+49 (30) 1234567", "0301234567", None])
    (['301234567', '301234567', '301234567', None], 9)
    >>> read_phones(["5551234567", "5557654321"]) is None
    True
    """
    known = [word for word in words if word is not None]
    if sum(_PHONE.fullmatch(word) is not None for word in known) < max(LEAST_PHONES * len(known), 1):
        return None
    lengths = Counter(len(shorten_phone(word)) for word in known)
    length = min(max(lengths.most_common(1)[0][0], DIGITS[0]), DIGITS[1])
    form = {word: shorten_phone(word, length) for word in known}
    if len(set(form.values())) == len(form):
        return None
    return [None if word is None else form[word] for word in words], length


def shorten_phone(word: str, length: int = 0) -> str:
    """The last digits of a telephone number, so many at most, without zeros in front and an extension; 0: all. The
    word itself without a digit.

    >>> shorten_phone("+49 (30) 1234567 ext. 8", 9)
    '301234567'
    """
    return re.sub(r"\D", "", re.sub(r"(x|ext).*", "", word)).lstrip("0")[-length:] or word


def find_name_columns(names: Sequence[str]) -> tuple[int, int] | None:
    """The columns of first and last names, if there is one of each.

    >>> find_name_columns(["id", "First name", "Surname"])
    (1, 2)
    """
    bare = [re.sub(r"[\W_]+", "", name).casefold() for name in names]
    first, last = ([j for j, name in enumerate(bare) if name in known] for known in (FIRST, LAST))
    return (first[0], last[0]) if len(first) == len(last) == 1 else None


def find_exchanged(
    first: Sequence[str | None], last: Sequence[str | None], others: Sequence[Sequence[str | None]]
) -> list[int]:
    """The rows whose first and last names stand in each other's columns.

    Either other records have the first name as a last name, and the reverse, `SURE` times as often as the names in
    their own columns. Or another record has one of the names in the other column and agrees in a rare value of a
    further column: then the one of the two whose names are the rarer in their columns is taken, else
    the later one.

    >>> names = [("john", "smith")] * 3 + [("mary", "jones")] * 3 + [("smith", "john")]
    >>> find_exchanged(*zip(*names), [])
    [6]
    """
    of_first, of_last = Counter(first), Counter(last)
    rows = [i for i, (a, b) in enumerate(zip(first, last, strict=True)) if a and b and a != b]
    score = {}
    for i in rows:
        a, b = first[i], last[i]
        straight = np.log(of_first[a] - 1 + RARE) + np.log(of_last[b] - 1 + RARE)
        score[i] = float(np.log(of_last[a] + RARE) + np.log(of_first[b] + RARE) - straight)
    found = {i for i in rows if score[i] >= SURE}
    by_first, by_last = dict[str | None, list[int]](), dict[str | None, list[int]]()
    for i in rows:
        by_first.setdefault(first[i], []).append(i)
        by_last.setdefault(last[i], []).append(i)
    common = [Counter(column) for column in others]
    most = max(LEAST_COMMON * len(first), 2)
    for i in rows:
        for j in {*by_last.get(first[i], ()), *by_first.get(last[i], ())} - {i}:
            if {i, j} & found:
                continue
            later = max((i, j), key=lambda row: (score[row], row))
            if score[later] > 0.0 and any(
                column[i] is not None and column[i] == column[j] and count[column[i]] <= most
                for column, count in zip(others, common, strict=True)
            ):
                found.add(later)
    return sorted(found)


SHORT_FORMS = tuple(
    tuple(line.split())
    for line in """
    alexander alex sandy|alexandra alex sandra|andrew andy drew|anthony tony|barbara barb babs|benjamin ben benny
    catherine cathy kate katie cath|charles charlie chuck|christina chris tina|christine chris tina|christopher chris
    daniel dan danny|david dave davey|deborah deb debbie|donald don donnie|dorothy dot dottie|edward ed eddie ted ned
    elizabeth liz beth betty lizzie eliza betsy|frances fran|francis frank|franklin frank|frederick fred freddie
    gabriel gabe|george georgie|gerald gerry jerry|gregory greg|harold harry|henry harry hank|jacob jake
    jacqueline jackie
    james jim jimmy jamie|janet jan|jeffrey jeff|jennifer jen jenny|jessica jess jessie|john jack johnny|jonathan jon
    joseph joe joey|joshua josh|judith judy|katherine kate kathy katie kay|kathleen kathy|kenneth ken kenny
    lawrence larry|leonard len lenny|margaret maggie meg peggy marge|martin marty|matthew matt|michael mike mick mickey
    nancy nan|nathaniel nate nat|nicholas nick|pamela pam|patricia pat patty tricia trish|patrick pat paddy|peter pete
    philip phil|raymond ray|rebecca becky becca|richard rick dick rich ricky|robert bob rob bobby robbie bert
    ronald ron ronnie|rosemary rose|samantha sam|samuel sam sammy|sandra sandy|sarah sally|stephanie steph
    stephen steve|steven steve|stuart stu|susan sue susie|theodore ted theo|theresa terry tess|thomas tom tommy
    timothy tim|victoria vicky tori|vincent vince|virginia ginny|walter walt|william bill will billy willy liam
    """.replace("\n", "|").split("|")
    if line.strip()
)
"""First names in English, each followed by its short forms."""


def find_short_forms(levels: Sequence[str]) -> NDArray[np.int64]:
    """Pairs of values ``[P, 2]``, the smaller position first, of which one is a short form of the other, or both are of
    one name.

    >>> find_short_forms(["anna", "bill", "bob", "william"]).tolist()
    [[1, 3]]
    """
    place = {level: k for k, level in enumerate(levels)}
    pairs = {
        tuple(sorted(pair))
        for names in SHORT_FORMS
        for pair in combinations([place[name] for name in names if name in place], 2)
    }
    return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
