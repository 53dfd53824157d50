# Draws of bayesm's rDPGibbs: Rscript released_bayesm.R POINTS.csv DRAWS.csv chains draws thin burn_in amin amax numin
# numax vmin vmax Istarmin Istarmax power gridsize. With ncomp a A nu v in place of amin and the rest: of its rnmixGibbs,
# V = v I. A row of DRAWS.csv: the labels of a draw, chain after chain. The last line on stdout is the version.
suppressMessages(library(bayesm))
args <- commandArgs(trailingOnly = TRUE)
p <- as.numeric(args[-(1:2)])
y <- as.matrix(read.csv(args[1], header = FALSE))
dimnames(y) <- NULL
chains <- p[1]; draws <- p[2]; thin <- p[3]; burn_in <- p[4]
finite <- length(p) == 9
if (finite) {
  prior <- list(ncomp = p[5], a = rep(p[6], p[5]), A = matrix(p[7]), nu = p[8], V = p[9] * diag(ncol(y)))
} else prior <- list(
  lambda_hyper = list(alim = p[5:6], nulim = p[7:8], vlim = p[9:10]),
  Prioralpha = list(Istarmin = p[11], Istarmax = p[12], power = p[13])
)
mcmc <- list(R = thin * (draws + ceiling(burn_in / thin)), keep = thin, nprint = 0)
if (!finite) mcmc <- c(mcmc, list(maxuniq = 200, SCALE = FALSE, gridsize = p[14]))
sampler <- if (finite) rnmixGibbs else rDPGibbs
kept <- list()
for (chain in seq_len(chains)) {
  set.seed(chain)
  invisible(capture.output(found <- sampler(Prior = prior, Data = list(y = y), Mcmc = mcmc)))
  z <- found$nmix$zdraw
  kept[[chain]] <- z[(nrow(z) - draws + 1):nrow(z), , drop = FALSE]
}
write.table(do.call(rbind, kept), args[2], sep = ",", row.names = FALSE, col.names = FALSE)
cat(as.character(packageVersion("bayesm")), "\n")
