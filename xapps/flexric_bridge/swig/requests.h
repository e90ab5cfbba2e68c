/* Whether requests can be sent. */
#ifndef SOJOURN_FLEXRIC_REQUESTS_H
#define SOJOURN_FLEXRIC_REQUESTS_H

#include <stdbool.h>

/* Whether the socket has an association; true where what stands in for SCTP cannot be asked. */
bool fx_associated(int fd);

#endif
