/* Threads that meet after each round. The last to arrive runs the others' common decision before it lets them go. */
#ifndef SMCMC_ROUNDS_H
#define SMCMC_ROUNDS_H
#include <sched.h>

typedef struct {
    int threads, arrived, round, failed;
} meeting_t;

/* Arrive; 1 for the last, who must call meeting_go afterwards. */
static int meeting_arrive(meeting_t *m)
{
    return __atomic_add_fetch(&m->arrived, 1, __ATOMIC_ACQ_REL) == m->threads;
}

static int meeting_round(meeting_t *m)
{
    return __atomic_load_n(&m->round, __ATOMIC_ACQUIRE);
}

static void meeting_go(meeting_t *m)
{
    __atomic_store_n(&m->arrived, 0, __ATOMIC_RELAXED);
    __atomic_add_fetch(&m->round, 1, __ATOMIC_ACQ_REL);
}

static void meeting_fail(meeting_t *m)
{
    __atomic_store_n(&m->failed, 1, __ATOMIC_RELEASE);
}

/* Wait until the round after this one begins; 1 when another thread failed. */
static int meeting_wait(meeting_t *m, int round)
{
    for (int spins = 0; meeting_round(m) == round; spins++) {
        if (__atomic_load_n(&m->failed, __ATOMIC_ACQUIRE))
            return 1;
        if (spins > 1000)
            sched_yield();
    }
    return 0;
}
#endif
