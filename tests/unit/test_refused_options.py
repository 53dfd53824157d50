"""Configurations that cannot be run, one a row, with the message for each; in this process, as a run prepares them.

A message is one line. What the command line does with it is in ``tests/cli/test_bad_input.py``, what files may hold in
``reading/*.yaml``.
"""

from pathlib import Path

import pytest

from splitmerge_cli import config, runs

FILES = {
    "tokens.csv": "a\nb\na\nc\nb\na\n",
    "binary.csv": "1,0\n0,1\n0,0\n1,1\n0,1\n1,1\n",
    "names.csv": "0,1\n1,0\n0,0\n",
    "words.csv": "0,1\n1,x\n0,0\n",
    "nan.csv": "0,1\nnan,0\n0,0\n",
    "labels.txt": "x\ny\nx\n",
    "hole.txt": "x\n\nx\ny\ny\nx\n",
    "points.csv": "x,y,who\n0,1,a\n1,2,a\n2,3,b\n5,1,b\n4,4,b\n",
    "gap.csv": "x,y\n0,1\n1,\n2,3\n",
    "part.csv": "x,y,who\n0,1,a\n1,2,\n3,4,b\n",
    "e.csv": "a,b\nb,c\nc,a\n",
    "d.csv": "a,x\na,y\nb,x\nb,x\n",
}

