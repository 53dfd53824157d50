/* A barrier for threads that make rounds. The last to arrive runs the others' common decision before it lets them go. */
#pragma once
#include <sched.h>

typedef struct {
    int threads, arrived, round, failed;
} barrier_t;

/* Arrive; 1 for the last, who must call barrier_release afterwards. */
static int barrier_arrive(barrier_t *b)
{
    return __atomic_add_fetch(&b->arrived, 1, __ATOMIC_ACQ_REL) == b->threads;
}

static int barrier_round(barrier_t *b)
{
    return __atomic_load_n(&b->round, __ATOMIC_ACQUIRE);
}

static void barrier_release(barrier_t *b)
{
    __atomic_store_n(&b->arrived, 0, __ATOMIC_RELAXED);
    __atomic_add_fetch(&b->round, 1, __ATOMIC_ACQ_REL);
}

static void barrier_fail(barrier_t *b)
{
    __atomic_store_n(&b->failed, 1, __ATOMIC_RELEASE);
}

/* Wait until the round after this one begins; 1 when another thread failed. */
static int barrier_wait(barrier_t *b, int round)
{
    for (int spins = 0; barrier_round(b) == round; spins++) {
        if (__atomic_load_n(&b->failed, __ATOMIC_ACQUIRE))
            return 1;
        if (spins > 1000)
            sched_yield();
    }
    return 0;
}
