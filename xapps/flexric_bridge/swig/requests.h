/* Whether requests can be sent. */
#ifndef SOJOURN_FLEXRIC_REQUESTS_H
#define SOJOURN_FLEXRIC_REQUESTS_H

#include <stdbool.h>

/* Whether the socket has an association; true where a substitute for SCTP does not report it. */
bool fx_associated(int fd);

#endif