CSV = ["data=csv", "model=bernoulli"]
OPTIONS: list[tuple[list[str], list[str]]] = [
    # misspelt keys and groups
    (["smapler=sdds"], ["smapler", "Did you mean sampler?"]),
    (["sampler=sdss"], ["sampler=sdss", "Did you mean sampler=sdds?"]),
    (["sampler=sdds", "sampler.kernal=both"], ["sampler.kernal", "Did you mean sampler.kernel?"]),
    (["sampler=sdds", "kernel=both"], ["kernel: no such key", "Did you mean sampler.kernel?"]),
    (["model.aplha=1"], ["model.aplha", "Did you mean model.alpha?"]),
    (["trace.partition=5"], ["trace.partition", "Did you mean trace.partitions?"]),
    (["+foo=1"], ["foo", "no such key"]),
    (["sampler=sdds", "+sampler.foo=1"], ["sampler.foo", "no such key"]),
    (["+sampler.foo=1"], ["sampler.foo=1: no sampler is named", "expected sampler=NAME"]),
    (["sampler.kernel=both"], ["sampler.kernel=both: no sampler is named", "expected sampler=NAME"]),
    (["data=emn"], ["data=emn", "Did you mean data=emm?"]),
    (["schedule=ful_scan"], ["schedule=ful_scan", "Did you mean schedule=full_scan?"]),
    (["schedule=[{sdss: 1}]"], ["sampler=sdss", "Did you mean sampler=sdds?"]),
    (["schedule=[{rgsm: {weigth: 2}}]"], ["schedule.mix.rgsm.weigth", "Did you mean schedule.mix.rgsm.weight?"]),
    (["data=gaussian", "model=gaussian", "model.covariance=ful"], ["model.covariance=ful", "Did you mean full?"]),
    (["data=gaussian", "model=gaussian", "model.prior=mfmm"], ["model.prior=mfmm", "Did you mean mfm?"]),
    (["data=gaussian", "init=singleton"], ["init=singleton", "Did you mean singletons?"]),
    (["sampler"], ["sampler", "KEY=VALUE"]),
    (["N=[1"], ["N=[1"]),
    (["N=1,2"], ["N=1,2", "smcmc sweep"]),
    # values out of range or of another type
    (["N=0"], ["N=0", "a whole number from 1"]),
    (["N=many"], ["N=many", "a whole number"]),
    (["chains=0"], ["chains=0"]),
    (["chains=1.5"], ["chains=1.5", "a whole number"]),
    (["iterations=-5"], ["iterations=-5"]),
    (["budget=0"], ["budget=0", "a positive number"]),
    (["budget=1", "timing=false"], ["timing=false", "budget"]),
    (["thin=0"], ["thin=0"]),
    (["seed=-1"], ["seed=-1"]),
    (["trace.partitions=-1"], ["trace.partitions=-1"]),
    (["progress=loud"], ["progress=loud", "bars"]),
    (["workers=0"], ["workers=0"]),
    (["model.alpha=-1"], ["model.alpha", "-1"]),
    (["model.alpha=much"], ["model.alpha=much", "a positive number"]),
    (["model.label_prior=none"], ["model.label_prior=none", "as_printed"]),
    (["sampler=rgsm", "sampler.t=-1"], ["sampler.t", "-1"]),
    (["sampler=rgsm", "sampler.t=1.5"], ["sampler.t=1.5", "whole number"]),
    (["sampler=sdds", "sampler.mode=exactly"], ["sampler.mode", "as_printed"]),
    (["schedule=[{sdds: -1}]"], ["schedule.mix.sdds.weight=-1"]),
    (["schedule=[]"], ["schedule.mix", "{sdds: 1}"]),
    (["data.entities=0"], ["data.entities=0"]),
    (["data.n_tokens=99999999999"], ["data.n_tokens=99999999999", "1000000"]),
    (["data.seed=-1"], ["data.seed=-1"]),
    (["data.N=99999999999"], ["N=99999999999"]),
    (["data=jain_neal", "data.components=99999999999"], ["data.components=99999999999"]),
    (["data=jain_neal", "data.attributes=9223372036854775808"], ["data.attributes=9223372036854775808"]),
    # a group takes a name, and a name is the file's
    (["sampler=sdds", "sampler.name=../../zz"], ["sampler.name=../../zz", "sdds"]),
    (["schedule=[sdds]", "sampler=gibbs"], ["sampler=gibbs", "schedule"]),
    # more clusters than items, or than the model can hold
    (["N=20", "K0=21"], ["K0=21", "20"]),
    (["N=200", "K0=101"], ["K0=101", "model.kmax=100"]),
    (["N=200", "init=sequential", "K0=101"], ["init=sequential, model=emm", "K0=101", "model.kmax=100"]),
    (
        ["data=gaussian", "model=gaussian", "N=9", "K0=4", 'model.prior="mfm(components=uniform(3))"'],
        ["K0=4", "at most 3"],
    ),
    (["init=one_cluster", "K0=3"], ["K0=3", "init=one_cluster"]),
    (["init=sequential", "model=gaussian", "data=gaussian", "K0=3"], ["init=sequential, model=gaussian", "K0=3"]),
    (["init=nowhere.txt"], ["init=nowhere.txt", "singletons"]),
    (["N=6", "init=labels.txt"], ["labels.txt", "3 rows", "expected 6"]),
    (["N=6", "init=hole.txt"], ["hole.txt", "row 2"]),
    ([*CSV, "data.path=binary.csv", "init=truth"], ["init=truth", "binary"]),
    # data that the model cannot read
    (["data=jain_neal", "model=emm"], ["model=emm", "model=bernoulli"]),
    (["model=bernoulli"], ["model=bernoulli", "model=emm"]),
    (["model=dirichlet_multinomial"], ["model=dirichlet_multinomial: this model is now model=multinomial", "over"]),
    # the user's files
    (["data=csv"], ["data.path"]),
    ([*CSV, "data.path=nowhere.csv"], ["nowhere.csv"]),
    ([*CSV, "data.path=words.csv"], ["words.csv", "row 2", "column 2", "x"]),
    ([*CSV, "data.path=nan.csv", "sampler=lshsm"], ["sampler=lshsm", "missing cells"]),
    ([*CSV, "data.path=binary.csv", "K0=7"], ["K0=7", "6"]),
    (["data=csv", "model=emm", "data.path=binary.csv"], ["binary.csv", "1 column of tokens", "model=mixed"]),
    ([*CSV, "data.path=names.csv"], ["names.csv: row 1", "0, 1", "data.header=true or false"]),
    ([*CSV, "data.path=5"], ["5: no such file"]),
]

