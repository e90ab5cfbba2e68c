/* Requests of this module and their answers, which arrive on FlexRIC's thread.
 *
 * The number of a request is registered before it is sent, so an answer cannot arrive too early, and an
 * answer to a request that timed out matches no number and is ignored.
 */
#ifndef SOJOURN_FLEXRIC_EXCHANGE_H
#define SOJOURN_FLEXRIC_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Requests that may be in flight at once. */
enum { FX_MAX_TOGETHER = 16 };

typedef enum { FX_UNANSWERED, FX_ACKNOWLEDGED, FX_FAILED, FX_DISCONNECTED } fx_answer_kind_t;

typedef struct {
    fx_answer_kind_t kind;
    /* Why it failed, for people. */
    char cause[96];
    /* The RIC control outcome, as far as it fits. */
    uint8_t outcome[64];
    size_t outcome_bytes;
} fx_answer_t;

/* Registers request `id`, in addition to those registered and not awaited yet; at most
 * FX_MAX_TOGETHER. */
void fx_exchange_expect(uint32_t id);

/* Waits for all registered requests and returns their number and their answers in the order of
 * registration: without an answer within `timeout_ms` it is FX_UNANSWERED. */
size_t fx_exchange_await(int timeout_ms, fx_answer_t answers[FX_MAX_TOGETHER]);

/* Whether requests are registered. */
bool fx_exchange_expects(void);

/* An answer arrived; false if it belongs to no registered request. */
bool fx_exchange_answer(uint32_t id, fx_answer_t answer);

/* Requests without an answer, and all after them, are answered by FX_DISCONNECTED. */
void fx_exchange_disconnect(void);
bool fx_exchange_disconnected(void);

#endif
