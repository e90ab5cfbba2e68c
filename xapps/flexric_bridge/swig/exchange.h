/* Requests of ours and their answers, which come on FlexRIC's thread.
 *
 * The number of a request is set before it is sent, so an answer cannot come too early, and an
 * answer to a request that nobody waits for any more finds no such number and changes nothing.
 */
#ifndef SOJOURN_FLEXRIC_EXCHANGE_H
#define SOJOURN_FLEXRIC_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Requests that may be on the way at once. */
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

/* From here on the answer to request `id` counts, beside those before it that nobody has awaited;
 * at most FX_MAX_TOGETHER. */
void fx_exchange_expect(uint32_t id);

/* Waits for all of them and gives their answers in the order in which they were expected, and how
 * many: those that did not come within `timeout_ms` are FX_UNANSWERED. */
size_t fx_exchange_await(int timeout_ms, fx_answer_t answers[FX_MAX_TOGETHER]);

/* Whether somebody waits, or is about to. */
bool fx_exchange_expects(void);

/* An answer came; false if it answers nothing of ours. */
bool fx_exchange_answer(uint32_t id, fx_answer_t answer);

/* Requests without an answer, and all after them, are answered by FX_DISCONNECTED. */
void fx_exchange_disconnect(void);
bool fx_exchange_disconnected(void);

#endif
