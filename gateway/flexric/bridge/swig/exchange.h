/* Requests of this module and their answers, which arrive on FlexRIC's thread.
 *
 * The number of a request is registered before it is sent, so an answer cannot arrive too early. The
 * number of one that timed out is kept: its answer is for nobody else, and a subscription that was
 * acknowledged too late has to be deleted.
 */
#ifndef SOJOURN_FLEXRIC_EXCHANGE_H
#define SOJOURN_FLEXRIC_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sojourn_tc_sm.h"

enum {
    /* Requests that may be in flight at once. */
    FX_MAX_TOGETHER = 16,
    FX_MAX_OUTCOME_BYTES = SOJOURN_TC_OUTCOME_BYTES,
    /* Requests that timed out and are kept, the newest. */
    FX_MAX_LATE = 64,
};

typedef enum { FX_UNANSWERED, FX_ACKNOWLEDGED, FX_FAILED, FX_DISCONNECTED } fx_answer_kind_t;

typedef struct {
    fx_answer_kind_t kind;
    /* Why it failed, for people. */
    char cause[96];
    /* The RIC control outcome. */
    uint8_t outcome[FX_MAX_OUTCOME_BYTES];
    size_t outcome_bytes;
} fx_answer_t;

/* Puts an outcome into an answer. One that is longer than any of E2SM-TC is left out and reported. */
void fx_put_outcome(fx_answer_t *answer, const uint8_t *outcome, size_t bytes);

/* Registers request `id`, in addition to those registered and not awaited yet; at most
 * FX_MAX_TOGETHER. */
void fx_exchange_expect(uint32_t id);

/* The request that was registered last is answered when its acknowledgement and its outcome are there:
 * RICs that do not forward the outcome leave it to a report with this token. */
void fx_exchange_expect_outcome(uint64_t token);

/* An outcome arrived by report. It belongs to the first request with the token and without one. */
void fx_exchange_outcome(uint64_t token, const uint8_t *outcome, size_t bytes);

/* Waits for all registered requests and returns their number and their answers in the order of
 * registration: without an answer within `timeout_ms` it is FX_UNANSWERED, and without an outcome
 * acknowledged with none. */
size_t fx_exchange_await(int timeout_ms, fx_answer_t answers[FX_MAX_TOGETHER]);

/* Whether requests are registered. */
bool fx_exchange_expects(void);

/* An answer arrived; false if it belongs to no request of this module. */
bool fx_exchange_answer(uint32_t id, fx_answer_t answer);

/* Whether a request that timed out was acknowledged since; true once. */
bool fx_exchange_acknowledged_late(uint32_t id);

/* Requests without an answer, and all after them, are answered by FX_DISCONNECTED. */
void fx_exchange_disconnect(void);
bool fx_exchange_disconnected(void);

#endif
