"""Draws of a released Python program, run by the interpreter that has it: a job as JSON on stdin, draws on stdout.

``python released_worker.py PROGRAM``. The programs are called by their public functions, with one seed for each chain.
"""

import contextlib
import io
import json
import logging
import sys
import warnings
from importlib.metadata import version
from typing import Any

Job = dict[str, Any]
Chains = list[list[Any]]


def graph_tool(job: Job) -> Job:
    """Labels of nodes; and the description length of every partition, by the program's own ``entropy``."""
    import graph_tool.all as gt
    import numpy as np

    gt.openmp_set_num_threads(1)
    graph = gt.Graph(directed=False)
    graph.add_vertex(job["N"])
    graph.add_edge_list(job["edges"])
    terms = {"multigraph": False}

    def state(labels: Any) -> Any:
        return gt.BlockState(graph, b=np.array(labels), deg_corr=job["deg_corr"])

    chains = []
    for seed in range(job["chains"]):
        gt.seed_rng(seed + 1)
        np.random.seed(seed + 1)  # noqa: NPY002 - the program draws from it, too
        blocks = state(np.zeros(job["N"], dtype=int))
        sweep = getattr(blocks, job["sweep"])
        sweep(niter=job["burn_in"], entropy_args=terms)
        draws = []
        for _ in range(job["draws"]):
            sweep(niter=job["thin"], entropy_args=terms)
            draws.append(blocks.get_blocks().a.tolist())
        chains.append(draws)
    lengths = [float(state(labels).entropy(**terms)) for labels in job["partitions"]]
    return {"version": gt.__version__.split()[0], "chains": chains, "entropy": lengths}


def tomotopy(job: Job) -> Job:
    """Topics of tokens."""
    import tomotopy as tp

    chains = []
    for seed in range(job["chains"]):
        shared = {"tw": tp.TermWeight.ONE, "min_cf": 0, "seed": seed + 1, "eta": job["eta"], "alpha": job["alpha"]}
        if job["kind"] == "hdp":
            model = tp.HDPModel(initial_k=2, gamma=job["gamma"], **shared)
        else:
            model = tp.LDAModel(k=job["K"], **shared)
        for words in job["documents"]:
            model.add_doc([str(word) for word in words])
        model.optim_interval = 0
        model.train(job["burn_in"], workers=1)
        read = [[model.vocabs[w] for w in doc.words] for doc in model.docs]
        if read != [[str(word) for word in words] for words in job["documents"]]:
            raise SystemExit("tomotopy has put the words in another order")
        draws = []
        for _ in range(job["draws"]):
            model.train(job["thin"], workers=1)
            draws.append([int(topic) for doc in model.docs for topic in doc.topics])
        chains.append(draws)
    return {"version": version("tomotopy"), "chains": chains}


def lda(job: Job) -> Job:
    """Counts of the last state of a fit: for each topic by document, then by word. Every draw is a fit."""
    logging.getLogger("lda").addHandler(logging.StreamHandler())
    logging.getLogger("lda").setLevel(logging.ERROR)
    import lda as package
    import numpy as np

    counts = np.array(job["counts"])
    draws = []
    for seed in range(job["chains"] * job["draws"]):
        model = package.LDA(
            n_topics=job["K"], n_iter=job["burn_in"], alpha=job["alpha"], eta=job["eta"], random_state=seed
        )
        model.fit(counts)
        draws.append(np.hstack([model.ndz_.T, model.nzw_]).tolist())
    return {"version": version("lda"), "chains": _chains(draws, job["chains"])}


def dpmmlearn(job: Job) -> Job:
    """Labels of points. Every draw is a fit, of which the last state is kept (``use_best_iter=False``)."""
    import numpy as np
    from dpmmlearn import DPMM
    from dpmmlearn.probability import NormInvChi2, NormInvWish

    x = np.array(job["x"])
    prior = NormInvChi2(*job["prior"]) if x.ndim == 1 else NormInvWish(*job["prior"])
    draws = []
    for seed in range(job["chains"] * job["draws"]):
        model = DPMM(
            prior, job["alpha"], max_iter=job["burn_in"], use_best_iter=False, verbose=False, random_state=seed
        )
        draws.append(model.fit(x).labels_.tolist())
    return {"version": version("dpmmlearn"), "chains": _chains(draws, job["chains"])}


def dphmix(job: Job) -> Job:
    """Labels of rows. Every draw is a fit, of which the last state is kept."""
    import numpy as np
    import pandas as pd
    from dphmix import GibbsDPHM

    x = pd.DataFrame(job["x"])
    draws = []
    # it prints every step
    with contextlib.redirect_stdout(io.StringIO()):
        for seed in range(job["chains"] * job["draws"]):
            np.random.seed(seed)  # noqa: NPY002 - the program draws from it
            model = GibbsDPHM(job["alpha"], job["burn_in"], len(x) + 2)
            draws.append(model.fit_predict(x, hyperparameters=job["prior"]).c.tolist())
    return {"version": version("dphmix"), "chains": _chains(draws, job["chains"])}