POINTS = ["data=csv", "data.path=points.csv"]
GAP = ["data=csv", "data.path=gap.csv"]
LINES = [*POINTS, "data.drop=who", "model=lines", "sampler=triadic"]
KEPT = [*LINES, "model.conjugate=false"]
CLOUDS = [*POINTS, "data.drop=who", "model=gaussian", "sampler=sams"]
SEVERAL = "several values; `smcmc sweep` runs a grid"
PRIOR = "expected a positive number or gamma(shape,rate)"
MODELS: list[tuple[list[str], str]] = [
    # options out of range or of another type
    ([*LINES, "model.sigma0=0"], "model.sigma0=0: expected a number from 1e-30"),
    ([*LINES, "model.sigma1=nan"], "model.sigma1=nan: expected a number"),
    ([*LINES, "model.noise=huge"], "model.noise=huge: expected one of known, nig"),
    ([*LINES, "model.a0=1"], "model.a0=1: expected"),
    ([*LINES, "model.prior=[crp]"], "model.prior=[crp]"),
    ([*LINES, "model.conjugate=0"], "model.conjugate=0: expected true or false"),
    ([*LINES, "model.conjugate=null"], "model.conjugate=null: expected true or false"),
    ([*KEPT, "model.refresh=gibbs"], "model.refresh=gibbs: expected one of draw, metropolis"),
    ([*KEPT, "model.steps=0"], "model.steps=0: expected a whole number from 1"),
    ([*CLOUDS, "model.covariance=round"], "model.covariance=round: expected one of diag, iso, full"),
    ([*CLOUDS, "model.kappa0=-1"], "model.kappa0=-1: expected a positive number from"),
    ([*CLOUDS, "model.m0=[1,2,3]"], "model.m0: expected a number, or one for each of 2 columns"),
    ([*CLOUDS, "model.b0=[1,a]"], "model.b0=[1,a]: expected a number"),
    ([*CLOUDS, "model.covariance=iso", "model.b0=[1,2]"], "model.b0: expected one number"),
    ([*LINES, "sampler.beta=1"], "sampler.beta=1: expected a number between 0 and 1"),
    ([*LINES, "sampler.allocation=gibbs"], "sampler.allocation=gibbs: expected one of random, sams"),
    ([*LINES, "sampler.form=other"], "sampler.form=other: expected"),
    ([*LINES, "sampler.redraw=1"], "sampler.redraw=1: expected true or false"),
    ([*CLOUDS, "sampler.t=-1"], "sampler.t=-1: expected a whole number from 0"),
    ([*CLOUDS, "sampler.q_ratio=two"], "sampler.q_ratio=two: expected"),
    ([*KEPT, "sampler=neal8", "sampler.m=0"], "sampler.m=0: expected a whole number from 1"),
    ([*KEPT, "sampler=neal8", "sampler.scan=half"], "sampler.scan=half: expected"),
    # a finite base measure
    ([*LINES, "model.candidates=[[0,1]]"], "model.candidates: expected with conjugate=false"),
    ([*KEPT, "model.noise=nig", "model.candidates=[[0,1]]"], "model.candidates: expected with conjugate=false"),
    *(
        ([*KEPT, f"model.candidates={value}"], "model.candidates: expected a list of [intercept, slope]")
        for value in ("[]", "[[]]", "[0,1]", "[[0]]", "[[0,1,2]]", "[[nan,1]]", "[[1e31,1]]", "[[a,b]]", "{a: 1}", "5")
    ),
    ([*KEPT, "model.candidates=[[0,1],[0,1.0]]"], "model.candidates: a line stands there twice"),
    # a concentration that is resampled
    ([*LINES, "model.concentration=gamma(0,1)"], "model.concentration=gamma(0,1): shape of gamma"),
    ([*LINES, "model.concentration=gamma(1,1e9)"], "model.concentration=gamma(1,1e9): rate of gamma"),
    ([*LINES, "model.concentration=gamma(1)"], f"model.concentration=gamma(1): {PRIOR}"),
    ([*LINES, "model.concentration=gamma(nan,1)"], f"model.concentration=gamma(nan,1): {PRIOR}"),
    ([*LINES, "model.concentration=beta(1,1)"], f"model.concentration=beta(1,1): {PRIOR}"),
    ([*LINES, "model.concentration=gamma(1,1"], "cannot be read as a value; expected a prior as NAME(NUMBER,...)"),
    ([*LINES, "model.concentration=1,gamma(1,1)"], SEVERAL),
    ([*LINES, "model.concentration=choice(1,2)"], SEVERAL),
    ([*LINES, "model.concentration=${nothing}"], "model.concentration: Interpolation key 'nothing'"),
    ([*LINES, "model.prior=uniform", "model.concentration=gamma(1,1)"], "model.concentration: prior=uniform"),
    # samplers that do not support the model, alone and in a list
    ([*KEPT, "sampler=gibbs"], "sampler=gibbs: does not support model=lines"),
    ([*CLOUDS, "sampler=refresh"], "sampler=refresh: does not support model=gaussian"),
    (["sampler=neal8"], "sampler=neal8: does not support model=emm"),
    ([*KEPT[:-2], KEPT[-1], "schedule=[{neal8: 1},{sdds: 1}]"], "schedule.mix.sdds: does not support model=lines"),
    ([*LINES[:-1], "schedule=[{rgsm: {t: -1}}]"], "schedule.mix.rgsm.t=-1: expected a whole number"),
    ([*LINES[:-1], "schedule=[{triadic: {weight: 2, beta: 2}}]"], "schedule.mix.triadic.beta=2: expected a number"),
    # data of another kind
    (["data=emm", "model=lines"], "model=lines with data=emm: reads points, not tokens; expected model=emm"),
    (["data=lines", "model=bernoulli"], "model=bernoulli with data=lines: reads binary, not points"),
    (["data=lines", "data.length=1e40"], "data.length=1e+40: expected a number from 1e-25 to 1e+25"),
    # columns, true labels, sizes
    ([*POINTS, "model=lines"], "points.csv: row 2, column 3 ('who'): 'a'; expected a number"),
    ([*POINTS, "model=lines", "data.columns=x"], "reads dense points of two columns, x and y, not 1"),
    ([*POINTS, "model=lines", "data.columns=[x,x]"], "data.columns=x"),
    ([*POINTS, "model=lines", "data.columns=[x,z]"], "data.columns=z"),
    ([*POINTS, "model=lines", "data.columns=[x,y]", "data.drop=who"], "data.drop"),
    ([*POINTS, "model=lines", "data.drop=[x,y,who]"], "no column is left"),
    ([*POINTS, "model=lines", "data.truth=z"], "data.truth=z"),
    ([*LINES, "init=truth"], "init=truth: the true labels of points are not known"),
    (
        ["data=csv", "data.path=part.csv", "data.truth=who", "model=lines", "init=truth"],
        "init=truth: 1 of 3 items of part have no true label; expected one each",
    ),
    ([*GAP, "model=lines"], "model=lines with data=csv: row 2, column 2 ('y'): a missing cell, which model=gaussian"),
    ([*GAP, "model=gaussian", "model.covariance=iso"], "model.covariance=iso: row 2, column 2 ('y'): a missing cell"),
    ([*GAP, "model=gaussian", "sampler=lshsm"], "model=gaussian: its items are no vectors, or have missing"),
    # starts that need more than the model has
    *(
        ([*given, "init=search"], message)
        for given, message in [
            (["data=emm", "N=12"], "keeps empty clusters"),
            (["data=groups4", "data.length=20"], "has topics"),
            (["data=lines", "N=12", "model=lines", "model.conjugate=false"], "expected model.conjugate=true"),
            (["data=jain_neal", "N=12", "K0=3"], "not init=search"),
        ]
    ),
    *(
        ([*given, "init=stages"], message)
        for given, message in [
            (["data=emm", "N=12"], "keeps empty clusters"),
            (["data=networkx", "model=irm"], "expected a table"),
            (["data=lines", "N=12", "model=lines", "model.conjugate=false"], "expected model.conjugate=true"),
        ]
    ),
    ([*LINES, "K0=6"], "K0=6: expected at most 5"),
    ([*LINES, "N=6"], "N=6: expected at most 5"),
]

