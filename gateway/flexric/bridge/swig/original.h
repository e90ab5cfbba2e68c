/* FlexRIC's own functions, for replacements that call them. */
#ifndef SOJOURN_FLEXRIC_ORIGINAL_H
#define SOJOURN_FLEXRIC_ORIGINAL_H

/* Aborts the process if FlexRIC's library has no such function. */
void *fx_original(const char *name);

#define FX_ORIGINAL(name) fx_original(#name)

/* File name of FlexRIC's library as it is loaded. */
const char *fx_library_path(void);

#endif
