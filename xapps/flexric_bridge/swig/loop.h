/* FlexRIC's only thread, as far as it waits for messages and hands reports on. */
#ifndef SOJOURN_FLEXRIC_LOOP_H
#define SOJOURN_FLEXRIC_LOOP_H

#include <stdbool.h>

/* Where reports go, and how often a second at most in the long run. Before the thread is there. False
 * without memory. */
bool fx_loop_report_to(int socket, double blocks_per_s);

/* Called by the thread: there is no more for it to do. Hands on what waits, says that it was all, and
 * does not return, because FlexRIC would. */
__attribute__((noreturn)) void fx_loop_end(void);

#endif