EDGES = ["data=edges", "data.path=e.csv"]
WORDS = ["data=corpus", "data.path=d.csv"]
NETWORKS_AND_DOCUMENTS: list[tuple[list[str], str]] = [
    (["data=edges"], "data.path: a value is needed"),
    ([*EDGES, "data.base=true"], "data.base=true: expected a whole number or null"),
    ([*EDGES, "data.threshold=low"], "data.threshold=low: expected a number"),
    ([*EDGES, "data.comments=1"], "data.comments=1: expected true or false"),
    ([*EDGES, "data.nodes=two"], "two: no such file; expected a file with the names of the nodes"),
    ([*EDGES, "data.scale=0.5", "N=2"], "data.scale=0.5: expected 1 with N=2"),
    ([*EDGES, "K0=4"], "K0=4: expected at most 3"),
    ([*EDGES, "init=truth"], "init=truth: the true labels of e are not known"),
    ([*EDGES, "data.column=1"], "data.column: no such key"),
    ([*EDGES, "model=bernoulli"], "model=bernoulli with data=edges: reads binary, not graph; expected model=irm"),
    (["data=csv", "data.path=e.csv", "model=irm"], "data.kind=graph: data=csv reads tables; expected data=edges"),
    (["data=emm", "model=irm"], "reads graph, not tokens; expected model=emm, or other data (smcmc list data)"),
    (["data=networkx", "data.graph=zebra"], "expected one of karate, davis, florentine, les_miserables"),
    (["data=networkx", "N=35"], "N=35: expected a whole number from 1 to 34"),
    (["data=usair97"], "data=usair97: "),
    (["data=corpus"], "data.path: a value is needed"),
    (["data=corpus", "data.path="], "data.path=: expected a table of document and word"),
    ([*WORDS, "data.columns=[doc,word]"], "data.columns=doc: d.csv has no such column"),
    ([*WORDS, "data.stop_word=english"], "data.stop_word: no such key"),
    (["data=csv", "data.path=d.csv", "model=hdp"], "data.kind=documents: data=csv reads tables; expected data=corpus"),
    (["data=docs200", "perplexity=5"], "perplexity=5: expected perplexity.every=VALUE or perplexity.method=VALUE or"),
    (["data=20news_w100"], "data=20news_w100: "),
    (["data=ohsumed23_documents", "model=hdp"], "data=ohsumed23_documents: "),
    (["data=docs200", "model=emm"], "model=emm with data=docs200: reads tokens, not documents; expected model=hdp"),
]

