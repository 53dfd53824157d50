# Draws of a finite mixture of products of Bernoullis by JAGS: Rscript released_jags.R ROWS.csv DRAWS.csv chains draws
# thin burn_in K a beta1 beta0. A row of DRAWS.csv: the labels of a draw, chain after chain. The last line on stdout is
# the version.
suppressMessages(library(rjags))
args <- commandArgs(trailingOnly = TRUE)
p <- as.numeric(args[-(1:2)])
x <- as.matrix(read.csv(args[1], header = FALSE))
dimnames(x) <- NULL
model <- "model {
  for (i in 1:N) {
    z[i] ~ dcat(w)
    for (d in 1:D) { x[i, d] ~ dbern(theta[z[i], d]) }
  }
  w ~ ddirch(a)
  for (k in 1:K) { for (d in 1:D) { theta[k, d] ~ dbeta(beta1, beta0) } }
}"
data <- list(x = x, N = nrow(x), D = ncol(x), K = p[5], a = rep(p[6], p[5]), beta1 = p[7], beta0 = p[8])
kept <- list()
for (chain in seq_len(p[1])) {
  start <- list(.RNG.name = "base::Mersenne-Twister", .RNG.seed = chain)
  made <- jags.model(textConnection(model), data, inits = start, n.chains = 1, n.adapt = 0, quiet = TRUE)
  update(made, p[4], progress.bar = "none")
  kept[[chain]] <- as.matrix(coda.samples(made, "z", p[2] * p[3], thin = p[3], progress.bar = "none"))
}
write.table(do.call(rbind, kept), args[2], sep = ",", row.names = FALSE, col.names = FALSE)
cat(as.character(jags.version()), "\n")
