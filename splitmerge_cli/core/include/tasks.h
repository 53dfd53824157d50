/* Tasks 0, 1, ... on several threads, which take the next one as they come free. The calling thread is one of them; the
   call returns when all tasks are done. A thread that the system refuses is done without. */
#pragma once
#include <pthread.h>
#include <stddef.h>

#define MOST_THREADS 256

typedef void (*task_t)(void *context, ptrdiff_t task);

typedef struct {
    task_t task;
    ptrdiff_t next, tasks;
} tasks_t;

typedef struct {
    tasks_t *all;
    void *context;
    pthread_t thread;
} tasks_of_t;

static void *tasks_take(void *given)
{
    const tasks_of_t *mine = (const tasks_of_t *)given;
    for (;;) {
        const ptrdiff_t t = __atomic_fetch_add(&mine->all->next, 1, __ATOMIC_RELAXED);
        if (t >= mine->all->tasks)
            return NULL;
        mine->all->task(mine->context, t);
    }
}

/* contexts: one a thread */
static void tasks_run(task_t task, void **contexts, ptrdiff_t threads, ptrdiff_t tasks)
{
    tasks_t all = {task, 0, tasks};
    tasks_of_t of[MOST_THREADS];
    ptrdiff_t started = 1;
    if (threads > tasks)
        threads = tasks;
    if (threads > MOST_THREADS)
        threads = MOST_THREADS;
    for (; started < threads; started++) {
        of[started] = (tasks_of_t){&all, contexts[started], 0};
        if (pthread_create(&of[started].thread, NULL, tasks_take, &of[started]))
            break;
    }
    of[0] = (tasks_of_t){&all, contexts[0], 0};
    tasks_take(&of[0]);
    for (ptrdiff_t w = 1; w < started; w++)
        pthread_join(of[w].thread, NULL);
}
