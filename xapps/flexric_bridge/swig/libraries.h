/* FlexRIC ends the process over a directory that is not what it expects: look first. */
#ifndef SOJOURN_FLEXRIC_LIBRARIES_H
#define SOJOURN_FLEXRIC_LIBRARIES_H

#include <stdbool.h>

#include "error.h"

/* Is this a directory of service models that FlexRIC can load, and a configuration it can read? */
bool fx_check_libraries(const char *directory, fx_error_t *error);
bool fx_check_configuration(const char *file, fx_error_t *error);

#endif
