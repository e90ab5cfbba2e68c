/* One request of ours and its answer, which comes on FlexRIC's thread.
 *
 * The number of the request is set before it is sent, so an answer cannot come too early, and an
 * answer to a request that nobody waits for any more finds another number and changes nothing.
 */
#ifndef SOJOURN_FLEXRIC_EXCHANGE_H
#define SOJOURN_FLEXRIC_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum { FX_UNANSWERED, FX_ACKNOWLEDGED, FX_FAILED, FX_DISCONNECTED } fx_answer_kind_t;

typedef struct {
    fx_answer_kind_t kind;
    /* Why it failed, for people. */
    char cause[96];
    /* The RIC control outcome, as far as it fits. */
    uint8_t outcome[64];
    size_t outcome_bytes;
} fx_answer_t;

/* From here on the answer to request `id` counts. */
void fx_exchange_expect(uint32_t id);

/* Waits for it; FX_UNANSWERED after `timeout_ms`. */
fx_answer_t fx_exchange_await(int timeout_ms);

/* An answer came; false if it answers nothing of ours. */
bool fx_exchange_answer(uint32_t id, fx_answer_t answer);

/* The request that is waiting, and every one after it, is answered by FX_DISCONNECTED. */
void fx_exchange_disconnect(void);
bool fx_exchange_disconnected(void);

#endif
