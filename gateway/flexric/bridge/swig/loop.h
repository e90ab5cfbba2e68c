/* FlexRIC's only thread: waiting for messages and passing reports on. */
#ifndef SOJOURN_FLEXRIC_LOOP_H
#define SOJOURN_FLEXRIC_LOOP_H

#include <stdbool.h>

/* Sets the socket for reports and the highest long-run rate of blocks. Call before the thread starts.
 * False without memory. */
bool fx_loop_report_to(int socket, double blocks_per_s);

/* Called by the thread when the session has ended: passes on the queued reports and the end mark. Does
 * not return, because FlexRIC would continue. */
__attribute__((noreturn)) void fx_loop_end(void);

#endif