DATA = ["data=synthetic_documents", "N=20", "data.length=25", "data.words=40", "data.topics=4", "data.heldout=0.2"]
TEN = ["sampler=gibbs", "iterations=10"]
TOPICS: list[tuple[list[str], list[str]]] = [
    ([*TEN, *DATA, "data.heldout=0", "perplexity.every=1"], ["perplexity.every=1", "data.heldout"]),
    ([*TEN, "perplexity.every=1"], ["perplexity.every=1", "model=emm", "tokens"]),
    ([*TEN, *DATA, "perplexity.method=guess"], ["perplexity.method=guess", "left_to_right"]),
    ([*TEN, *DATA, "perplexity.every=5", "perplexity.particles=0"], ["perplexity.particles=0"]),
    ([*TEN, *DATA, "perplexity.every=11"], ["perplexity.every=11: expected at most 10, the iterations"]),
    (["perplexity.evry=1"], ["perplexity.evry: no such key"]),
    ([*TEN, *DATA, "model=bernoulli"], ["model=bernoulli", "model=hdp"]),
    ([*TEN, "model=hdp"], ["model=hdp", "documents", "model=emm"]),
    ([*TEN, *DATA, "model.gamma=gamma(1)"], ["model.gamma", "gamma(1)"]),
    ([*TEN, *DATA, "model.alpha0=-1"], ["model.alpha0"]),
]

