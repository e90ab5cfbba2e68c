/* Progress of the connection to the RIC: set by FlexRIC's thread, read by fx_open(). */
#ifndef SOJOURN_FLEXRIC_JOINING_H
#define SOJOURN_FLEXRIC_JOINING_H

#include <stdbool.h>

/* Longest absence of the RIC. */
enum { FX_JOIN_TIMEOUT_MS = 5000 };

typedef enum {
    FX_NOT_BEGUN, /* FlexRIC's library is used without this module */
    FX_CONNECTING,
    FX_RESTING, /* the RIC's nodes get time to connect */
    FX_ASKED,
    FX_NO_RIC,       /* for FX_JOIN_TIMEOUT_MS; the session fails */
    FX_NO_NODES_YET, /* the RIC answered that it has none; the session fails */
} fx_joining_t;

/* Before FlexRIC connects: see fx_open(). */
void fx_joining_begin(double node_rest_s, bool ric_was_away);

fx_joining_t fx_joining(void);

#endif
