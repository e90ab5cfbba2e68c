/* Errors: a kind for programs, a sentence for people. */
#ifndef SOJOURN_FLEXRIC_ERROR_H
#define SOJOURN_FLEXRIC_ERROR_H

/* Kinds of errors in the order of fx_kind_name(). */
typedef enum {
    FX_NO_SUCH_NODE,
    FX_NO_SUCH_FUNCTION,
    FX_REFUSED,
    FX_BAD_MESSAGE,
    FX_TIMEOUT,
    FX_CLOSED,
    FX_MISMATCH,
    FX_NO_SCTP,
    FX_ABSENT,
    FX_NO_NODES,
} fx_kind_t;

typedef struct {
    fx_kind_t kind;
    char detail[256];
} fx_error_t;

/* The name of this kind in flexric_bridge.sdk, e.g. "no-such-node". */
const char *fx_kind_name(fx_kind_t kind);

/* Fills `error` and returns false, so that a caller can `return fx_fail(…)`. */
__attribute__((format(printf, 3, 4)))
_Bool fx_fail(fx_error_t *error, fx_kind_t kind, const char *format, ...);

#endif