WORDS_OF_OTHER_PROGRAMS = [
    (["n_clusters=3"], "Did you mean K0? (the number of clusters is inferred"),
    (["k=3"], "Did you mean K0? (the number of clusters"),
    (["model.n_components=3"], "Did you mean K0?"),
    (["n_iter=5"], "Did you mean iterations?"),
    (["max_iter=5"], "Did you mean iterations?"),
    (["samples=5"], "Did you mean iterations?"),
    (["random_state=1"], "Did you mean seed?"),
    (["n_jobs=2"], "Did you mean workers?"),
    (["burn_in=10"], "Did you mean warmup? (diagnostics leave out"),
    (["tune=10"], "Did you mean warmup?"),
    (["data=gaussian", "model=gaussian", "model.alpha=1"], "Did you mean model.concentration?"),
    (["data=gaussian", "model=gaussian", "alpha=1"], "Did you mean model.concentration?"),
    (["data=gaussian", "model=gaussian", "covariance_type=full"], "Did you mean model.covariance? (full, diag, or"),
    (["data=csv", "data.path=binary.csv", "model=emm", "data.sep=x"], "Did you mean data.separator?"),
    (["data=csv", "data.path=binary.csv", "model=emm", "data.na_values=x"], "Did you mean data.missing?"),
    (["algorithm=gibbs"], "Did you mean sampler=NAME?"),
    # what there is comes first, and then the nearest
    (["alpha=1"], "Did you mean model.alpha?"),
    (["iteration=5"], "Did you mean iterations?"),
]

TYPES: list[tuple[str | list[str], str]] = [
    ("schedule=1", "schedule=1: expected one of full_scan"),
    ("schedule={sdds: 1}", "schedule={'sdds': 1}: expected one of full_scan"),
    ("schedule=[{1: 2}]", "sampler=1: expected one of"),
    ("sampler=1.0", "sampler=1.0: expected one of"),
    ("sampler=[sdds]", "sampler=['sdds']: expected one of"),
    ("sampler=null", "sampler=null: expected one of"),
    ("data=null", "data=null: expected one of 20news_w100"),
    ("data=[1]", "data=[1]: expected one of 20news_w100"),
    ("data={}", "data={}: expected one of 20news_w100"),
    ("model=true", "model=true: expected one of bernoulli"),
    ("model={a: 1}", "model={'a': 1}: expected one of bernoulli"),
    ("model=emm/../emm", "model=emm/../emm: expected one of bernoulli"),
    ("model=../config", "model=../config: expected one of bernoulli"),
    ("experiment=1", "experiment=1: expected one of"),
    ("=1", "=1: expected KEY=VALUE"),
    ("hydra=1", "hydra=1: expected KEY=VALUE"),
    ("~trace.partitions", "~trace.partitions: expected KEY=VALUE"),
    ("~sampler", "~sampler: expected KEY=VALUE"),
    ("N=3000000000", "N=3000000000: expected a whole number from 1 to 2147483647 or null"),
    ("K0=3000000000", "K0=3000000000: expected a whole number from 1 to 2147483647 or null"),
    ("iterations=9223372036854775807", "iterations=9223372036854775807: expected a whole number from 1 to"),
    ("thin=9223372036854775808", "thin=9223372036854775808: expected a whole number"),
    ("trace.partitions=9223372036854775808", "trace.partitions=9223372036854775808: expected a whole number"),
    ("chains=99999999999", "chains=99999999999: expected a whole number from 1 to 10000"),
    ("workers=99999999999", "workers=99999999999: expected a whole number from 1 to 10000"),
    ("perplexity.particles=100000", "perplexity.particles=100000: expected a whole number from 1 to 10000"),
    ("perplexity.every=-1", "perplexity.every=-1: expected a whole number from 0"),
    ("perplexity.every=2.5", "perplexity.every=2.5: expected a whole number"),
    ("budget=1e308", "budget=1e+308: expected a positive number from"),
    ("budget=nan", "budget=nan: expected a positive number"),
    ("budget=true", "budget=true: expected a positive number"),
    ("budget='5'", "budget=5: expected a positive number"),
    ("schedule=[{sdds: 1e308}, {gibbs: 1e308}]", "schedule.mix.sdds.weight=1e+308: expected a number from"),
    ("schedule=[{sdds: true}]", "schedule.mix.sdds.weight=true: expected a number from"),
    ("until.rhat=0.9", "until.rhat=0.9: expected"),
    ("until.ess=0", "until.ess=0: expected"),
    ("until.mcse=2", "until.mcse=2: expected"),
    (["until.rhat=1.01", "chains=1"], "until.rhat: expected chains of at least 2"),
    ("until=1.01", "until=1.01: expected until.rhat=VALUE or until.ess=VALUE"),
    ("model.alpha=" + "9" * 400, "model.alpha=999"),
    (["model.sigma=true"], "model.sigma=true: expected a positive number"),
    (["sampler=rgsm", "sampler.r=true"], "sampler.r=true: expected a whole number"),
    (["data.seed=false"], "data.seed=false: expected a whole number"),
    (["sampler=sdds", "sampler.kernel=true"], "sampler.kernel=true: expected one of both"),
    (["data.N=1.5"], "data.N=1.5: expected a whole number"),
    (["data.N=true"], "data.N=true: expected a whole number"),
    (["data=jain_neal", "data.example=true"], "data.example=true: expected a whole number or null"),
    ("sampler.name=../../zz", "sampler.name=../../zz: no sampler is named"),
    ("data.name=other", "data.name=other: expected emm"),
    ("model._target_=os.system", "model._target_=os.system: expected splitmerge_cli.kinds.tokens.emm.EMM"),
    ("data._target_=builtins.dict", "data._target_=builtins.dict: expected splitmerge_cli.kinds.tokens.generate"),
    ("schedule=[{rgsm: {name: x}}]", "schedule.mix.rgsm.name=x: expected rgsm"),
]

