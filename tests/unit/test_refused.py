"""Files that are refused, one a row, with the message for each. All go through `check_refusal`."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from refusals import check_refusal

from splitmerge_cli.data.tables.files import csv
from splitmerge_cli.kinds.documents.readers.files import corpus
from splitmerge_cli.kinds.networks.readers.edges import edges
from splitmerge_cli.received import DataError

NOT_SPARSE = "not a readable sparse matrix of real numbers, as scipy.sparse.save_npz writes it: "
PATH = "a,b\nb,c\n"
TABLE = "b,heart\nb,acute\na,acute\nb,heart\na,flow\na,acute\n"
TOKEN_ROWS = "a,x\na,y\nb,x\nb,x\n"
TEXT = "Heart heart, acute!\nacute acute: ACUTE flow\n\nthe heart is a\n"
UCI = "4\n4\n6\n1 1 2\n1 3 1\n2 3 3\n2 4 1\n4 1 1\n4 3 1\n"

BINARY: list[Any] = [
    ("", {}, "the file is empty"),
    ("a,b\n", {}, "the file has a header but no row"),
    ("0,1\n0\n", {}, "row 2: cells: 1; expected 2"),
    ("a,b\n0,1\n0,1,1\n", {}, "row 3: cells: 3; expected 2"),
    ("0,1\n0,x\n", {}, "row 2, column 2: 'x'; expected 0 or 1"),
    ("a,b\n0,1\n0,2\n", {}, "row 3, column 2 ('b'): '2'; expected 0 or 1"),
    ("0,1\n0,-1\n", {}, "row 2, column 2: '-1'; expected 0 or 1"),
    ("0,1\n0,0.5\n", {}, "row 2, column 2: '0.5'; expected 0 or 1"),
    ("0,1\n0,inf\n", {}, "row 2, column 2: 'inf'; expected 0 or 1"),
    ("0,1\n", {"truth": "who"}, "data.truth=who: x.csv has no such column"),
    (
        "a,b\n0,1\n",
        {"truth": "who"},
        "data.truth=who: x.csv has no such column; expected one of a, b, or a number from 1 to 2",
    ),
    ("0,1\n", {"truth": 0}, "data.truth=0"),
    ("0,1\n", {"truth": 3}, "data.truth=3"),
    ("1\n0\n", {"truth": 1}, "no column is left for the data"),
    ("0,1\n", {"N": 2}, "N=2: expected at most 1"),
    ("0,1\n", {"N": 0}, "N=0: expected at least 1"),
    ("0,1\n", {"header": "maybe"}, "data.header=maybe"),
    ('a,"b\nc"\n0,1\n1,5\n', {}, "row 4, column 2 ('b c'): '5'; expected 0 or 1"),
    ('"0\n",1\n0,x\n', {"header": False}, "row 1, column 1: '0 '"),
    ("0,1\n0,0_1\n", {}, "row 2, column 2: '0_1'; expected 0 or 1"),
    ("0,1\n0,١\n", {}, "row 2, column 2: '١'; expected 0 or 1"),
    ("t,t,a\nx,y,1\n", {"truth": "t"}, "data.truth=t: x.csv has 2 columns with that name"),
    ("0,1\n" + "x" * 200_000 + ",0\n", {}, "row 2, column 1: 'xxxxx"),
    (np.zeros((2, 2, 2)), {}, "array of 3 dimensions"),
    (np.zeros((0, 2)), {}, "no rows"),
    (np.array([[0, 1], [0, 3]]), {}, "row 2, column 2: '3'"),
    (np.array([["0", "1"]]), {}, "column 1 holds string; expected numbers"),
]
TOKENS: list[Any] = [
    (pa.table({"x": [[1], [2]]}), {}, "column 1 ('x') holds list<element: int64>; expected strings or integers"),
    ("\n\n", {}, "the file is empty"),
    ("A\n\nB\n", {}, "row 2, column 1: an empty cell; expected a token"),
    ("A\nNaN\n", {}, "row 2, column 1: 'NaN'; expected a token"),
    ("A,B\n", {}, "2 columns; expected 1 column of tokens"),
    ("A,\nB,\n", {"truth": 2}, "column 2: every cell is empty; expected true labels"),
    (b"A\n\xff\n", {}, "row 2: byte 0xff; expected UTF-8"),
    ("A\n", {"name": "x.doc"}, "unknown format '.doc'"),
    (b"A\nB\n", {"name": "x.csv.gz"}, "cannot be read"),
    (b"PAR", {"name": "x.parquet"}, "not a readable parquet file"),
    (b"abc", {"name": "x.npy"}, "not a readable .npy file"),
    ('"a\nb\nc\n', {}, "row 1: a quote that does not end its cell"),
    ('a\n"b"c\n', {}, "row 2: a quote that does not end its cell"),
    ('"a\nb"\nc\n\nd\n', {}, "row 4, column 1: an empty cell"),
    (np.array([0.5, 1.0]), {}, "row 1, column 1: '0.5'; expected a token"),
    (np.array([1.0, np.nan]), {}, "row 2, column 1: 'nan'; expected a token"),
    (np.array([1j]), {}, "array of complex128; expected numbers or strings"),
    (np.array([2.0, 9.3e18]), {}, "row 2, column 1: '9.3e+18'; expected a token"),
    ({}, {}, "a sparse matrix is read as points"),
]
POINTS: list[Any] = [
    ({"shape": [2, 2_000_000_000]}, {}, "2000000000 columns; expected at most"),
    ("ARROW1", {"name": "x.feather"}, "not a readable feather file: "),
    ("1,2\n3,x\n", {}, "row 2, column 2: 'x'; expected a number (data.columns and data.drop"),
    ("1,2\n3,inf\n", {}, "row 2, column 2: 'inf'; expected a number of magnitude 1e+30"),
    ("1,2\n3,1e999\n", {}, "row 2, column 2: '1e999'; expected a number of magnitude"),
    ("1,2\n3,-1.01e30\n", {}, "row 2, column 2: '-1.01e30'; expected a number of magnitude"),
    ("1,2\n3,1e999\n4,x\n", {}, "row 2, column 2: '1e999'; expected a number of magnitude"),
    ("1,2\nnan,1\n4,x\n", {}, "row 3, column 2: 'x'; expected a number"),
    ("1,2\n ,1\n4,none\n", {}, "row 3, column 2: 'none'; expected a number"),
    ('1,2\n"1,5",2\n', {}, "row 2, column 1: '1,5'; expected a number with a decimal point and without commas"),
    ('1,2\n"1,000,000.5",2\n"2.000,5",2\n', {}, "row 3, column 1: '2.000,5'; expected a number whose decimals"),
    ("1,2\n1.000.5,2\n", {}, "row 2, column 1: '1.000.5'; expected a number"),
    ("x;y\n1;2;3\n", {}, "row 2, column 1 ('x;y'): '1;2;3'; expected a number (ce"),
    ("1,2\n1_0,2\n", {}, "row 2, column 1: '1_0'; expected a number"),
    ("1,2\n0x10,2\n", {}, "row 2, column 1: '0x10'; expected a number"),
    ("1,2\n١,2\n", {}, "row 2, column 1: '١'; expected a number"),
    ("1,2\n1\xa0,2\n", {}, "row 2, column 1: '1\xa0'; expected a number"),
    ("1,2\n3\n", {}, "row 2: cells: 1; expected 2, as in row 1"),
    ("1,2\n3,4,5\n", {}, "row 2: cells: 3; expected 2"),
    ("1,x\n3,4\n", {}, "row 1: 'x' next to numbers; expected only names or only numbers (data.header=true"),
    ("1,x\n3,4\n", {"header": False}, "row 1, column 2: 'x'; expected a number"),
    ('"x\n",y\n1,2\n"3\n4",q\n', {}, "row 4, column 1 ('x'): '3 4'; expected a number"),
    ("x,y\n", {}, "the file has a header but no row"),
    ("", {}, "the file is empty"),
    ("1,2\n", {"N": 2}, "N=2: expected at most 1, the number of rows"),
    (
        "x,y\n1,2\n",
        {"columns": ["z"]},
        "data.columns=z: x.csv has no such column; expected one of x, y, or a number from",
    ),
    ("1,2\n", {"columns": ["x", "y"]}, "data.columns=x: x.csv has no such column; expected a number from 1 to 2"),
    ("x,y\n1,2\n", {"columns": [3]}, "data.columns=3: x.csv has no such column"),
    ("x,y\n1,2\n", {"columns": [0]}, "data.columns=0: x.csv has no such column"),
    ("x,x\n1,2\n", {"columns": ["x"]}, "data.columns=x: x.csv has 2 columns with that name; expected x.1, x.2"),
    ("x,y\n1,2\n", {"columns": ["x", 1]}, "data.columns=x: x.csv: expected each column once"),
    (
        "x,y\n1,2\n",
        {"columns": ["x", "y"], "truth": "y"},
        "data.columns=y: x.csv: expected each column once, and data.truth not",
    ),
    ("x,y\n1,2\n", {"columns": []}, "data.columns=[]: expected at least one"),
    ("x,y\n1,2\n", {"columns": [1.5]}, "data.columns=[1.5]: expected names or numbers of columns"),
    ("x,y\n1,2\n", {"columns": True}, "data.columns=True: expected names or numbers"),
    ("x,y\n1,2\n", {"columns": {"x": 1}}, "data.columns={'x': 1}: expected names or numbers"),
    ("x,y\n1,2\n", {"drop": [None]}, "data.drop=[None]: expected names or numbers"),
    ("x,y\n1,2\n", {"drop": ["z"]}, "data.drop=z: x.csv has no such column"),
    ("x,y\n1,2\n", {"drop": ["x", "y"]}, "no column is left for the data"),
    ("x,y\n1,2\n", {"drop": ["x"], "truth": "y"}, "no column is left for the data"),
    ("x,y\n1,2\n", {"drop": ["x"], "columns": ["y"]}, "data.drop=['x']: expected null with data.columns"),
    (np.array([[0.0, 1.0], [-np.inf, 1.0]]), {}, "row 2, column 1: '-inf'; expected a number of magnitude"),
    (np.array([[1e101]]), {}, "row 1, column 1: '1e+101'; expected a number of magnitude"),
    (np.zeros((2, 0)), {}, "no rows or no columns"),
    (np.array(1.0), {}, "array of 0 dimensions"),
    (np.array(["1", "2"]), {}, "column 1 holds string; expected numbers"),
    (np.array(["2020-01-01"], dtype="M8[s]"), {}, "column 1 holds timestamp[s]; expected numbers"),
    (np.zeros(2, dtype=[("x", float), ("y", float)]), {}, "array of [('x', '<f8'), ('y', '<f8')]; expected numbers"),
    (np.array([1, "a", None], dtype=object), {}, "not a readable .npy file of plain numbers or strings"),
    (np.ones(2, dtype=np.longdouble), {}, "array of float"),
    (pa.table({"x": ["1", "2"]}), {}, "column 1 ('x') holds string; expected numbers (data.columns and data.drop"),
    (pa.table({"x": [[1.0], [2.0]]}), {}, "column 1 ('x') holds list"),
    (pa.table({"x": [1e101, 1.0]}), {}, "row 1, column 1 ('x'): '1e+101'; expected a number of magnitude"),
    ({"data": [np.nan, 1]}, {}, "row 1, column 1: 'nan'; expected a number"),
    ({"data": [1, -np.inf]}, {}, "row 2, column 2: '-inf'; expected a number of magnitude"),
    ({"data": [1, 1e31]}, {}, "row 2, column 2: '1e+31'; expected a number of magnitude"),
    ({"data": [1j, 1]}, {}, f"{NOT_SPARSE}it holds complex128"),
    ({"data": ["a", "b"]}, {}, NOT_SPARSE),
    ({"data": np.array([1, None], dtype=object)}, {}, f"{NOT_SPARSE}it holds Python objects"),
    ({"format": "xyz"}, {}, NOT_SPARSE),
    ({"format": None}, {}, NOT_SPARSE),
    ({"data": None}, {}, NOT_SPARSE),
    ({"indices": [0, 2]}, {}, NOT_SPARSE),
    ({"indices": [0, -1]}, {}, NOT_SPARSE),
    ({"indptr": [0, 2, 1]}, {}, NOT_SPARSE),
    ({"indptr": [0, 1, 9]}, {}, NOT_SPARSE),
    ({"shape": [2, 2**40]}, {}, NOT_SPARSE),
    ({"shape": [0, 2], "data": [], "indices": np.zeros(0, int), "indptr": [0]}, {}, "no rows or no columns"),
    ({"shape": [2, 0], "data": [], "indices": np.zeros(0, int), "indptr": [0, 0, 0]}, {}, "no rows or no columns"),
    ("1,2\n", {"name": "x.npz"}, NOT_SPARSE),
    ("FEA1" + "\0" * 50, {"name": "x.feather"}, "a file of Feather's version 1; expected version 2"),
]
EDGES: list[Any] = [
    ("source,target\nx,y\nsource,target\ny,z\n", {}, "row 3: the names of the columns again"),
    ("a,b\nb\n", {"separator": "comma"}, "row 2: cells: 1; expected 2, as in row 1"),
    (pa.table({"source": ["a"], "target": ["b"], "weight": [[1]]}), {}, "column 3 ('weight') holds list<"),
    ("", {}, "the file is empty; expected at least one row"),
    ("\n\n", {}, "the file is empty"),
    ("# nothing\n", {}, "the file is empty"),
    ("source,target\n", {}, "no edge (rows: 0); expected at least one, or data.nodes"),
    ("a,a\nb,b\n", {}, "no edge (rows: 2; self-loops: 2, pairs not above the threshold: 0)"),
    ("a,b,0\n", {}, "no edge (rows: 1; self-loops: 0, pairs not above the threshold: 1)"),
    ("a,b\nb,c,d\n", {}, "row 2: cells: 3; expected 2, as in row 1"),
    # lines that end by carriage returns, of which two leave a row without cells
    (b"source,target,weight\r\ra,b,4\r\rb,c,6\r", {}, "row 2, column 3 ('weight'): an empty cell; expected a number"),
    (b"p,q,r\r\rx1,x2,4\r\rx3,x4,6\r", {}, "row 2, column 1 ('p'): an empty cell; expected the name of a node"),
    ("# x\na b\nb c\nd\n", {"name": "e.txt"}, "row 4: cells: 1; expected 2, as in row 2"),
    ("a,b\nb,\n", {}, "row 2, column 2: an empty cell; expected the name of a node"),
    ("source,target\nb,a\n , c\n", {}, "row 3, column 1 ('source'): an empty cell"),
    ("a,b\nnan,b\n", {}, "row 2, column 1: 'nan'; expected the name of a node"),
    ('a,b\n"x\ny",c\nb,\n', {}, "row 4, column 2: an empty cell"),
    ("a,b,1\nb,c,-1\n", {}, "row 2, column 3: '-1'; expected a number, at least 0"),
    ("a,b,1\nb,c,nan\n", {}, "row 2, column 3: 'nan'; expected a number, at least 0"),
    ("a,b,1\nb,c,1e31\n", {}, "row 2, column 3: '1e31'; expected a number, at least 0 and at most 1e+30"),
    ("a,b,1\nb,c,\n", {}, "row 2, column 3: an empty cell; expected a number"),
    (
        "a b 1\nb c x\n",
        {"name": "e.txt"},
        "row 2, column 3: 'x'; expected a number, at least 0 and at most 1e+30 (data.weights=null",
    ),
    ("1,2\n1.0,3\n", {}, "row 2, column 1: '1.0'; expected one way to write a node: there is also '1'"),
    (
        "Rome,Oslo\nBonn,Kyiv\n",
        {},
        "row 1: 'Rome' and 'Oslo' occur nowhere else; expected names of columns or of nodes (data.header=",
    ),
    ("a\nb\n", {}, "row 1: cells: 1; expected at least 2, the ends of an edge"),
    ("a|b\n", {}, "row 1: cells: 1; expected at least 2, the ends of an edge (data.separator"),
    ('a,"b\nb,c\n', {}, "row 1: a quote that does not end its cell"),
    ('a "b\nb c\n', {"name": "e.txt"}, "row 2: a quote that does not end its cell"),
    (b"\x89PNG\r\n\x1a\n\x00", {}, "row 1: byte 0x89; expected UTF-8 text"),
    (b"a,b\nb,\x00c\n", {}, "row 2: byte 0x00; expected UTF-8 text"),
    ("a,b\n# x\nb,c\n", {}, "row 2: a comment below the first row"),
    ("% bip unweighted\n1 2\n", {"name": "out.x"}, "row 1: a two-mode network"),
    ("%%MatrixMarket matrix\n3 3 1\n1 2\n", {"name": "e.txt"}, "row 1: a file of Matrix Market"),
    ("*Vertices 3\n", {"name": "e.txt"}, "row 1: a file of Pajek"),
    ("x", {"name": "e.pkl"}, "unknown format '.pkl'; expected one of text"),
    ("x", {"name": "e.parquet"}, "not a readable parquet file"),
    ("graph [", {"name": "e.gml"}, "not a readable .gml file"),
    ("graph [ ]", {"name": "e.gml"}, "no node; expected at least one"),
    ("<graphml>", {"name": "e.graphml"}, "not a readable .graphml file"),
    ("graph [ node [ id 1 ] edge [ source 1 target 2 ] ]", {"name": "e.gml"}, "not a readable .gml file"),
    ("1,2\n2,3\n", {"nodes": 2, "base": 1}, "row 2, column 2: '3'; expected a whole number from 1 to 2"),
    (
        "1,2\n0,2\n",
        {"nodes": 9, "base": 1},
        "row 2, column 1: '0'; expected a whole number from 1 to 9 (data.base=1, data.nodes=9)",
    ),
    ("0,1\n1,2\n", {"nodes": 2, "base": 0}, "row 2, column 2: '2'; expected a whole number from 0 to 1"),
    ("1,2\n1,b\n", {"nodes": 4, "base": 1}, "row 2, column 2: 'b'; expected a whole number from 1 to 4"),
    ("1,2\n1,02\n", {"nodes": 4, "base": 1}, "row 2, column 2: '02'; expected a whole number from 1 to 4"),
    ("1,2\n-1,2\n", {"base": 0}, "row 2, column 1: '-1'; expected a whole number from 0 on (data.base=0)"),
    ("a,b\n", {"base": 0}, "row 1, column 1: 'a'; expected a whole number from 0 on"),
    ("1,2\n", {"base": 2}, "data.base=2: expected 0 or 1, the number of the first node, or null"),
    ("1,2\n", {"base": True}, "data.base=True: expected 0 or 1"),
    ("1,2\n", {"base": "0"}, "data.base=0: expected 0 or 1"),
    ("1,2\n", {"base": 0, "nodes": "n.csv"}, "data.base=0: expected null with data.nodes=FILE"),
    (PATH, {"source": 1}, "data.target=null: expected a column, as the other end has one"),
    (PATH, {"source": 1, "target": 1}, "data.target=1: expected another column than data.source"),
    (PATH, {"source": "q", "target": 2}, "data.source=q: e.csv has no such column"),
    (PATH, {"source": 1, "target": 4}, "data.target=4: e.csv has no such column; expected a number from 1 to 2"),
    (PATH, {"weights": "w"}, "data.weights=w: e.csv has no such column"),
    (PATH, {"weights": 1}, "data.weights=1: expected another column than data.source and data.target"),
    (PATH, {"threshold": -1.0}, "data.threshold=-1.0: expected a number from 0"),
    (PATH, {"separator": "pipe"}, "data.separator=pipe: expected one of auto, comma, tab, semicolon, space"),
    (PATH, {"header": "maybe"}, "data.header=maybe: expected auto, true or false"),
    (PATH, {"nodes": 0}, "data.nodes=0: expected a whole number from 1"),
    (PATH, {"nodes": 2}, "data.nodes=2: expected at least 3, the nodes that e.csv names"),
    (PATH, {"nodes": "none.csv"}, "none.csv: no such file; expected a file with the names of the nodes (data.nodes)"),
    (PATH, {"truth": "side"}, "data.truth=side: expected null, or a column of data.nodes=FILE"),
    (PATH, {"scale": 2.0}, "data.scale=2.0: expected a number above 0"),
    (PATH, {"N": 4}, "N=4: expected a whole number from 1 to 3"),
    (PATH, {"nodes": 1.5}, "data.nodes=1.5: expected"),
    ("1,2\n2,3\n", {"nodes": 4}, "data.nodes=4: the nodes that e.csv names, 1 to 3, may be of 0 to 3 or of 1 to 4"),
    ("0,1\n1,2\n", {"base": 1}, "row 1, column 1: '0'; expected a whole number from 1 on (data.base=1)"),
    ("0,1\n5,6\n6,7\n", {}, "row 1: '0, 1' may name the columns or be the first row of data"),
    (",from,to\n3,a,b\n5,b,c\n", {}, "row 2, column 1 (''): '3': the column has no name"),
]
NODES = [
    ("id\na\nb\n", "row 2, column 2: 'c'; expected a node of nodes.csv"),
    ("id\na\nb\nc\na\n", "nodes.csv: row 5, column 1 ('id'): 'a'; expected every node once: it is also in row 2"),
    ("id,side\na,1\n,1\n", "nodes.csv: row 3, column 1 ('id'): an empty cell; expected the name of a node"),
    ("id,side\na,1\nb\n", "nodes.csv: row 3: cells: 1; expected 2, as in row 1"),
    ("id,side\na,\nb,\nc,\n", "nodes.csv: column 2 ('side'): every cell is empty; expected true labels"),
    ("id,which\na,1\nb,2\nc,1\n", "data.truth=side: nodes.csv has no such column; expected one of id, which"),
    ("airport,x\na,1\nb,2\nc,1\n", "nodes.csv: row 1: 'airport' ends no edge; expected names of columns"),
    ("", "nodes.csv: the file is empty"),
    ("id,side\n", "nodes.csv: no row of data; expected at least one node"),
]
WORDS = [
    ("", {}, "the file is empty; expected at least one row"),
    ("doc,word\n", {}, "the file has a header but no row of data"),
    ("b,heart\nb\n", {}, "row 2: cells: 1; expected 2, as in row 1"),
    ("b,heart\n,acute\n", {}, "row 2, column 1: an empty cell; expected the name of a document"),
    ("b,heart\nb,\n", {}, "row 2, column 2: an empty cell; expected a word"),
    ("b,heart,1\nb,flow,-1\n", {}, "row 2, column 3: '-1'; expected a count, a whole number from 0"),
    ("b,heart,1\nb,flow,nan\n", {}, "row 2, column 3: 'nan'; expected a"),
    ("b,heart,nan\nb,flow,1\n", {}, "row 1, column 3: 'nan'; expected a"),
    ("b,heart,1\nb,flow,\n", {}, "row 2, column 3: an empty cell; expected a"),
    ("b,heart,1\nb,flow,many\n", {}, "row 2, column 3: 'many'; expected a count"),
    ("b,heart,1\nb,flow,3e9\n", {}, "row 2, column 3: '3e9'; expected a count"),
    ("b,x,2000000000\nb,y,2000000000\n", {}, "4000000000 tokens; expected at most 2147483647"),
    ("b,heart,0\n", {}, "documents: 1, tokens: none; expected at least one token"),
    ("b\nb\n", {}, "one column; data.columns=[1] reads it as texts, a document a row"),
    ("a,b,c,d\n", {}, "4 columns; expected document and word"),
    ("doc,word,topic\n1,x,3\n", {}, "3 columns (doc, word, topic); expected document and word"),
    ("artikel,wort\n1,x\n1,y\n", {}, "row 1: 'artikel' and 'wort', which occur nowhere else; expected names"),
    (TABLE, {"columns": [1]}, "no word; expected at least one, of two letters or digits or more"),
    (TABLE, {"columns": "12"}, "data.columns=12: expected columns"),
    (TABLE, {"columns": [1, 1]}, "data.columns=[1, 1]: t.csv: expected each column once"),
    (TABLE, {"columns": [1, 3]}, "data.columns=3: t.csv has no such column; expected a number from 1 to 2"),
    (TABLE, {"header": "maybe"}, "data.header=maybe: expected auto, true or false"),
    (b"b,heart\nb,\xff\n", {}, "row 2: byte 0xff; expected UTF-8 text (data.encoding=latin-1"),
    (TABLE, {"vocabulary": "none.txt"}, "none.txt: no such file; expected the words, one a line"),
    (TOKEN_ROWS, {"encoding": "idna"}, "data.encoding=idna: expected the name of an encoding"),
    (TOKEN_ROWS, {"vocabulary": "."}, ".: a folder; expected the words, one a line"),
    ("doc,word,n\na,x,1000000000000\n", {}, "row 2, column 3 ('n'): '1000000000000'; expected a count"),
]
COUNTS = [
    ("", {}, "the file is empty; expected at least one row"),
    ("1 0:1\n\n1 1:1\n", {}, "row 2: an empty line; expected the number of different words, 0 if none"),
    ("1 0:1\n1 1\n", {}, "row 2, field 2: '1'; expected WORD:COUNT, two whole numbers, the count from 1"),
    ("1 0:1\n2 0:1 1:x\n", {}, "row 2, field 3: '1:x'; expected WORD:COUNT"),
    ("1 0:-1\n", {}, "row 1, field 2: '0:-1'; expected WORD:COUNT"),
    ("1 0:0\n", {}, "row 1, field 2: '0:0'; expected WORD:COUNT"),
    ("1 0:1:1\n", {}, "row 1, field 2: '0:1:1'; expected WORD:COUNT"),
    ("1 0:3000000000\n", {}, "row 1, field 2: '0:3000000000'; expected WORD:COUNT"),
    ("one 0:1\n", {}, "row 1, field 1: 'one'; expected the number of different words"),
    ("1 0:1\n3 0:1 1:1\n", {}, "row 2, field 1: '3'; expected 2, the pairs of the row"),
    ("1 0:1\n2 1:1 1:2\n", {}, "row 2, field 3: '1:2'; expected every word of a document once"),
    ("1 0:1\n2 1:1 4:2\n", {}, "row 2, field 3: '4:2'; expected a word from 0 to 3, the lines of v.txt"),
    ("2 0:2000000000 1:2000000000\n", {}, "4000000000 tokens; expected at most"),
    ("0\n0\n", {}, "documents: 2, tokens: none; expected at least one token"),
    (b"1 0:1\n1 \xff\n", {}, "row 2: byte 0xff; expected UTF-8 text"),
]
BAGS = [
    ("4\n4\n6\n", {"vocabulary": "v.txt", "format": "uci"}, "ends after row 3: 0 entries; expected 6"),
    (UCI, {"vocabulary": "blank.txt"}, "blank.txt: row 2: an empty line; expected a word"),
    (UCI, {"vocabulary": "twice.txt"}, "twice.txt: row 3: 'a', which is row 1 too; expected each word once"),
    (UCI, {"vocabulary": "w.txt"}, "w.txt: 2 lines; expected 4, the words of c.txt (row 2)"),
]
TEXTS = [
    ("", {}, "the file is empty; expected a document a line"),
    ("\n\n", {}, "the file is empty; expected a document a line"),
    ("a\nb !\n", {}, "no word; expected at least one, of two letters or digits or more"),
    (
        "the and\nwe\n",
        {"stop_words": "english"},
        "data.stop_words=english, data.min_documents=0, data.max_share=1.0: no word of t is left",
    ),
    (TEXT, {"vocabulary": "v.txt"}, "data.vocabulary=v.txt: expected null: texts bring their own words"),
    (TEXT, {"columns": [1, 2], "format": "text"}, "data.columns=[1, 2]: expected null with data.format=text"),
    (TEXT, {"format": "words"}, "data.format=words: expected one of auto, tokens, npz, ldac, uci, text"),
    (TEXT, {"N": 5}, "N=5: expected a whole number from 1 to 4, the documents of t.txt"),
    (TEXT, {"N": 0}, "N=0: expected a whole number from 1 to 4"),
    (TEXT, {"heldout": 0.95}, "data.heldout=0.95: 4 of the 4 documents of t; expected at least one to hold out"),
    (
        TEXT,
        {"min_documents": 4},
        "data.stop_words=auto, data.min_documents=4, data.max_share=1.0: no word of t is left",
    ),
]


@pytest.fixture(autouse=True)
def _change_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("v.txt").write_text("heart\nlung\nacute\nflow\n")
    for name, words in (("w.txt", "a\nb"), ("blank.txt", "a\n\nc\nd\n"), ("twice.txt", "a\nb\na\nd\n")):
        Path(name).write_text(words)


@pytest.mark.parametrize(
    ("kind", "content", "options", "message"),
    [
        *(("binary", *row) for row in BINARY),
        *(("tokens", *row) for row in TOKENS),
        *(("points", *row) for row in POINTS),
        ("numbers", "0,1\n", {}, "data.kind=numbers"),
        ("binary", {}, {}, "a sparse matrix is read as points"),
        ("graph", PATH, {}, "data.kind=graph: data=csv reads tables; expected data=edges data.path="),
    ],
)
def test_tables(kind: str, content: Any, options: dict[str, Any], message: str) -> None:
    check_refusal(csv, content, {"kind": kind} | options, message, "x.csv")


@pytest.mark.parametrize(("content", "options", "message"), EDGES)
def test_networks(content: Any, options: dict[str, Any], message: str) -> None:
    check_refusal(edges, content, options, message, "e.csv")


@pytest.mark.parametrize(("nodes", "message"), NODES)
def test_nodes_of_networks(nodes: str, message: str) -> None:
    Path("nodes.csv").write_text(nodes)
    check_refusal(edges, PATH, {"nodes": "nodes.csv", "truth": "side"}, message, "e.csv")


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        *(("t.csv", *row) for row in WORDS),
        *(("c.ldac", content, {"vocabulary": "v.txt"} | options, message) for content, options, message in COUNTS),
        *(("c.txt", *row) for row in BAGS),
        *(("t.txt", *row) for row in TEXTS),
    ],
)
def test_documents(name: str, content: str | bytes, options: dict[str, Any], message: str) -> None:
    check_refusal(corpus, content, options, message, name)


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (partial(csv, kind="binary"), "a table"),
        (edges, "a list of edges"),
        (partial(corpus, format="tokens"), "a table of document and word"),
    ],
)
def test_what_is_no_file(read: Any, expected: str) -> None:
    with pytest.raises(DataError, match=f"^none.csv: no such file; expected {expected}"):
        read("none.csv")
    with pytest.raises(DataError, match="folder; expected a"):
        read(".")
