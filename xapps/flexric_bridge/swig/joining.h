/* How far the way to the RIC is: told by FlexRIC's thread to whoever opens the session. */
#ifndef SOJOURN_FLEXRIC_JOINING_H
#define SOJOURN_FLEXRIC_JOINING_H

#include <stdbool.h>

/* So long the RIC may be away. */
enum { FX_JOIN_TIMEOUT_MS = 5000 };

typedef enum {
    FX_NOT_BEGUN, /* whoever uses FlexRIC's library without us */
    FX_CONNECTING,
    FX_RESTING, /* the RIC's nodes get their time */
    FX_ASKED,
    FX_NO_RIC,       /* for FX_JOIN_TIMEOUT_MS; the session will not come about */
    FX_NO_NODES_YET, /* the RIC answered that it has none; nor will it */
} fx_joining_t;

/* Before FlexRIC is told to connect: see fx_open(). */
void fx_joining_begin(double node_rest_s, bool ric_was_away);

fx_joining_t fx_joining(void);

#endif
