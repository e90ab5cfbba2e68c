#include "exchange.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "deadline.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t answered = PTHREAD_COND_INITIALIZER;
static struct {
    uint32_t id; /* 0: none; request numbers begin at 1 */
    fx_answer_t answer;
    bool awaits_outcome;
    uint64_t token;
} expected[FX_MAX_TOGETHER];
static size_t expected_count;
static struct {
    uint32_t id; /* 0: none */
    bool acknowledged;
} late[FX_MAX_LATE];
static size_t next_late;
static bool disconnected;

void fx_exchange_expect(uint32_t id)
{
    pthread_mutex_lock(&mutex);
    if (expected_count < FX_MAX_TOGETHER) {
        expected[expected_count].id = id;
        expected[expected_count].awaits_outcome = false;
        expected[expected_count].answer =
            (fx_answer_t){.kind = disconnected ? FX_DISCONNECTED : FX_UNANSWERED};
        ++expected_count;
    }
    pthread_mutex_unlock(&mutex);
}

void fx_exchange_expect_outcome(uint64_t token)
{
    pthread_mutex_lock(&mutex);
    if (expected_count > 0) {
        expected[expected_count - 1].awaits_outcome = true;
        expected[expected_count - 1].token = token;
    }
    pthread_mutex_unlock(&mutex);
}

static bool all_answered(void)
{
    for (size_t i = 0; i < expected_count; ++i) {
        const fx_answer_kind_t kind = expected[i].answer.kind;
        if (kind == FX_UNANSWERED || (kind == FX_ACKNOWLEDGED && expected[i].awaits_outcome))
            return false;
    }
    return true;
}

void fx_put_outcome(fx_answer_t *answer, const uint8_t *outcome, size_t bytes)
{
    if (bytes > sizeof answer->outcome) {
        fprintf(stderr, "FlexRIC: an outcome of %zu bytes; expected at most %zu; the control counts as "
                        "acknowledged without one\n", bytes, sizeof answer->outcome);
        return;
    }
    memcpy(answer->outcome, outcome, bytes);
    answer->outcome_bytes = bytes;
}

void fx_exchange_outcome(uint64_t token, const uint8_t *outcome, size_t bytes)
{
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < expected_count; ++i) {
        if (!expected[i].awaits_outcome || expected[i].token != token)
            continue;
        fx_put_outcome(&expected[i].answer, outcome, bytes);
        expected[i].awaits_outcome = false;
        break;
    }
    if (expected_count > 0 && all_answered())
        pthread_cond_signal(&answered);
    pthread_mutex_unlock(&mutex);
}

size_t fx_exchange_await(int timeout_ms, fx_answer_t answers[FX_MAX_TOGETHER])
{
    const struct timespec deadline = fx_after_ms(timeout_ms);
    int rc = 0;

    pthread_mutex_lock(&mutex);
    while (!all_answered() && rc == 0)
        rc = pthread_cond_clockwait(&answered, &mutex, CLOCK_MONOTONIC, &deadline);
    const size_t count = expected_count;
    for (size_t i = 0; i < count; ++i) {
        answers[i] = expected[i].answer;
        if (answers[i].kind == FX_UNANSWERED) {
            late[next_late].id = expected[i].id;
            late[next_late].acknowledged = false;
            next_late = (next_late + 1) % FX_MAX_LATE;
        }
    }
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
        /* A report with the outcome may have been faster. */
        if (answer.outcome_bytes == 0)
            fx_put_outcome(&answer, expected[i].answer.outcome, expected[i].answer.outcome_bytes);
        else
            expected[i].awaits_outcome = false;
        expected[i].answer = answer;
    }
    if (ours && all_answered())
        pthread_cond_signal(&answered);
    for (size_t i = 0; i < FX_MAX_LATE && id != 0 && !ours; ++i) {
        if (late[i].id != id)
            continue;
        ours = true;
        late[i].acknowledged = answer.kind == FX_ACKNOWLEDGED;
    }
    pthread_mutex_unlock(&mutex);
    return ours;
}

bool fx_exchange_acknowledged_late(uint32_t id)
{
    bool is = false;

    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < FX_MAX_LATE && id != 0; ++i) {
        if (late[i].id != id || !late[i].acknowledged)
            continue;
        is = true;
        late[i].id = 0;
    }
    pthread_mutex_unlock(&mutex);
    return is;
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