def pyrichlet(job: Job) -> Job:
    """Labels of points by the Gibbs sampler of a mixture, `kind`, with options of its own."""
    import numpy as np
    import pyrichlet.mixture_models as models

    x = np.array(job["x"])
    length = {"total_iter": job["burn_in"] + job["draws"] * job["thin"], "burn_in": job["burn_in"]}
    chains = []
    for seed in range(job["chains"]):
        mixture = getattr(models, job["kind"])(**job["options"], **length, subsample_steps=job["thin"], rng=seed + 1)
        mixture.fit_gibbs(x, init_method="random")
        chains.append([state["d"].tolist() for state in mixture.sim_params])
    return {"version": version("pyrichlet"), "chains": chains}


def crp(job: Job) -> Job:
    """Labels of binary rows. Every draw is a run, of which the last state is kept."""
    import numpy as np
    from crp.process import ChineseRestaurantProcess
    from crp.table import BernoulliTable

    x = np.array(job["x"])
    draws = []
    with contextlib.redirect_stderr(io.StringIO()):
        for seed in range(job["chains"] * job["draws"]):
            np.random.seed(seed)  # noqa: NPY002 - the program draws from it
            model = ChineseRestaurantProcess(x, expected_number_of_classes=job["expected"])
            model.set_table_type(BernoulliTable)
            model.run(epochs=job["burn_in"])
            draws.append([int(label) for label in model.assignments])
    return {"version": version("chinese-restauraunt-process"), "chains": _chains(draws, job["chains"])}


def pymc(job: Job) -> Job:
    """Labels under a finite mixture, as the program's own documentation writes it.

    `kind` `categorical`: labels are unknowns of the model, with the steps that it assigns. `normal`: `NormalMixture`,
    from which labels are summed out; they are drawn given weights, means and standard deviations.
    """
    import numpy as np
    import pymc as pm

    logging.getLogger("pymc").setLevel(logging.ERROR)
    x, K = np.array(job["x"], dtype=float), job["K"]
    length = {"draws": job["draws"] * job["thin"], "tune": job["burn_in"], "chains": job["chains"], "cores": 1}
    quiet = {"progressbar": False, "compute_convergence_checks": False, "random_seed": 1}
    with pm.Model():
        w = pm.Dirichlet("w", np.full(K, job["a"]))
        if job["kind"] == "categorical":
            z = pm.Categorical("z", w, shape=len(x))
            theta = pm.Beta("theta", job["beta1"], job["beta0"], shape=(K, x.shape[1]))
            pm.Bernoulli("x", theta[z], observed=x.astype(int))
        else:
            ordered = pm.distributions.transforms.ordered
            starts = np.linspace(-4.0, 4.0, K)
            mu = pm.Normal("mu", 0.0, job["tau"], shape=K, transform=ordered, initval=starts)
            sigma = pm.HalfNormal("sigma", job["scale"], shape=K)
            pm.NormalMixture("x", w=w, mu=mu, sigma=sigma, observed=x.ravel())
        posterior = pm.sample(**length, **quiet).posterior
    if job["kind"] == "categorical":
        labels = posterior["z"].values
    else:
        w, mu, sigma = (posterior[name].values[..., None, :] for name in ("w", "mu", "sigma"))
        log_p = np.log(w) - np.log(sigma) - 0.5 * ((x.ravel()[:, None] - mu) / sigma) ** 2
        labels = (log_p + np.random.default_rng(1).gumbel(size=log_p.shape)).argmax(axis=-1)
    return {"version": pm.__version__, "chains": labels[:, job["thin"] - 1 :: job["thin"]].tolist()}


def numpyro(job: Job) -> Job:
    """Labels of binary rows under a finite mixture, by a sampler that moves them too."""
    import jax
    import jax.numpy as jnp
    import numpyro as package
    import numpyro.distributions as dist
    from numpyro.infer import HMC, MCMC, NUTS, DiscreteHMCGibbs, MixedHMC

    x, K = jnp.array(job["x"]), job["K"]

    def mixture() -> None:
        w = package.sample("w", dist.Dirichlet(jnp.full(K, job["a"])))
        prior = dist.Beta(jnp.full((K, x.shape[1]), job["beta1"]), job["beta0"])
        theta = package.sample("theta", prior.to_event(2))
        with package.plate("rows", len(x)):
            z = package.sample("z", dist.Categorical(w))
            package.sample("x", dist.Bernoulli(theta[z]).to_event(1), obs=x)

    kernels = {
        "DiscreteHMCGibbs": lambda: DiscreteHMCGibbs(NUTS(mixture)),
        "modified": lambda: DiscreteHMCGibbs(NUTS(mixture), modified=True),
        "MixedHMC": lambda: MixedHMC(HMC(mixture, trajectory_length=1.2), num_discrete_updates=20),
    }
    length = {"num_warmup": job["burn_in"], "num_samples": job["draws"] * job["thin"], "thinning": job["thin"]}
    chains = {"num_chains": job["chains"], "chain_method": jax.vmap, "progress_bar": False}
    run = MCMC(kernels[job["kind"]](), **length, **chains)
    run.run(jax.random.PRNGKey(1))
    return {"version": version("numpyro"), "chains": run.get_samples(group_by_chain=True)["z"].tolist()}


def _chains(draws: list[Any], n: int) -> Chains:
    """Independent draws in groups, so that they are counted like other programs' draws."""
    size = len(draws) // n
    return [draws[i * size : (i + 1) * size] for i in range(n)]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    json.dump(globals()[sys.argv[1]](json.load(sys.stdin)), sys.stdout)
