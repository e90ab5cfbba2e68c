#include "exchange.h"

#include <pthread.h>

#include "deadline.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t answered = PTHREAD_COND_INITIALIZER;
static struct {
    uint32_t id; /* 0: none; request numbers begin at 1 */
    fx_answer_t answer;
} expected[FX_MAX_TOGETHER];
static size_t expected_count;
static bool disconnected;

void fx_exchange_expect(uint32_t id)
{
    pthread_mutex_lock(&mutex);
    if (expected_count < FX_MAX_TOGETHER) {
        expected[expected_count].id = id;
        expected[expected_count].answer =
            (fx_answer_t){.kind = disconnected ? FX_DISCONNECTED : FX_UNANSWERED};
        ++expected_count;
    }
    pthread_mutex_unlock(&mutex);
}

static bool all_answered(void)
{
    for (size_t i = 0; i < expected_count; ++i)
        if (expected[i].answer.kind == FX_UNANSWERED)
            return false;
    return true;
}

size_t fx_exchange_await(int timeout_ms, fx_answer_t answers[FX_MAX_TOGETHER])
{
    const struct timespec deadline = fx_after_ms(timeout_ms);
    int rc = 0;

    pthread_mutex_lock(&mutex);
    while (!all_answered() && rc == 0)
        rc = pthread_cond_clockwait(&answered, &mutex, CLOCK_MONOTONIC, &deadline);
    const size_t count = expected_count;
    for (size_t i = 0; i < count; ++i)
        answers[i] = expected[i].answer;
    expected_count = 0;
    pthread_mutex_unlock(&mutex);
    return count;
}

bool fx_exchange_expects(void)
{
    pthread_mutex_lock(&mutex);
    const bool does = expected_count > 0;
    pthread_mutex_unlock(&mutex);
    return does;
}

bool fx_exchange_answer(uint32_t id, fx_answer_t answer)
{
    bool ours = false;

    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < expected_count && id != 0; ++i) {
        if (expected[i].id != id)
            continue;
        ours = true;
        expected[i].answer = answer;
    }
    if (ours && all_answered())
        pthread_cond_signal(&answered);
    pthread_mutex_unlock(&mutex);
    return ours;
}

void fx_exchange_disconnect(void)
{
    pthread_mutex_lock(&mutex);
    disconnected = true;
    for (size_t i = 0; i < expected_count; ++i)
        if (expected[i].answer.kind == FX_UNANSWERED)
            expected[i].answer.kind = FX_DISCONNECTED;
    pthread_cond_broadcast(&answered);
    pthread_mutex_unlock(&mutex);
}

bool fx_exchange_disconnected(void)
{
    pthread_mutex_lock(&mutex);
    const bool is = disconnected;
    pthread_mutex_unlock(&mutex);
    return is;
}
