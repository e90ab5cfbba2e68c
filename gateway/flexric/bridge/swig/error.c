#include "error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

const char *fx_kind_name(fx_kind_t kind)
{
    static const char *const NAMES[] = {"no-such-node", "no-such-function", "refused", "bad-message",
                                        "timeout",      "closed",           "mismatch",
                                        "no-sctp",      "absent",           "no-nodes"};
    return NAMES[kind];
}

bool fx_fail(fx_error_t *error, fx_kind_t kind, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    error->kind = kind;
    vsnprintf(error->detail, sizeof error->detail, format, arguments);
    va_end(arguments);
    return false;
}
