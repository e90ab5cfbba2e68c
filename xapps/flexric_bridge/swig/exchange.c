#include "exchange.h"

#include <pthread.h>

#include "deadline.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t answered = PTHREAD_COND_INITIALIZER;
static uint32_t expected; /* 0: nothing; request numbers begin at 1 */
static fx_answer_t answer_to_expected;
static bool disconnected;

void fx_exchange_expect(uint32_t id)
{
    pthread_mutex_lock(&mutex);
    expected = id;
    answer_to_expected = (fx_answer_t){.kind = disconnected ? FX_DISCONNECTED : FX_UNANSWERED};
    pthread_mutex_unlock(&mutex);
}

fx_answer_t fx_exchange_await(int timeout_ms)
{
    const struct timespec deadline = fx_after_ms(timeout_ms);
    int rc = 0;

    pthread_mutex_lock(&mutex);
    while (answer_to_expected.kind == FX_UNANSWERED && rc == 0)
        rc = pthread_cond_clockwait(&answered, &mutex, CLOCK_MONOTONIC, &deadline);
    const fx_answer_t answer = answer_to_expected;
    expected = 0;
    pthread_mutex_unlock(&mutex);
    return answer;
}

bool fx_exchange_answer(uint32_t id, fx_answer_t answer)
{
    pthread_mutex_lock(&mutex);
    const bool ours = id != 0 && id == expected;
    if (ours) {
        answer_to_expected = answer;
        pthread_cond_signal(&answered);
    }
    pthread_mutex_unlock(&mutex);
    return ours;
}

void fx_exchange_disconnect(void)
{
    pthread_mutex_lock(&mutex);
    disconnected = true;
    answer_to_expected = (fx_answer_t){.kind = FX_DISCONNECTED};
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