LIST = "schedule=[{sams: 1}]"
GAUSSIAN = ["data=gaussian", "iterations=10"]
SCHEDULES: list[tuple[list[str], str]] = [
    ([*GAUSSIAN, "sampler=sams", "schedule.moves=0"], "schedule.moves=0: expected a whole number from 1"),
    ([*GAUSSIAN, "sampler=sams", "schedule.moves=2.5"], "schedule.moves=2.5: expected a whole number from 1"),
    ([*GAUSSIAN, LIST, "+schedule.moves=2"], "schedule.moves: no such key"),
    ([*GAUSSIAN, LIST, "sampler=auto"], "sampler=auto: expected no sampler, because"),
    ([*GAUSSIAN, LIST, "sampler.mode=as_printed"], "sampler.mode=as_printed: expected no sampler, because"),
    ([*GAUSSIAN, "sampler.t=3"], "sampler.t=3: no sampler is named"),
    ([*GAUSSIAN, "sampler.name=gibbs"], "sampler.name=gibbs: no sampler is named"),
]

TABLE = ["data=csv", "data.path=points.csv", "model=mixed"]
TYPED: list[tuple[list[str], str]] = [
    ([*TABLE, "data.drop=größe,2"], "data.drop=größe,2: expected 'data.drop=[größe,2]'; of several values"),
    ([*TABLE, "data.types={a}"], "data.types={a}: cannot be read as a value; expected data.types={NAME: VALUE, ...}"),
    ([*TABLE, "seed=ä"], "seed=ä: cannot be read as a value"),
    ([*TABLE, "a.=2"], "a.=2: 'a.' is no key; expected KEY=VALUE"),
    ([*TABLE, "data=dä.csv"], "data=dä.csv: expected data=csv 'data.path=dä.csv'"),
    ([*TABLE, "sampler=größe"], "sampler=größe: expected one of"),
]


@pytest.mark.parametrize(
    ("overrides", "parts"),
    [*OPTIONS, *MODELS, *NETWORKS_AND_DOCUMENTS, *TOPICS, *WORDS_OF_OTHER_PROGRAMS, *TYPES, *SCHEDULES, *TYPED],
    ids=str,
)
def test_configurations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overrides: str | list[str], parts: str | list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SMCMC_DATA", "nothing")
    for name, content in FILES.items():
        Path(name).write_text(content)
    with pytest.raises(ValueError) as raised:
        runs.prepare(config.compose([overrides] if isinstance(overrides, str) else overrides))
    said = str(raised.value)
    assert "\n" not in said
    for part in [parts] if isinstance(parts, str) else parts:
        assert part in said
