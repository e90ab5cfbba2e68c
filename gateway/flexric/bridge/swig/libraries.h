/* FlexRIC aborts the process on an unexpected directory, so it is checked first. */
#ifndef SOJOURN_FLEXRIC_LIBRARIES_H
#define SOJOURN_FLEXRIC_LIBRARIES_H

#include <stdbool.h>

#include "error.h"

/* Whether FlexRIC can load the service models of this directory and read this configuration. */
bool fx_check_libraries(const char *directory, fx_error_t *error);
bool fx_check_configuration(const char *file, fx_error_t *error);

#endif
